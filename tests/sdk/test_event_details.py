"""What an agent tells of a run's start and end, of its events, and of what went wrong."""

from __future__ import annotations

import asyncio
import runpy
from pathlib import Path
from typing import Any

import pytest
from msgspec import Raw

from agentstepper_nb import AgentStopped, InjectedError, NotJSONError, ToolDeniedError
from agentstepper_nb.protocol.agent import Bye, EventBegun
from agentstepper_nb.protocol.answers import Answer, DenyAnswer, RaiseAnswer, StopAnswer
from agentstepper_nb.protocol.data_model import EventKind, EventOutcome, EventSide, RunEnding, Usage
from agentstepper_nb.sdk.agent_frames import format_agent_frames
from tests.sdk.both_steppers import both, run
from tests.sdk.scripted_core import START, STEP, ScriptedAnswers, ScriptedCore, make_edit_answer


@both
def test_the_start(stepper_kind: str, core: ScriptedCore) -> None:
    async def nothing(dbg: Any) -> None:
        pass

    run(stepper_kind, core, nothing)
    peer = core.wait_for_peer()
    assert peer.hello is not None
    assert peer.hello.program == "Tester"
    bye = peer.wait_until_gone()
    event, point = peer.received[:2]
    assert (event.kind, bytes(event.data)) == (EventKind.PROGRAM_STARTED, b'"Tester"')
    assert point.event == event.id
    assert (point.side, point.waits, bytes(point.data)) == (EventSide.BEGIN, True, b'"Tester"')
    assert point.summary == "Agent program started."
    assert bye == Bye(ending=RunEnding.FINISHED)
    assert len(peer.received) == 3


@both
def test_without_a_stop_on_entry_the_message_is_sent_all_the_same(
    stepper_kind: str, core: ScriptedCore
) -> None:
    async def nothing(dbg: Any) -> None:
        pass

    run(stepper_kind, core, nothing, stop_on_entry=False)
    peer = core.wait_for_peer()
    peer.wait_until_gone()
    assert [point.waits for point in peer.halt_points] == [False]


@both
@pytest.mark.parametrize(
    ("answer", "error", "ending"),
    [
        (StopAnswer(), AgentStopped, RunEnding.STOPPED),
        (RaiseAnswer(message="no"), InjectedError, RunEnding.CRASHED),
    ],
)
def test_what_ends_the_start_ends_the_run(
    stepper_kind: str,
    core: ScriptedCore,
    answer: Answer,
    error: type[BaseException],
    ending: RunEnding,
) -> None:
    async def never(dbg: Any) -> None:
        raise AssertionError

    core.policy = ScriptedAnswers(answer)
    with pytest.raises(error):
        run(stepper_kind, core, never)
    bye = core.wait_for_peer().wait_until_gone()
    assert bye is not None
    assert bye.ending is ending


@both
@pytest.mark.parametrize(
    ("error", "ending", "failure"),
    [
        (ValueError("a bug"), RunEnding.CRASHED, ("ValueError", "a bug")),
        (KeyboardInterrupt(), RunEnding.STOPPED, None),
        (AgentStopped(), RunEnding.STOPPED, None),
        (asyncio.CancelledError(), RunEnding.STOPPED, None),
        (BaseExceptionGroup("tasks", [AgentStopped(), AgentStopped()]), RunEnding.STOPPED, None),
        (
            BaseExceptionGroup("tasks", [AgentStopped(), ValueError("a bug")]),
            RunEnding.CRASHED,
            ("BaseExceptionGroup", None),
        ),
        (SystemExit(0), RunEnding.FINISHED, None),
        (SystemExit(2), RunEnding.CRASHED, ("SystemExit", "2")),
        (NotJSONError("$", "x"), RunEnding.CRASHED, ("agentstepper_nb.errors.NotJSONError", None)),
    ],
    ids=lambda value: repr(value)[:70] if isinstance(value, BaseException) else "",
)
def test_how_the_run_ends(
    stepper_kind: str, core: ScriptedCore, error: BaseException, ending: RunEnding, failure: Any
) -> None:
    async def fail(dbg: Any) -> None:
        raise error

    with pytest.raises(type(error)):
        run(stepper_kind, core, fail)
    bye = core.wait_for_peer().wait_until_gone()
    assert bye is not None
    assert bye.ending is ending
    if failure is None:
        assert bye.failure is None
    else:
        assert bye.failure is not None
        assert bye.failure.type == failure[0]
        assert failure[1] in (None, bye.failure.message)


