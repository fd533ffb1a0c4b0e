"""The service `runtime`, as it is asked over a line: rights, parameters, streams."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import Any, TypeVar

import msgspec
import pytest
from msgspec import Raw, Struct

from agentstepper_nb.hub.runtime import MethodRight, RuntimeService
from agentstepper_nb.protocol import runtime as rows
from agentstepper_nb.protocol import runtime_requests as wire
from agentstepper_nb.protocol import runtime_store_messages as asks
from agentstepper_nb.protocol.runtime import SessionStatus
from agentstepper_nb.protocol.runtime_methods import CALLS, STREAMS
from agentstepper_nb.rpc.session import RpcSession
from tests.hub.runtime.harness import LOG, RuntimeHarness, expect_refusal, open_harness

Answer = TypeVar("Answer")

WATCH = {
    *("actions", "states", "steps", "sessions", "conversations", "participants", "messages"),
    *("cursor", "changes", "search", "status", "watch"),
    "fleet",
}
CONTROL = {
    *(
        "act",
        "retry",
        "retry_action",
        "discard_action",
        "create_conversation",
        "set_conversation",
        "join",
        "leave",
        "say",
        "read_on",
        "advance",
    ),
    *("halt_runs", "continue_runs"),
}
WORK = {"claim", "renew", "adopt", "release", "write", "wakes", "take_model_credit"}


class ServiceClient:
    """Whoever is at the other end of a line.

    Args:
        desk: The runtime it asks.
        right: What it may do.
    """

    def __init__(self, harness: RuntimeHarness, right: MethodRight) -> None:
        loop = asyncio.get_running_loop()
        self.service = RuntimeService(harness.runtime, right)
        self.core = RpcSession(self._to_client, {"runtime": self.service}, LOG)
        self.rpc_session = RpcSession(lambda text: loop.call_soon(self.core.receive, text), {}, LOG)
        self._loop = loop

    def _to_client(self, text: str) -> None:
        self._loop.call_soon(self.rpc_session.receive, text)

    async def request(self, method: str, params: Struct | None, kind: type[Answer]) -> Answer:
        raw = await self.rpc_session.call("runtime", method, params)
        return msgspec.json.decode(raw, type=kind)

    async def stream(
        self, method: str, params: Struct | None, kind: type[Answer]
    ) -> AsyncGenerator[Answer, None]:
        async with aclosing(self.rpc_session.stream("runtime", method, params)) as items:
            async for item in items:
                yield msgspec.json.decode(item, type=kind)


def run(
    test: Callable[[RuntimeHarness, ServiceClient], Awaitable[None]],
    right: MethodRight = MethodRight.WORK,
) -> None:
    async def whole() -> None:
        async with open_harness() as harness:
            await test(harness, ServiceClient(harness, right))

    asyncio.run(whole())


# ---- rights ----------------------------------------------------------------------------------------


def test_what_there_is() -> None:
    assert {*CALLS, *STREAMS} == WATCH | CONTROL | WORK


@pytest.mark.parametrize("right", list(MethodRight))
@pytest.mark.parametrize("method", sorted(WATCH | CONTROL | WORK))
def test_who_may_ask_what(method: str, right: MethodRight) -> None:
    needs = (
        MethodRight.WATCH
        if method in WATCH
        else MethodRight.CONTROL
        if method in CONTROL
        else MethodRight.WORK
    )
    # What may be asked is read next, and null is no parameters.
    code = "invalid_message" if right >= needs else "watch_only"

    async def test(harness: RuntimeHarness, client: ServiceClient) -> None:
        with expect_refusal(code) as caught:
            if method in STREAMS:
                await anext(client.rpc_session.stream("runtime", method))
            else:
                await client.rpc_session.call("runtime", method)
        if code == "watch_only":
            assert "token" in caught.value.message
        assert client.service.owners == set()

    run(test, right)


@pytest.mark.parametrize("method", ["dance", "", "watch", "close", "_read"])
def test_what_there_isnt(method: str) -> None:
    async def test(harness: RuntimeHarness, client: ServiceClient) -> None:
        with expect_refusal("unknown_service"):
            await client.rpc_session.call("runtime", method)
        with expect_refusal("unknown_service"):
            await anext(
                client.rpc_session.stream("runtime", "act" if method == "watch" else method)
            )

    run(test)


# ---- parameters ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "params", "field"),
    [
        ("act", b'{"kind": "agent_dance"}', "kind"),
        ("act", b'{"kind": "agent_create", "agent_id": "ann"}', "payload.moniker"),
        ("states", b'{"limit": 1001}', "limit"),
        ("states", b'{"status": ["asleep"]}', "status[0]"),
        ("steps", b'{"after_iteration": "one"}', "after_iteration"),
        ("join", b'{"conversation_id": "c"}', "kind"),
        ("say", b'{"conversation_id": "", "text": "tea"}', "conversation_id"),
        ("claim", b'{"owner": "w", "now": 1}', "lease_until"),
        ("write", b'{"session_id": "s", "epoch": 1, "owner": "w", "steps": [{}]}', "steps[0].id"),
    ],
)
def test_parameters_of_another_form_are_refused_with_their_field(
    method: str, params: bytes, field: str
) -> None:
    async def test(harness: RuntimeHarness, client: ServiceClient) -> None:
        with expect_refusal("invalid_message") as caught:
            await client.service.call(method, Raw(params))
        assert isinstance(caught.value.field, str)
        assert caught.value.field.startswith(field)
        assert field in caught.value.message

    run(test)


def test_what_isnt_json_is_refused() -> None:
    async def test(harness: RuntimeHarness, client: ServiceClient) -> None:
        for params in (b"", b"{", b"[" * 100_000, b'{"limit": "\xff"}'):
            with expect_refusal("invalid_message"):
                await client.service.call("states", Raw(params))

    run(test)


# ---- over the line ---------------------------------------------------------------------------------


def test_a_session_and_its_conversation_over_the_line() -> None:
    async def test(harness: RuntimeHarness, client: ServiceClient) -> None:
        ask = client.request
        conversation = await ask(
            "create_conversation", wire.NewConversation(conversation_id="c"), rows.Conversation
        )
        assert conversation.status == "open"
        create = wire.NewAction(
            kind=rows.ActionKind.CREATE,
            agent_id="ann",
            session_id="s",
            payload={"moniker": "joke", "conversation_id": "c"},
        )
        acted = await ask("act", create, wire.ActionEnqueued)
        assert acted.is_new
        worker = {"owner": "w", "now": 1000.0, "lease_until": 1010.0}
        claimed = await ask("claim", asks.ClaimAction(**worker), asks.ClaimedAction)  # type: ignore[arg-type]
        assert claimed.action is not None
        assert claimed.state is not None
        held = await ask("renew", asks.RenewLeases(**worker), asks.RenewedLeases)  # type: ignore[arg-type]
        assert [each.session_id for each in held.sessions] == ["s"]
        running = msgspec.structs.replace(claimed.state, status=SessionStatus.RUNNING)
        over = asks.ActionCompletion(
            id=claimed.action.id, owner="w", status=rows.ActionStatus.DONE, processed_at=1001.0
        )
        write = asks.SessionWrite(
            session_id="s", epoch=1, owner="w", state=running, finished=(over,)
        )
        written = await ask("write", write, asks.SessionWriteResult)
        assert written.actions[0].status == "done"
        member = wire.NewParticipant(
            conversation_id="c", kind=rows.ParticipantKind.USER, user_id="eve"
        )
        seat = await ask("join", member, rows.Participant)
        message = await ask(
            "say",
            wire.NewMessage(conversation_id="c", user_id="eve", text="tea"),
            rows.ConversationMessage,
        )
        read = await ask(
            "read_on",
            wire.AdvanceCursor(session_id="s", conversation_id="c"),
            asks.ConversationMessageList,
        )
        assert [each.text for each in read.messages] == ["eve joined.", "tea"]
        at = await ask(
            "cursor", asks.CursorQuery(session_id="s", conversation_id="c"), asks.CursorResult
        )
        assert at.cursor is not None
        assert at.cursor.last_message_id == message.message_id
        left = await ask(
            "leave",
            wire.LeaveConversation(conversation_id="c", participant_id=seat.participant_id),
            rows.Participant,
        )
        assert left.left_at is not None
        closed = wire.SetConversation(conversation_id="c", status="closed")
        assert (await ask("set_conversation", closed, rows.Conversation)).status == "closed"
        assert await ask("release", asks.ReleaseLeases(owner="w", until=1000.0), type(None)) is None
        again = asks.AdoptSessions(**{**worker, "owner": "other"})  # type: ignore[arg-type]
        assert (await ask("adopt", again, asks.AgentStateList)).states[0].epoch == 2
        states = await ask("states", asks.StateQuery(agent_id="ann"), asks.AgentStateList)
        assert states.states[0].owner == "other"
        actions = await ask("actions", asks.ActionQuery(session_id="s"), asks.ActionList)
        assert [each.kind for each in actions.actions] == ["agent_create", "agent_input"]
        sessions = await ask(
            "sessions", asks.AgentSessionQuery(agent_id="ann"), asks.AgentSessionList
        )
        assert [each.session_id for each in sessions.sessions] == ["s"]
        steps = await ask("steps", asks.StepQuery(session_id="s"), asks.AgentStepList)
        assert steps.steps == ()
        found = await ask("conversations", asks.ConversationQuery(), asks.ConversationList)
        assert [each.conversation_id for each in found.conversations] == ["c"]
        seats = await ask(
            "participants", asks.ParticipantQuery(conversation_id="c"), asks.ParticipantList
        )
        assert len(seats.participants) == 2
        said = await ask(
            "messages", asks.MessageQuery(conversation_id="c"), asks.ConversationMessageList
        )
        assert [each.event_type for each in said.messages] == [
            *("joined", "joined", "message", "left", "closed")
        ]

    run(test)


def test_a_topic_over_the_line() -> None:
    async def test(harness: RuntimeHarness, client: ServiceClient) -> None:
        await harness.create("s")
        topic = wire.WatchTopic(topic="session:s")
        async with aclosing(client.stream("watch", topic, wire.TopicEvent)) as notices:
            begin = await anext(notices)
            assert begin.event == "begin"
            await harness.enqueue("agent_pause", "s")
            told = await anext(notices)
        assert (told.event, told.n) == ("action", begin.n + 1)
        assert told.actions[0].kind == "agent_pause"
        with expect_refusal("unknown_topic"):
            await anext(client.stream("watch", wire.WatchTopic(topic="tea"), wire.TopicEvent))

    run(test, MethodRight.WATCH)


@pytest.mark.slow
def test_a_reader_that_stands_still_is_begun_with_again() -> None:
    async def test(harness: RuntimeHarness, client: ServiceClient) -> None:
        await harness.create("s")
        topic = wire.WatchTopic(topic="session:s")
        async with aclosing(client.stream("watch", topic, wire.TopicEvent)) as notices:
            await anext(notices)
            for _ in range(500):  # more than the line's window and the topic's room together
                await harness.enqueue("agent_pause", "s")
            last: Any = None
            seen: list[str] = []
            while last != 500:
                notice = await anext(notices)
                seen.append(notice.event)
                last = len(notice.actions) - 1 if notice.event == "begin" else last
        assert seen[-1] == "begin"
        assert 60 < len(seen) < 500

    run(test)


def test_a_worker_whose_line_breaks_is_soon_nobody() -> None:
    async def test(harness: RuntimeHarness, client: ServiceClient) -> None:
        await harness.create("s")
        reading = client.stream("wakes", wire.SubscribeWakes(owner="w"), wire.DispatcherWake)
        assert (await anext(reading)).n == 1
        assert client.service.owners == {"w"}
        assert harness.runtime.dispatchers == {"w"}
        await harness.begin("s")
        needed = asyncio.Event()
        harness.runtime.on_worker_needed = needed.set
        client.core.connection_lost("gone")
        await needed.wait()
        assert not harness.runtime.dispatchers
        await client.service.close()
        harness.clock.now += 3
        now = harness.clock()
        adopted = await harness.runtime.adopt(
            asks.AdoptSessions(owner="x", now=now, lease_until=now + 10)
        )
        assert [state.session_id for state in adopted.states] == ["s"]

    run(test)


def test_a_call_whose_line_breaks_is_done_and_told() -> None:
    async def test(harness: RuntimeHarness, client: ServiceClient) -> None:
        await harness.create("s")
        async with aclosing(harness.watch("session:s")) as notices:
            await anext(notices)
            pause = wire.NewAction(kind=rows.ActionKind.PAUSE, session_id="s")
            asking = asyncio.create_task(client.request("act", pause, wire.ActionEnqueued))
            # This, who asks, who serves it, and the work itself.
            while len(asyncio.all_tasks()) < 4:
                await asyncio.sleep(0)
            client.core.connection_lost("gone")
            client.rpc_session.connection_lost("gone")
            with expect_refusal("worker_lost"):
                await asking
            assert (await anext(notices)).actions[0].kind == "agent_pause"

    run(test)
