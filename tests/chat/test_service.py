"""The service of a line: conversations by it, rights and refusals."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from agentstepper_nb.chat.connector import Item, Turn
from agentstepper_nb.chat.service import MAX_KEYS, ChatRight, ChatService, MessageDeduplicator
from agentstepper_nb.errors import CommandError, ProtocolError
from agentstepper_nb.protocol.chat import (
    ChatSessionChanged,
    ChatSessionSnapshot,
    Message,
    MessageType,
    NumberedChatEvent,
    State,
)
from tests.chat.chats import (
    FunctionTestAgent,
    HeldAnswer,
    interpreter,
    is_turn_end,
    list_contents,
    read_until,
    request,
    served,
    watch_session,
)
from tests.chat.harness import expect_refusal, message

TALK = ("send", "choose", "stop", "set", "create", "remove")
WATCH = ("open", "earlier", "picture", "source")


# ---- a conversation ------------------------------------------------------------------------------


async def test_what_is_sent_is_answered_and_each_event_is_told_in_order(tmp_path: Path) -> None:
    async with interpreter(tmp_path) as here:
        service = ChatService(here, ChatRight.TALK)
        session = (await request(service, "create", title="Birds")).id
        stream = watch_session(service, session)
        first = await anext(stream)
        assert isinstance(first.event, ChatSessionSnapshot) and first.event.session.title == "Birds"
        said = await request(service, "send", session=session, content="Hello")
        assert (said.role, said.content, said.session_id) == ("user", "Hello", session)
        events = [first, *await read_until(stream, is_turn_end)]
        assert [told.n for told in events] == list(range(1, len(events) + 1))
        assert list_contents(events) == [("user", "Hello"), ("assistant", "You said: Hello")]


async def test_what_is_sent_again_is_said_once(tmp_path: Path) -> None:
    """Who lost the answer sends by the same key; what was refused can be tried again."""
    held = HeldAnswer()
    async with served(tmp_path, FunctionTestAgent(held)) as (here, service, session, stream):

        async def send(key: str | None) -> Message:
            said = await request(service, "send", session=session, content="Hi", key=key)
            assert isinstance(said, Message)
            return said

        first = await send("a")
        assert await send("a") == first
        with expect_refusal("session_busy"):
            await send("b")
        held.opened.set()
        await read_until(stream, is_turn_end)
        assert await send("a") == first
        assert (await send("b")).id != first.id
        await read_until(stream, is_turn_end)
        assert [each.role for each in here.messages(session)] == ["user", "assistant"] * 2


def test_so_many_keys_are_known_again_and_no_more() -> None:
    sent, said = MessageDeduplicator(), []

    def post() -> Message:
        said.append(message("Hi"))
        return said[-1]

    for key in [*map(str, range(MAX_KEYS + 1)), "1"]:
        sent.post_once("s", key, post)
    assert len(said) == MAX_KEYS + 1
    for session, key in (("s", "0"), ("other", "1"), ("s", None), ("s", None)):
        sent.post_once(session, key, post)
    assert len(said) == MAX_KEYS + 5


async def test_a_confirmation_is_answered(tmp_path: Path) -> None:
    async def post(asked: Message, turn: Turn) -> AsyncGenerator[Item, None]:
        yield f"So: {await turn.confirm('Go on?', ['Yes', 'No'])}"

    async with served(tmp_path, FunctionTestAgent(post)) as (_, service, session, stream):
        await request(service, "send", session=session, content="Hello")

        def waits(told: NumberedChatEvent) -> bool:
            return (
                isinstance(told.event, ChatSessionChanged)
                and told.event.session.waiting is not None
            )

        events = await read_until(stream, waits)
        id = events[-1].event.session.waiting
        chosen = await request(service, "choose", session=session, message=id, choice="No")
        assert (chosen.type, chosen.chosen) == (MessageType.CONFIRMATION, "No")
        events += await read_until(stream, is_turn_end)
        assert list_contents(events)[-1] == ("assistant", "So: No")
        with expect_refusal("not_waiting", "wait"):
            await request(service, "choose", session=session, message=id, choice="No")


async def test_sessions_are_listed_set_and_removed(tmp_path: Path) -> None:
    async with served(tmp_path, store=True) as (_, service, session, _):
        info = await request(service, "set", session=session, title="Fish", auto_chat_max=7)
        assert (info.title, info.auto_chat_max) == ("Fish", 7)
        lists = service.stream("watch_sessions", msgspec.Raw(b"null"))
        first: Any = await anext(lists)
        assert [each.title for each in first.sessions] == ["Fish"]
        assert await request(service, "remove", session=session) is None
        assert not (await read_until(lists, lambda told: not told.sessions))[-1].sessions
        await lists.aclose()


async def test_a_turn_is_stopped(tmp_path: Path) -> None:
    held = HeldAnswer()
    async with served(tmp_path, FunctionTestAgent(held)) as (here, service, session, _):
        await request(service, "send", session=session, content="Hello")
        await held.reached.wait()
        with expect_refusal("session_busy"):
            await request(service, "send", session=session, content="And?")
        await request(service, "stop", session=session)
        assert here.info(session).state is State.STATE_STOP


# ---- who may -------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", TALK)
async def test_who_may_watch_changes_nothing(tmp_path: Path, method: str) -> None:
    async with interpreter(tmp_path) as here:
        session = str(here.create_session())
        with expect_refusal("watch_only"):
            await request(ChatService(here, ChatRight.WATCH), method, session=session)


async def test_who_may_watch_looks_into_a_kept_session(tmp_path: Path) -> None:
    async with interpreter(tmp_path, store=True) as before:
        session = str(before.create_session())
        await request(ChatService(before, ChatRight.TALK), "send", session=session, content="Hi")
    async with interpreter(tmp_path, store=True) as here:
        service = ChatService(here, ChatRight.WATCH)
        with expect_refusal("unknown_session"):
            await anext(watch_session(service, session))
        assert (await request(service, "open", session=session)).live
        begin = await anext(watch_session(service, session))
        assert begin.event.messages[0].content == "Hi"


@pytest.mark.parametrize("method", [*TALK, *WATCH, "watch", "watch_sessions"])
async def test_who_was_let_into_one_session_reaches_no_other(tmp_path: Path, method: str) -> None:
    async with interpreter(tmp_path) as here:
        mine, other = str(here.create_session()), str(here.create_session("secret"))
        service = ChatService(here, ChatRight.TALK, mine)
        fields = {"content": "Hi", "message": "m", "choice": "Yes", "before": "m"}
        params = msgspec.Raw(msgspec.json.encode({"session": other, **fields}))
        with expect_refusal("out_of_scope"):
            if method.startswith("watch"):
                await anext(service.stream(method, params))
            else:
                await service.call(method, params)
        assert here.info(other).title == "secret"


async def test_a_message_of_another_session_is_not_there(tmp_path: Path) -> None:
    """Also for who knows its id."""
    async with interpreter(tmp_path, store=True) as here:
        mine, other = str(here.create_session()), str(here.create_session())
        secret = here.post(other, "secret").id
        here.post(mine, "mine")
        service = ChatService(here, ChatRight.TALK, mine)
        for method, params in {
            "earlier": {"before": secret},
            "picture": {"message": secret},
            "source": {"message": secret},
            "choose": {"message": secret, "choice": "Yes"},
        }.items():
            with expect_refusal("unknown_message_id"):
                await request(service, method, session=mine, **params)


async def test_who_was_let_into_one_session_talks_there(tmp_path: Path) -> None:
    async with interpreter(tmp_path) as here:
        mine = str(here.create_session("mine"))
        service = ChatService(here, ChatRight.TALK, mine)
        assert (await request(service, "open", session=mine)).title == "mine"
        assert (await request(service, "send", session=mine, content="Hi")).content == "Hi"
        with expect_refusal("out_of_scope"):
            await request(service, "remove", session=mine)  # it isn't theirs


@pytest.mark.parametrize(
    ("method", "params", "field"),
    [
        ("send", {"session": "s"}, "content"),
        ("send", {"session": "s", "content": ""}, "content"),
        ("send", {"session": "s", "content": " \n"}, "content"),
        ("send", {"session": "s", "content": 3}, "content"),
        ("set", {"session": "s", "auto_chat_max": -1}, "auto_chat_max"),
        ("earlier", {"session": "s", "before": "m", "limit": 0}, "limit"),
    ],
)
async def test_what_has_not_the_form_is_refused_with_its_field(
    tmp_path: Path, method: str, params: dict[str, Any], field: str
) -> None:
    async with interpreter(tmp_path) as here:
        with pytest.raises(ProtocolError) as error:
            await request(ChatService(here, ChatRight.TALK), method, **params)
        assert (error.value.code, error.value.field) == ("invalid_message", field)


async def test_what_is_not_there_is_refused(tmp_path: Path) -> None:
    async with interpreter(tmp_path) as here:
        service = ChatService(here, ChatRight.TALK)
        with pytest.raises(CommandError, match="no method 'fly'"):
            await request(service, "fly")
        with expect_refusal("unknown_session"):
            await request(service, "send", session="nobody's", content="Hi")
        with pytest.raises(CommandError):
            await anext(watch_session(service, "nobody's"))
        with pytest.raises(ProtocolError, match="JSON"):
            await service.call("send", msgspec.Raw(b"{"))