@both
def test_an_event_s_details(stepper_kind: str, core: ScriptedCore) -> None:
    async def scenario(dbg: Any) -> None:
        async with dbg.tool("outer", {}) as t:
            async with dbg.llm("p", model="gpt") as q:
                q.response = {"usage": {"prompt_tokens": 3, "completion_tokens": 4}}
            async with dbg.llm("p") as q:
                q.usage = Usage(input_tokens=1, output_tokens=2)
            await dbg.post_debug_message("done")
            t.result = 1

    run(stepper_kind, core, scenario)
    peer = core.wait_for_peer()
    peer.wait_until_gone()
    _, outer, first, second, message = peer.events
    assert (outer.name, outer.parent) == ("outer", None)
    assert (first.name, first.parent) == ("gpt", outer.id)
    assert (second.name, second.parent) == (None, outer.id)
    assert (message.parent, message.data) == (outer.id, Raw(b'"done"'))
    usages = [
        p.usage for p in peer.halt_points if p.outcome is EventOutcome.OK and p.event != outer.id
    ]
    assert usages == [
        Usage(input_tokens=3, output_tokens=4),
        Usage(input_tokens=1, output_tokens=2),
    ]
    assert all(isinstance(event, EventBegun) and event.clock > 0 for event in peer.events)


@both
def test_a_failure_tells_type_and_message(stepper_kind: str, core: ScriptedCore) -> None:
    async def scenario(dbg: Any) -> None:
        with pytest.raises(OSError, match="disk full"):
            async with dbg.tool("write", {}):
                raise OSError("disk full")

    run(stepper_kind, core, scenario)
    peer = core.wait_for_peer()
    peer.wait_until_gone()
    failure = peer.halt_points[-1].failure
    assert failure is not None
    assert (failure.type, failure.message) == ("OSError", "disk full")
    assert bytes(peer.halt_points[-1].data) == b"null"


@both
def test_a_failure_tells_the_agent_s_own_frames(stepper_kind: str, core: ScriptedCore) -> None:
    def write_it() -> None:
        raise OSError("disk full")

    async def scenario(dbg: Any) -> None:
        with pytest.raises(OSError, match="disk full"):
            async with dbg.tool("write", {}):
                write_it()

    run(stepper_kind, core, scenario)
    peer = core.wait_for_peer()
    peer.wait_until_gone()
    told = peer.halt_points[-1].traceback
    assert told.splitlines()[-2].endswith("in write_it")
    assert "raise OSError" in told
    assert "/agentstepper_nb/sdk/" not in told


@both
def test_an_injected_error_comes_from_the_one_it_replaces(
    stepper_kind: str, core: ScriptedCore
) -> None:
    async def scenario(dbg: Any) -> None:
        async with dbg.tool("divide", {}):
            raise ZeroDivisionError("x")

    core.policy = ScriptedAnswers(START, STEP, DenyAnswer(reason="no more"))
    with pytest.raises(ToolDeniedError, match="no more") as caught:
        run(stepper_kind, core, scenario)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


@both
def test_nothing_stays_open_after_a_refusal(stepper_kind: str, core: ScriptedCore) -> None:
    async def scenario(dbg: Any) -> None:
        with pytest.raises(ToolDeniedError):
            await dbg.begin_tool_invocation_breakpoint("rm", {})
        with pytest.raises(RuntimeError, match="hasn't begun"):
            await dbg.end_tool_invocation_breakpoint("r")

    core.policy = ScriptedAnswers(START, DenyAnswer(reason="no"))
    run(stepper_kind, core, scenario)


@both
def test_edits_that_are_no_tool_call_never_reach_the_agent(
    stepper_kind: str, core: ScriptedCore
) -> None:
    from agentstepper_nb import ProtocolError

    async def scenario(dbg: Any) -> None:
        with pytest.raises(ProtocolError, match="Tool"):
            await dbg.begin_tool_invocation_breakpoint("rm", {})

    core.policy = ScriptedAnswers(START, make_edit_answer('{"Tool":"rm"}'))
    run(stepper_kind, core, scenario)
    peer = core.wait_for_peer()
    peer.wait_until_gone()
    assert peer.halt_points[-1].outcome is EventOutcome.ERROR


def test_frames_that_are_too_long_are_left_out_by_whole_lines(tmp_path: Path) -> None:
    calls = [*(f"f{n + 1}()" for n in range(29)), "1 / 0"]
    file = tmp_path / "deep.py"
    lines = (f"def f{n}(): return {call}  # {'s' * 900}" for n, call in enumerate(calls))
    file.write_text("\n".join(lines))
    with pytest.raises(ZeroDivisionError) as caught:
        runpy.run_path(str(file))["f0"]()
    told = format_agent_frames(caught.value).splitlines()
    assert 10 < len(told) < 60
    assert all(line.startswith("  ") for line in told)
