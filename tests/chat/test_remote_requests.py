"""What clients from outside may ask of a chat, by the token that comes with each request."""

from __future__ import annotations

import asyncio
import logging
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
from msgspec import Raw

from agentstepper_nb.chat.remote.service import RemoteChatService
from agentstepper_nb.chat.remote.tokens import ChatTokens, TokenGrant
from agentstepper_nb.errors import CommandError, ProtocolError
from agentstepper_nb.protocol.chat import ChatSessionSnapshot, ClientAdmission, NumberedChatEvent
from tests.chat.chats import interpreter, within_timeout
from tests.chat.harness import expect_refusal
from tests.chat.remote_harness import (
    direct_harness,
    read_error_code,
    read_stream_refusal,
    with_token,
)

# ---- scopes -----------------------------------------------------------------------------------------

ASKS: dict[str, dict[str, Any]] = {
    "send": {"content": "Hi"},
    "stop": {},
    "set": {"title": "new"},
    "picture": {"message": "m"},
    "give": {"turn": "t", "piece": {}},
    "done": {"turn": "t"},
}
MAY = {
    ("watch",): {"picture"},
    ("talk",): {"picture", "send", "stop", "set"},
    ("answer",): {"give", "done"},
    ("watch", "answer"): {"picture", "give", "done"},
}


@pytest.mark.parametrize("scope", MAY)
async def test_a_scope_is_what_may_be_asked(tmp_path: Path, scope: tuple[str, ...]) -> None:
    async with direct_harness(tmp_path) as harness:
        token = harness.issue_token(*scope)
        admitted = await harness.call_service(token, "admit")
        assert isinstance(admitted, ClientAdmission)
        assert (admitted.session, set(admitted.scope)) == (harness.session, set(scope))
        refusals = {}
        for method, params in ASKS.items():
            session = {} if method in ("give", "done") else {"session": harness.session}
            try:
                await harness.call_service(token, method, **session, **params)
            except CommandError as error:
                refusals[method] = error.code
        may = {each for each in ASKS if refusals.get(each) not in ("out_of_scope", "watch_only")}
        assert may == MAY[scope]
        assert await read_error_code(harness.call_service(token, "create")) in (
            "out_of_scope",
            "watch_only",
        )
        for method in ("watch", "attend"):
            async with aclosing(harness.stream(token, method)) as stream:
                if method in ("watch",) and set(scope) & {"watch", "talk"}:
                    assert isinstance(
                        (await within_timeout(anext(stream))).event, ChatSessionSnapshot
                    )
                elif not (method == "attend" and "answer" in scope):
                    assert await read_stream_refusal(stream) == "out_of_scope"


async def test_inv_session_002_another_session_is_out_of_reach(tmp_path: Path) -> None:
    """A session is entered by a good token of its own alone: not by one for another session."""
    async with direct_harness(tmp_path) as harness:
        talk, answer = harness.issue_token("talk"), harness.issue_token("answer")
        for method in ("send", "stop", "set", "open", "remove", "earlier", "picture", "source"):
            params = {"content": "x", "message": "m", "before": "m", "session": harness.other}
            assert (
                await read_error_code(harness.call_service(talk, method, **params))
                == "out_of_scope"
            )
        assert (
            await read_stream_refusal(harness.stream(talk, "watch", session=harness.other))
            == "out_of_scope"
        )
        assert await read_stream_refusal(harness.stream(talk, "watch_sessions")) == "out_of_scope"
        assert (
            await read_stream_refusal(harness.stream(answer, "attend", session=harness.other))
            == "out_of_scope"
        )
        assert harness.interpreter.messages(harness.other) == ()
        assert [each.name for each in harness.interpreter.info(harness.other).agents] == ["parrot"]


async def test_each_request_brings_a_token_that_counts(tmp_path: Path) -> None:
    async with direct_harness(tmp_path) as harness:
        foreign = ChatTokens(tmp_path / "elsewhere").issue(harness.session)
        revoked = harness.issue_token("talk")
        harness.tokens.revoke(revoked)
        for token in ("", foreign, revoked):
            for method in ("admit", *ASKS, "nonsense"):
                assert await read_error_code(harness.call_service(token, method)) == "invalid_token"
            for method in ("watch", "attend", "nonsense"):
                assert await read_stream_refusal(harness.stream(token, method)) == "invalid_token"


@pytest.mark.parametrize("params", [b"", b"[", b"7", b'{"params": {}}', b"[" * 5000, b"\xff"])
async def test_nonsense_is_refused(tmp_path: Path, params: bytes) -> None:
    async with direct_harness(tmp_path) as harness:
        assert await read_error_code(harness.service.call("send", Raw(params))) == "invalid_message"
        inner = Raw(b'{"token": "%s", "params": %s}' % (harness.issue_token("talk").encode(), b"7"))
        assert await read_error_code(harness.service.call("send", inner)) == "invalid_message"
        assert (
            await read_error_code(harness.call_service(harness.issue_token("talk"), "nonsense"))
            == "unknown_service"
        )


