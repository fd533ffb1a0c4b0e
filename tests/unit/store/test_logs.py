"""A run as text: the recorded one, and what that hasn't."""

from __future__ import annotations

from pathlib import Path

from agentstepper_nb.protocol.data_model import (
    AnswerKind,
    ApprovalPrompt,
    EventKind,
    EventSide,
    Failure,
    HaltPoint,
    Risk,
    Run,
    RunEnding,
    RunState,
)
from agentstepper_nb.protocol.records import RunHistory
from agentstepper_nb.protocol.v1 import runfile
from agentstepper_nb.store.archive import render_run_text

RECORDED = Path(__file__).parents[2] / "wire" / "recorded.run"
FAILURE = Failure(type="OSError", message="gone")


def test_the_recorded_run() -> None:
    recorded = runfile.load_run(RECORDED.read_bytes())
    text = render_run_text(recorded)
    assert text.startswith(
        f"{recorded.run.name} (Recorder)\nstarted 2026-11-21T21:10:22.000+00:00\n"
    )
    for line in (
        "[1] 2026-11-21T21:10:22.000+00:00 program started, begin: Agent program started.",
        '"wrote 4 bytes to b.txt"',
        'edited to: {"messages": [{"role": "user", "content": "edited"}]}',
        "[6] 2026-11-21T21:10:24.000+00:00 debug message",
        '"loop finished \\u2713"',
        "commit 97ebd3d5fb4f 2026-11-21T21:10:24.000+00:00 Add b.txt",
        "  added b.txt +1 -0",
        "  changed a.txt +1 -0",
        "  deleted README.md +0 -0",
    ):
        assert line in text.splitlines()
    order = [text.index(word) for word in ("[1]", "[5]", "Add b.txt", "[6]", "[7]")]
    assert order == sorted(order)


def test_a_run_that_crashed_says_how() -> None:
    run = Run(
        id="r",
        name="N",
        program="P",
        started_at=0.0,
        ended_at=60.5,
        state=RunState.IDLE,
        ending=RunEnding.CRASHED,
        failure=FAILURE,
    )
    point = HaltPoint(
        id="b",
        run="r",
        event="e",
        seq=1,
        side=EventSide.END,
        kind=EventKind.TOOL_INVOCATION,
        at=60.0,
        data="null",
        failure=FAILURE,
        edit='"mended"',
        answer=AnswerKind.RESUME,
    )
    assert render_run_text(RunHistory(run=run, halt_points=(point,))).splitlines() == [
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


def test_what_was_asked_and_denied() -> None:
    run = Run(id="r", name="N", program="P", started_at=0.0)
    point = HaltPoint(
        id="b",
        run="r",
        event="e",
        seq=1,
        side=EventSide.BEGIN,
        kind=EventKind.TOOL_INVOCATION,
        at=60.0,
        data="null",
        answer=AnswerKind.DENY,
        approval=ApprovalPrompt(risk=Risk.HIGH, why="It deletes files."),
        reason="Not today.",
    )
    assert render_run_text(RunHistory(run=run, halt_points=(point,))).splitlines()[-3:] == [
        "null",
        "asks for approval, high risk: It deletes files.",
        "denied: Not today.",
    ]


def test_a_run_that_goes_on() -> None:
    run = Run(id="r", name="N", program="P", started_at=0.0)
    assert render_run_text(RunHistory(run=run)) == "N (P)\nstarted 1970-01-01T00:00:00.000+00:00\n"
