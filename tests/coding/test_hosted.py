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

from agentstepper_nb.coding.hosted_session import make_server_event
from agentstepper_nb.coding.service import CodingService
from agentstepper_nb.coding.tool import ToolResult
from agentstepper_nb.errors import CommandError, ProtocolError
from agentstepper_nb.llm_wire import events
from agentstepper_nb.protocol import coding_api as wire
from agentstepper_nb.worker.services import ServiceContext
from tests.helpers.conversing import Leader

LOG = logging.getLogger("agentstepper_nb.test")
HOW = wire.CreateCodingSession(workspace_path="/ws", provider="scripted", model="jokes")


class Desk:
    """A service, and one to ask it."""

    def __init__(self, most: int = 100) -> None:
        self.leader = Leader()
        self.service = CodingService(self.leader, ServiceContext(Path("/nowhere"), LOG), most)

    async def ask(self, method: str, params: Struct | None = None) -> Any:
        return await self.service.call(method, Raw(msgspec.json.encode(params)))

    async def create(self) -> str:
        created = await self.ask("create", HOW)
        return str(created.id)

    async def chat(self, session: str, message: str) -> None:
        await self.ask("chat", wire.SendCodingMessage(session=session, message=message))

    async def approve(self, session: str, call: str, **answer: Any) -> None:
        said = msgspec.json.decode(msgspec.json.encode(answer), type=wire.CodingApprovalBody)
        await self.ask(
            "approve", wire.AnswerCodingApproval(session=session, call=call, answer=said)
        )

    def events(self, session: str, last: str | None = None) -> AsyncGenerator[Any, None]:
        watch = wire.WatchCodingSession(session=session, last=last)
        return self.service.stream("events", Raw(msgspec.json.encode(watch)))

    async def until(self, reader: AsyncGenerator[Any, None], kind: type) -> list[Any]:
        """Events up to one of a kind."""
        seen = []
        async for item in reader:
            seen.append(item.event)
            if isinstance(item.event, kind):
                return seen
        raise AssertionError(seen)

    async def refused(self, method: str, params: Struct | None = None) -> str:
        with pytest.raises((CommandError, ProtocolError)) as caught:
            await self.ask(method, params)
        return caught.value.code  # type: ignore[attr-defined,no-any-return]


def run(test: Any) -> None:
    asyncio.run(test)


async def test_a_message_is_answered() -> None:
    desk = Desk()
    id = await desk.create()
    reader = desk.events(id)
    await desk.chat(id, "say Hello you")
    assert await desk.until(reader, wire.CodingTurnCompleted) == [
        None,
        wire.CodingTextDelta(text="Hello"),
        wire.CodingTextDelta(text="you"),
        wire.CodingTurnCompleted(reason="done", usage=desk_usage()),
    ]
    (info,) = (await desk.ask("list", wire.ListCodingSessions())).sessions
    assert (info.id, info.running, info.messages, info.run) == (id, False, 1, "run-1")
    await desk.ask("close", wire.CodingSessionRequest(session=id))
    with pytest.raises(StopAsyncIteration):
        await anext(reader)
    assert desk.leader.led[id].closed
    assert await desk.refused("chat", wire.SendCodingMessage(session=id, message="x")) == (
        "unknown_session"
    )


def desk_usage() -> Any:
    from agentstepper_nb.protocol.values import Usage

    return Usage(input_tokens=3, output_tokens=2)


async def test_one_message_at_a_time_and_cancelled() -> None:
    desk = Desk()
    id = await desk.create()
    reader = desk.events(id)
    await desk.chat(id, "wait")
    await desk.until(reader, wire.CodingTextDelta)
    (info,) = (await desk.ask("list", wire.ListCodingSessions())).sessions
    assert info.running
    assert (
        await desk.refused("chat", wire.SendCodingMessage(session=id, message="x"))
        == "session_busy"
    )
    await desk.ask("cancel", wire.CodingSessionRequest(session=id))
    assert (await desk.until(reader, wire.CodingTurnCompleted))[-1].reason == "cancelled"
    await desk.ask(
        "cancel", wire.CodingSessionRequest(session=id)
    )  # nothing to cancel: nothing happens
    await desk.chat(id, "say again")
    assert (await desk.until(reader, wire.CodingTurnCompleted))[-1].reason == "done"


