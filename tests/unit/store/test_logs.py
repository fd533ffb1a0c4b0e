"""A run as text, where the recorded one has nothing to show."""

from __future__ import annotations

from agentstepper_nb.protocol.records import RunHistory
from agentstepper_nb.protocol.values import (
    AnswerKind,
    Breakpoint,
    Ending,
    EventKind,
    Failure,
    Run,
    RunState,
    Side,
)
from agentstepper_nb.store.logs import readable

FAILURE = Failure(type="OSError", message="gone")


def test_a_run_that_crashed_says_how() -> None:
    run = Run(
        id="r",
        name="N",
        program="P",
        started_at=0.0,
        ended_at=60.5,
        state=RunState.IDLE,
        ending=Ending.CRASHED,
        failure=FAILURE,
    )
    point = Breakpoint(
        id="b",
        run="r",
        event="e",
        seq=1,
        side=Side.END,
        kind=EventKind.TOOL_INVOCATION,
        at=60.0,
        data="null",
        failure=FAILURE,
        edit='"mended"',
        answer=AnswerKind.RESUME,
    )
    assert readable(RunHistory(run=run, breakpoints=(point,))).splitlines() == [
        "N (P)",
        "started 1970-01-01T00:00:00.000+00:00",
        "ended 1970-01-01T00:01:00.500+00:00, crashed",
        "OSError: gone",
        "",
        "[1] 1970-01-01T00:01:00.000+00:00 tool invocation, end",
        "null",
        'edited to: "mended"',
        "OSError: gone",
    ]


def test_a_run_that_goes_on() -> None:
    run = Run(id="r", name="N", program="P", started_at=0.0)
    assert readable(RunHistory(run=run)) == "N (P)\nstarted 1970-01-01T00:00:00.000+00:00\n"
