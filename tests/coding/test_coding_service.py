"""The coding service, asked as HTTP asks it; the conversations are led by the test."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import Raw, Struct

from agentstepper_nb.coding.hosted_session import SessionOpening, make_server_event
from agentstepper_nb.coding.service import CodingService
from agentstepper_nb.coding.tool import ToolResult
from agentstepper_nb.errors import CommandError, ProtocolError
from agentstepper_nb.llm_wire import events
from agentstepper_nb.protocol import coding_api as wire
from agentstepper_nb.worker.services import ServiceContext
from tests.helpers.scripted_coding_sessions import ScriptedSessionOpener

LOG = logging.getLogger("agentstepper_nb.test")
HOW = wire.CreateCodingSession(workspace_path="/ws", provider="scripted", model="jokes")


class ServiceHarness:
    """A service, and one to ask it."""

    def __init__(self, most: int = 100) -> None:
        self.opener = ScriptedSessionOpener()
        self.service = CodingService(self.opener, ServiceContext(Path("/nowhere"), LOG), most)

    async def request(self, method: str, params: Struct | None = None) -> Any:
        return await self.service.call(method, Raw(msgspec.json.encode(params)))

    async def create(self) -> str:
        created = await self.request("create", HOW)
        return str(created.id)

    async def chat(self, session: str, message: str) -> None:
        await self.request("chat", wire.SendCodingMessage(session=session, message=message))

    async def approve(self, session: str, call: str, **answer: Any) -> None:
        said = msgspec.json.decode(msgspec.json.encode(answer), type=wire.CodingApprovalBody)
        await self.request(
            "approve", wire.AnswerCodingApproval(session=session, call=call, answer=said)
        )

    def events(self, session: str, last: str | None = None) -> AsyncGenerator[Any, None]:
        watch = wire.WatchCodingSession(session=session, last=last)
        return self.service.stream("events", Raw(msgspec.json.encode(watch)))

    async def read_until(self, reader: AsyncGenerator[Any, None], kind: type) -> list[Any]:
        """Events up to one of a kind."""
        seen = []
        async for item in reader:
            seen.append(item.event)
            if isinstance(item.event, kind):
                return seen
        raise AssertionError(seen)

    async def expect_refusal(self, method: str, params: Struct | None = None) -> str:
        with pytest.raises((CommandError, ProtocolError)) as caught:
            await self.request(method, params)
        return caught.value.code  # type: ignore[attr-defined,no-any-return]


def run(test: Any) -> None:
    asyncio.run(test)


async def test_a_message_is_answered() -> None:
    service_harness = ServiceHarness()
    id = await service_harness.create()
    reader = service_harness.events(id)
    await service_harness.chat(id, "say Hello you")
    assert await service_harness.read_until(reader, wire.CodingTurnCompleted) == [
        None,
        wire.CodingTextDelta(text="Hello"),
        wire.CodingTextDelta(text="you"),
        wire.CodingTurnCompleted(reason="done", usage=desk_usage()),
    ]
    (info,) = (await service_harness.request("list", wire.ListCodingSessions())).sessions
    assert (info.id, info.running, info.messages, info.run) == (id, False, 1, "run-1")
    await service_harness.request("close", wire.CodingSessionRequest(session=id))
    with pytest.raises(StopAsyncIteration):
        await anext(reader)
    assert service_harness.opener.sessions[id].closed
    assert await service_harness.expect_refusal(
        "chat", wire.SendCodingMessage(session=id, message="x")
    ) == ("unknown_session")


def desk_usage() -> Any:
    from agentstepper_nb.protocol.data_model import Usage

    return Usage(input_tokens=3, output_tokens=2)


async def test_one_message_at_a_time_and_cancelled() -> None:
    service_harness = ServiceHarness()
    id = await service_harness.create()
    reader = service_harness.events(id)
    await service_harness.chat(id, "wait")
    await service_harness.read_until(reader, wire.CodingTextDelta)
    (info,) = (await service_harness.request("list", wire.ListCodingSessions())).sessions
    assert info.running
    assert (
        await service_harness.expect_refusal(
            "chat", wire.SendCodingMessage(session=id, message="x")
        )
        == "session_busy"
    )
    await service_harness.request("cancel", wire.CodingSessionRequest(session=id))
    assert (await service_harness.read_until(reader, wire.CodingTurnCompleted))[
        -1
    ].reason == "cancelled"
    await service_harness.request(
        "cancel", wire.CodingSessionRequest(session=id)
    )  # nothing to cancel: nothing happens
    await service_harness.chat(id, "say again")
    assert (await service_harness.read_until(reader, wire.CodingTurnCompleted))[-1].reason == "done"


def test_what_breaks_is_said(caplog: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        service_harness = ServiceHarness()
        id = await service_harness.create()
        reader = service_harness.events(id)
        await service_harness.chat(id, "break")
        _, failed, completed = await service_harness.read_until(reader, wire.CodingTurnCompleted)
        assert isinstance(failed, wire.CodingTurnFailed)
        assert (failed.code, completed.reason) == ("internal", "error")
        await service_harness.chat(id, "say on")
        await service_harness.read_until(reader, wire.CodingTurnCompleted)

    with caplog.at_level(logging.ERROR):
        run(test())
    assert "ZeroDivisionError" in caplog.text


async def test_approvals() -> None:
    service_harness = ServiceHarness()
    id = await service_harness.create()
    led, reader = service_harness.opener.sessions[id], service_harness.events(id)
    await service_harness.chat(id, "ask c1")
    required = (await service_harness.read_until(reader, wire.ApprovalRequired))[-1]
    assert required == wire.ApprovalRequired(
        call_id="c1",
        name="run_command",
        args={"command": "rm -r build"},
        risk="high",
        why="it deletes files",
    )
    assert (await service_harness.request("list", wire.ListCodingSessions())).sessions[
        0
    ].waiting == ("c1",)
    answer = wire.AnswerCodingApproval(
        session=id, call="c2", answer=wire.CodingApprovalBody(approved=True)
    )
    assert await service_harness.expect_refusal("approve", answer) == "unknown_call"
    answer = wire.AnswerCodingApproval(
        session=id, call="c1", answer=wire.CodingApprovalBody(approved=True)
    )
    assert await service_harness.expect_refusal("approve", answer) == "needs_confirmation"
    assert (await service_harness.request("list", wire.ListCodingSessions())).sessions[
        0
    ].waiting == ("c1",)
    edited = {"command": "ls"}
    await service_harness.approve(
        id, "c1", approved=True, confirmed=True, editedArgs=edited, always=True
    )
    answer = wire.AnswerCodingApproval(
        session=id, call="c1", answer=wire.CodingApprovalBody(approved=False)
    )
    assert await service_harness.expect_refusal("approve", answer) == "stale"
    await service_harness.read_until(reader, wire.CodingTurnCompleted)
    assert await service_harness.expect_refusal("approve", answer) == "stale"
    (decision,) = led.decisions
    assert (decision.approved, decision.edited, decision.always) == (True, True, True)
    assert decision.args == {"command": "ls"}

    await service_harness.chat(id, "ask c3")
    await service_harness.read_until(reader, wire.ApprovalRequired)
    await service_harness.approve(
        id, "c3", approved=False, reason="No.", editedArgs={"not": "used"}
    )
    await service_harness.read_until(reader, wire.CodingTurnCompleted)
    assert (led.decisions[1].approved, led.decisions[1].reason) == (False, "No.")
    assert not led.decisions[1].edited

    await service_harness.chat(id, "ask c1")  # an id that was there before
    await service_harness.read_until(reader, wire.ApprovalRequired)
    led.elsewhere.set()
    await service_harness.read_until(reader, wire.CodingTurnCompleted)
    assert await service_harness.expect_refusal("approve", answer) == "stale"


async def test_sessions_are_resumed_and_are_not_too_many() -> None:
    service_harness = ServiceHarness(most=2)
    id = await service_harness.create()
    resume = wire.ResumeCodingSession(session=id, settings=HOW)
    assert await service_harness.expect_refusal("resume", resume) == "session_open"
    await service_harness.request("close", wire.CodingSessionRequest(session=id))
    both = await asyncio.gather(
        service_harness.request("resume", resume),
        service_harness.request("resume", resume),
        return_exceptions=True,
    )
    assert sorted(type(each).__name__ for each in both) == ["CodingSessionCreated", "CommandError"]
    for unknown in ("never", "../../etc/passwd", "", "x" * 101, "a\nb"):
        asked = wire.ResumeCodingSession(session=unknown, settings=HOW)
        assert await service_harness.expect_refusal("resume", asked) == "unknown_session"
    other = wire.CreateCodingSession(workspace_path="/ws", provider="nobody", model="m")
    assert await service_harness.expect_refusal("create", other) == "session_failed"
    await service_harness.create()
    assert await service_harness.expect_refusal("create", HOW) == "too_many"
    await service_harness.service.close()
    assert all(each.closed for each in service_harness.opener.sessions.values())


async def test_what_is_not_understood_is_refused() -> None:
    service_harness = ServiceHarness()
    assert await service_harness.expect_refusal("dance") == "unknown_service"
    assert await service_harness.expect_refusal("chat") == "invalid_message"
    with pytest.raises(CommandError):
        await anext(service_harness.service.stream("dance", Raw(b"null")))
    with pytest.raises(ProtocolError):
        await anext(service_harness.service.stream("events", Raw(b"7")))
    with pytest.raises(CommandError):
        await anext(service_harness.events("nobody"))


@pytest.mark.parametrize(
    ("event", "told"),
    [
        (events.TextDelta("a"), wire.CodingTextDelta(text="a")),
        (events.ToolCallStarted("c", "ls"), None),
        (events.ToolCallArgsDelta("c", "{"), None),
        (
            events.ToolCallReady("c", "ls", '{"a": [1]}'),
            wire.ToolCalled(call_id="c", name="ls", args={"a": [1]}),
        ),
        (
            events.ToolCallReady("c", "ls", '{"a": '),
            wire.ToolCalled(call_id="c", name="ls", args='{"a": '),
        ),
        (
            events.ToolResultEvent("c", ToolResult.success([1])),
            wire.ToolReturned(call_id="c", ok=True, data=[1]),
        ),
        (
            events.ToolResultEvent("c", ToolResult.failure("No.")),
            wire.ToolReturned(call_id="c", ok=False, error="No."),
        ),
        (events.ResponseCompleted("stop"), None),
        (
            events.TraceEvent("error", {"kind": "timeout", "message": "late"}),
            wire.CodingTurnFailed(code="timeout", message="late"),
        ),
        (events.TraceEvent("error", "late"), wire.CodingTurnFailed(code="error", message="late")),
        (events.TraceEvent("unknown", {"a": 1}), wire.CodingTrace(kind="unknown", data={"a": 1})),
    ],
)
def test_what_clients_are_told(event: events.AgentEvent, told: wire.ServerEvent | None) -> None:
    assert make_server_event(event) == told


def test_what_json_cannot_carry_is_told_in_words() -> None:
    told = make_server_event(events.TraceEvent("odd", {"a": object()}))
    assert isinstance(told, wire.CodingTrace)
    assert "object" in told.data
    returned = make_server_event(events.ToolResultEvent("c", ToolResult.success(object())))
    assert isinstance(returned, wire.ToolReturned)
    assert not returned.ok


def test_no_arguments_at_all_are_an_empty_object() -> None:
    assert make_server_event(events.ToolCallReady("1", "t", "")) == wire.ToolCalled(
        call_id="1", name="t", args={}
    )


async def test_a_message_is_cancelled_before_its_answer_begins() -> None:
    service_harness = ServiceHarness()
    id = await service_harness.create()
    reader = service_harness.events(id)
    await service_harness.chat(id, "say Hello")  # no step of its task ran yet
    await service_harness.request("cancel", wire.CodingSessionRequest(session=id))
    assert await service_harness.read_until(reader, wire.CodingTurnCompleted) == [
        None,
        wire.CodingTurnCompleted(reason="cancelled", usage=None),
    ]
    await service_harness.chat(id, "say again")
    assert (await service_harness.read_until(reader, wire.CodingTurnCompleted))[-1].reason == "done"


class SlowSessionOpener(ScriptedSessionOpener):
    """Opens a session, and then connects a debugger that doesn't answer.

    Args:
        is_cancellable: Whether it heeds a cancellation then.

    Attributes:
        is_opening: Set once a session is there.
    """

    def __init__(self, is_cancellable: bool = True) -> None:
        super().__init__()
        self.is_opening = asyncio.Event()
        self._is_cancellable = is_cancellable

    async def __call__(self, opening: SessionOpening, kept: str | None) -> Any:
        session = await super().__call__(opening, kept)
        self.is_opening.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            if self._is_cancellable:
                await session.close()
                raise
        return session


@pytest.mark.parametrize("is_cancellable", [True, False])
async def test_a_session_that_is_being_opened_is_closed_with_the_service(
    is_cancellable: bool,
) -> None:
    service_harness = ServiceHarness()
    service_harness.opener = opener = SlowSessionOpener(is_cancellable)
    service = service_harness.service = CodingService(opener, ServiceContext(Path("/nowhere"), LOG))
    creating = asyncio.create_task(service_harness.request("create", HOW))
    await opener.is_opening.wait()
    assert service.is_busy
    await service.close()
    assert [each.closed for each in opener.sessions.values()] == [True]
    with pytest.raises(CommandError, match="its worker is ending"):
        await creating
    assert not service.is_busy
    with pytest.raises(CommandError, match="its worker is ending"):
        await service_harness.request("create", HOW)


async def test_a_request_that_is_cancelled_opens_no_session() -> None:
    service_harness = ServiceHarness()
    service_harness.opener = opener = SlowSessionOpener()
    service_harness.service = CodingService(opener, ServiceContext(Path("/nowhere"), LOG))
    creating = asyncio.create_task(service_harness.request("create", HOW))
    await opener.is_opening.wait()
    creating.cancel()
    with pytest.raises(asyncio.CancelledError):
        await creating
    assert [each.closed for each in opener.sessions.values()] == [True]
    assert not service_harness.service.is_busy