def test_what_breaks_is_said(caplog: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        desk = Desk()
        id = await desk.create()
        reader = desk.events(id)
        await desk.chat(id, "break")
        _, failed, completed = await desk.until(reader, wire.CodingTurnCompleted)
        assert isinstance(failed, wire.CodingTurnFailed)
        assert (failed.code, completed.reason) == ("internal", "error")
        await desk.chat(id, "say on")
        await desk.until(reader, wire.CodingTurnCompleted)

    with caplog.at_level(logging.ERROR):
        run(test())
    assert "ZeroDivisionError" in caplog.text


async def test_approvals() -> None:
    desk = Desk()
    id = await desk.create()
    led, reader = desk.leader.led[id], desk.events(id)
    await desk.chat(id, "ask c1")
    required = (await desk.until(reader, wire.ApprovalRequired))[-1]
    assert required == wire.ApprovalRequired(
        call_id="c1",
        name="run_command",
        args={"command": "rm -r build"},
        risk="high",
        why="it deletes files",
    )
    assert (await desk.ask("list", wire.ListCodingSessions())).sessions[0].waiting == ("c1",)
    answer = wire.AnswerCodingApproval(
        session=id, call="c2", answer=wire.CodingApprovalBody(approved=True)
    )
    assert await desk.refused("approve", answer) == "unknown_call"
    answer = wire.AnswerCodingApproval(
        session=id, call="c1", answer=wire.CodingApprovalBody(approved=True)
    )
    assert await desk.refused("approve", answer) == "needs_confirmation"
    assert (await desk.ask("list", wire.ListCodingSessions())).sessions[0].waiting == ("c1",)
    edited = {"command": "ls"}
    await desk.approve(id, "c1", approved=True, confirmed=True, editedArgs=edited, always=True)
    answer = wire.AnswerCodingApproval(
        session=id, call="c1", answer=wire.CodingApprovalBody(approved=False)
    )
    assert await desk.refused("approve", answer) == "stale"
    await desk.until(reader, wire.CodingTurnCompleted)
    assert await desk.refused("approve", answer) == "stale"
    (decision,) = led.decisions
    assert (decision.approved, decision.edited, decision.always) == (True, True, True)
    assert decision.args == {"command": "ls"}

    await desk.chat(id, "ask c3")
    await desk.until(reader, wire.ApprovalRequired)
    await desk.approve(id, "c3", approved=False, reason="No.", editedArgs={"not": "used"})
    await desk.until(reader, wire.CodingTurnCompleted)
    assert (led.decisions[1].approved, led.decisions[1].reason) == (False, "No.")
    assert not led.decisions[1].edited

    await desk.chat(id, "ask c1")  # an id that was there before
    await desk.until(reader, wire.ApprovalRequired)
    led.elsewhere.set()
    await desk.until(reader, wire.CodingTurnCompleted)
    assert await desk.refused("approve", answer) == "stale"


async def test_sessions_are_resumed_and_are_not_too_many() -> None:
    desk = Desk(most=2)
    id = await desk.create()
    resume = wire.ResumeCodingSession(session=id, how=HOW)
    assert await desk.refused("resume", resume) == "session_open"
    await desk.ask("close", wire.CodingSessionRequest(session=id))
    both = await asyncio.gather(
        desk.ask("resume", resume), desk.ask("resume", resume), return_exceptions=True
    )
    assert sorted(type(each).__name__ for each in both) == ["CodingSessionCreated", "CommandError"]
    for unknown in ("never", "../../etc/passwd", "", "x" * 101, "a\nb"):
        asked = wire.ResumeCodingSession(session=unknown, how=HOW)
        assert await desk.refused("resume", asked) == "unknown_session"
    other = wire.CreateCodingSession(workspace_path="/ws", provider="nobody", model="m")
    assert await desk.refused("create", other) == "session_failed"
    await desk.create()
    assert await desk.refused("create", HOW) == "too_many"
    await desk.service.close()
    assert all(each.closed for each in desk.leader.led.values())


async def test_what_is_not_understood_is_refused() -> None:
    desk = Desk()
    assert await desk.refused("dance") == "unknown_service"
    assert await desk.refused("chat") == "invalid_message"
    with pytest.raises(CommandError):
        await anext(desk.service.stream("dance", Raw(b"null")))
    with pytest.raises(ProtocolError):
        await anext(desk.service.stream("events", Raw(b"7")))
    with pytest.raises(CommandError):
        await anext(desk.events("nobody"))


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