async def test_reading_what_an_agent_says_elsewhere(tmp_path: Path) -> None:
    """A talker hears what is said, whoever says it."""
    async with direct_harness(tmp_path) as harness:
        token = harness.issue_token("talk")
        async with aclosing(harness.stream(token, "watch")) as watched:
            begin = await within_timeout(anext(watched))
            assert isinstance(begin, NumberedChatEvent)
            mine = await harness.call_service(token, "send", session=harness.session, content="Hi")
            assert (mine.role, mine.content) == ("user", "Hi")
            contents = set()
            while "You said: Hi" not in contents:
                event = (await within_timeout(anext(watched))).event
                contents.add(getattr(getattr(event, "message", None), "content", ""))


# ---- streams end with their token -------------------------------------------------------------------


async def test_a_stream_ends_where_its_token_is_revoked(tmp_path: Path) -> None:
    """At once, though nothing happens in the session; and its agent leaves it."""
    async with direct_harness(tmp_path) as harness:
        token = harness.issue_token("watch", "answer")
        async with aclosing(harness.stream(token, "watch")) as watched:
            await within_timeout(anext(watched))
            attending = asyncio.ensure_future(anext(harness.stream(token, "attend")))
            told = await within_timeout(anext(watched))
            assert told.event.agent.name == "poet"
            revoking = asyncio.to_thread(harness.tokens.revoke_session, harness.session)
            await within_timeout(revoking)
            assert await read_error_code(within_timeout(attending)) == "invalid_token"
            with expect_refusal("invalid_token", "was revoked"):
                while True:
                    await within_timeout(anext(watched))
        assert [each.name for each in harness.interpreter.info(harness.session).agents] == [
            "parrot"
        ]


async def test_a_stream_ends_where_another_process_revokes_its_token(tmp_path: Path) -> None:
    """It is given nothing that happens after that."""
    async with direct_harness(tmp_path) as harness:
        token = harness.issue_token("watch")
        async with aclosing(harness.stream(token, "watch")) as watched:
            await within_timeout(anext(watched))
            ChatTokens(tmp_path).revoke(token)
            harness.interpreter.update_session(harness.session, title="secret")
            assert await read_stream_refusal(watched) == "invalid_token"


async def test_nothing_is_left_of_a_stream_that_is_over(tmp_path: Path) -> None:
    """Also where a token lost its force just as it ended: no timer waits for the token's end."""
    async with direct_harness(tmp_path) as harness:
        token = harness.issue_token("watch")
        async with aclosing(harness.stream(token, "watch")) as watched:
            await within_timeout(anext(watched))
            harness.tokens.rotate()  # it is checked at the next turn of the loop
        loop: Any = asyncio.get_running_loop()
        await asyncio.sleep(0)
        waiting = [each for each in loop._scheduled if not each.cancelled()]
        assert not [each for each in waiting if "_while_good" in repr(each)]


@pytest.mark.parametrize("scope", [("watch",), ("talk",), ("answer",)])
async def test_no_log_and_no_error_has_a_token(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, scope: tuple[str, ...]
) -> None:
    caplog.set_level(logging.DEBUG)
    async with direct_harness(tmp_path) as harness:
        token = harness.issue_token(*scope)
        said = []
        for method, params in {**ASKS, "nonsense": {}, "create": {}}.items():
            for wrong in ({}, {"session": 3}, {"session": harness.other}):
                try:
                    await harness.call_service(token, method, **params, **wrong)
                except (CommandError, ProtocolError) as error:
                    said.append(f"{error!r} {error}")
        harness.tokens.revoke(token)
        with pytest.raises(CommandError) as caught:
            await harness.call_service(token, "admit")
        said.append(repr(caught.value))
        assert token.rpartition(".")[2] not in "".join([*said, caplog.text])


class ExpiringTokens(ChatTokens):
    """Tokens are over where a test says so."""

    over = False

    def check(self, token: object) -> TokenGrant:
        if self.over:
            raise CommandError("invalid_token", "It has expired.")
        return super().check(token)


async def test_a_stream_ends_with_its_tokens_time(tmp_path: Path) -> None:
    """Though nothing happens in the session."""
    chat_tokens = ExpiringTokens(tmp_path)
    async with interpreter(tmp_path) as made:
        session = str(made.create_session())
        token = chat_tokens.issue(session, ("watch",))
        end = chat_tokens.check(token).expires_at
        service = RemoteChatService(made, chat_tokens, clock=lambda: end)
        async with aclosing(
            service.stream("watch", with_token(token, {"session": session}))
        ) as told:
            await within_timeout(anext(told))
            chat_tokens.over = True
            with pytest.raises(CommandError, match="It has expired"):
                await within_timeout(anext(told))
