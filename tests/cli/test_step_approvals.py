"""What a person is shown where a call asks for an approval, and what counts as a yes, without a Core."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec.structs import replace

from agentstepper_nb.cli.step_commands import StepCommands
from agentstepper_nb.cli.step_session import StepSession
from agentstepper_nb.protocol import ui
from agentstepper_nb.protocol.data_model import (
    ApprovalPrompt,
    EventKind,
    EventSide,
    Risk,
    Run,
    RunMode,
    RunState,
)
from agentstepper_nb.protocol.step_targets import StepKind, StepTarget
from tests.cli.step_harness import HALTED, ROW, RUN, StepSessionHarness, halted

CALL = '{"Tool": "run_command", "Argument": {"command": "rm -r build"}}'
DELETES = ApprovalPrompt(risk=Risk.MEDIUM, why="It deletes files.", rule="rm -r *")


def asking(risk: Risk = Risk.MEDIUM, data: str = CALL, run: Run = HALTED) -> StepSessionHarness:
    """Halted by what asks for an approval."""
    harness = StepSessionHarness()
    run = replace(run, mode=RunMode.CONTINUE)
    harness.hello(run)
    harness.open_run(run, replace(ROW, approval=True))
    harness.push_halt(data, approval=replace(DELETES, risk=risk))
    return harness


def test_what_is_asked_is_told_and_how_to_answer() -> None:
    shown = asking().take_shown().splitlines()
    *_, prompt = shown
    asks, always, halted = shown[3:6]
    assert asks == "Asks for approval, medium risk: It deletes files."
    assert always == "“a always” allows such calls from now on: rm -r *"
    assert halted.startswith("Halted at 1")
    assert prompt.startswith("[a]pprove [a always] [deny WHY]")


def test_it_is_approved_or_denied() -> None:
    harness = asking()
    for line, always in (("a", False), ("a always", True), ("approve always", True)):
        harness.keys.execute_line(line)
        sent = harness.answers(ui.CommandDone())
        assert sent == ui.ApproveCall(run="r1", halt_point="b1", revision=1, always=always)
    harness.keys.execute_line("deny Not  today, 3 times.")
    sent = harness.answers(ui.CommandDone())
    assert sent == ui.DenyCall(run="r1", halt_point="b1", revision=1, reason="Not  today, 3 times.")


QUERY, TOOL = EventKind.LLM_QUERY, EventKind.TOOL_INVOCATION


@pytest.mark.parametrize(
    ("line", "target"),
    [
        *((line, {"kind": StepKind.INTO}) for line in ("s", "step", "into")),
        *((line, {"kind": StepKind.OVER}) for line in ("n", "next", "over")),
        *((line, {"kind": StepKind.OUT}) for line in ("r", "return", "out")),
        ("to query", {"kind": StepKind.TO, "event_kind": QUERY, "side": EventSide.BEGIN}),
        ("to tool", {"kind": StepKind.TO, "event_kind": TOOL, "side": EventSide.BEGIN}),
        (
            "to tool run tests",
            {
                "kind": StepKind.TO,
                "event_kind": TOOL,
                "side": EventSide.BEGIN,
                "name": "run tests",
            },
        ),
    ],
)
def test_the_steps(line: str, target: dict[str, Any]) -> None:
    harness = halted()
    for freeze_others in (False, True):
        harness.keys.execute_line(line)
        stepped = harness.answers(ui.CommandDone())
        expected = StepTarget(freeze_others=freeze_others, **target)
        assert stepped == ui.StepRun(run="r1", halt_point="b1", revision=1, target=expected)
        harness.keys.execute_line("freeze")
        others = "go on" if freeze_others else "wait"
        assert f"Other agents, tasks and threads {others} while one steps." in harness.take_shown()


@pytest.mark.parametrize("line", ["to", "to there"])
def test_a_run_goes_on_to_what_there_is(line: str) -> None:
    harness = halted()
    before = list(harness.sent)
    harness.keys.execute_line(line)
    assert "Say what to run to: to query, to tool, or to tool NAME." in harness.take_shown()
    assert harness.sent == before


@pytest.mark.parametrize(
    ("step", "shown"),
    [
        ({"kind": StepKind.OVER, "event": "e", "name": "test"}, "Stepping over test. h halts it."),
        ({"kind": StepKind.OUT, "event": "e", "event_kind": TOOL}, "Stepping out of tool call."),
        ({"kind": StepKind.OUT}, "Stepping out to the end."),
        ({"kind": StepKind.TO, "event_kind": QUERY}, "Running to the next LLM query."),
        (
            {"kind": StepKind.TO, "name": "test", "side": EventSide.END},
            "Running to the end of the next test.",
        ),
    ],
)
def test_it_says_how_far_a_run_steps(step: dict[str, Any], shown: str) -> None:
    harness = halted()
    harness.keys.execute_line("n")
    running = replace(RUN, state=RunState.STEP, step=StepTarget(scope=(), **step))
    harness.push(ui.RunChanged(run=running))
    harness.answers(ui.CommandDone())
    assert shown in harness.take_shown()


@pytest.mark.parametrize("risk", [Risk.MEDIUM, Risk.HIGH])
@pytest.mark.parametrize("line", [*("n", "next", "s", "step", "n Not today.", "s 1"), *("", " ")])
def test_no_step_and_no_enter_is_a_yes_or_a_no(line: str, risk: Risk) -> None:
    harness = asking(risk)
    sent = list(harness.sent)
    for _ in range(20):
        harness.take_shown()
        harness.keys.execute_line(line)
        *_, prompt = harness.take_shown().splitlines()
        assert prompt.startswith("[a]pprove")
    assert harness.sent == sent


def test_a_step_leaves_what_asks_and_shows_what_else_waits() -> None:
    run = replace(HALTED, pending=("b1", "b2"))
    harness = asking(run=run)
    other = replace(ROW, id="b2", seq=2, event="e2")
    harness.push(ui.RowChanged(run="r1", row=other))
    harness.keys.execute_line("s")
    assert (
        "A step never approves: press a to approve this call, or deny WHY to deny it."
        in harness.take_shown()
    )
    harness.push_halt(message="b2")
    harness.keys.execute_line("s")
    stepped = harness.answers(ui.CommandDone())
    assert stepped == ui.StepRun(
        run="r1", halt_point="b2", revision=1, target=StepTarget(kind=StepKind.INTO)
    )
    harness.push(ui.RunChanged(run=HALTED))
    harness.push_halt(CALL, approval=DELETES)
    assert harness.take_shown().splitlines()[-1].startswith("[a]pprove")


@pytest.mark.parametrize("key", ["a", "approve", "a always"])
def test_what_is_of_high_risk_is_approved_by_two_gestures(key: str) -> None:
    harness = asking(Risk.HIGH)
    before = list(harness.sent)
    for wrong in ("a", "", " ", "s", "y", "yes", "approve", key, "Run_Command"):
        harness.keys.execute_line(key)
        assert (
            "High risk: type “run_command” and Enter to approve; any other text cancels"
            in harness.take_shown()
        )
        harness.keys.execute_line(wrong)
        assert "Nothing was approved." in harness.take_shown()
        assert harness.sent == before
    harness.keys.execute_line(key)
    harness.keys.execute_line(" run_command ")
    sent = harness.answers(ui.CommandDone())
    always = key.endswith("always")
    assert sent == ui.ApproveCall(
        run="r1", halt_point="b1", revision=1, always=always, confirmed=True
    )


@pytest.mark.parametrize(
    "tool", ["a", "s", "approve", "deny", "rm -r", "löschen", "x" * 60, "\n", "", 7]
)
def test_a_tool_whose_name_cannot_confirm(tool: str | int) -> None:
    harness = asking(Risk.HIGH, json.dumps({"Tool": tool, "Argument": None}))
    before = list(harness.sent)
    harness.keys.execute_line("a")
    assert "type “I approve” and Enter" in harness.take_shown()
    harness.keys.execute_line(str(tool))
    assert harness.sent == before
    harness.keys.execute_line("a")
    harness.keys.execute_line("I approve")
    assert harness.answers(ui.CommandDone()) == ui.ApproveCall(
        run="r1", halt_point="b1", revision=1, confirmed=True
    )


def test_a_call_that_was_edited_meanwhile_is_not_confirmed() -> None:
    harness = asking(Risk.HIGH)
    harness.keys.execute_line("a")
    harness.push(ui.RowChanged(run="r1", row=replace(ROW, approval=True, revision=2, edited=True)))
    harness.push_halt('{"Tool": "run_command", "Argument": "rm -r /"}', 2, approval=DELETES)
    before = list(harness.sent)
    harness.keys.execute_line("run_command")
    assert (
        "The call was already answered, or edited elsewhere.\nNothing was approved."
        in harness.take_shown()
    )
    assert harness.sent == before


def test_what_was_typed_before_a_question_is_no_answer_to_it() -> None:
    typed = ["a"]
    harness = StepSessionHarness()
    harness.session = StepSession(harness.session.screen, harness._send, None, typed.clear)
    harness.keys = StepCommands(harness.session)
    harness.hello(HALTED)
    harness.open_run(HALTED, replace(ROW, approval=True))
    assert typed == ["a"]
    harness.push_halt(CALL, approval=DELETES)
    assert typed == []


def test_a_word_with_a_wrong_letter() -> None:
    harness = halted()
    harness.keys.execute_line("contineu")
    assert (
        "contineu is not a command: ? lists the commands. Did you mean “continue”?"
        in harness.take_shown()
    )


def test_the_reason_may_come_as_a_line_of_its_own() -> None:
    harness = asking()
    harness.keys.execute_line("deny")
    harness.keys.execute_line(" Not today. ")
    assert harness.answers(ui.CommandDone()) == ui.DenyCall(
        run="r1", halt_point="b1", revision=1, reason="Not today."
    )
    sent = list(harness.sent)
    harness.take_shown()
    harness.keys.execute_line("deny")
    harness.keys.execute_line("")
    assert "Nothing was sent." in harness.take_shown()
    harness.keys.execute_line("deny")
    harness.session.halted = None
    harness.keys.execute_line("Too late.")
    assert "answered or edited meanwhile, so that nothing was sent." in harness.take_shown()
    harness.keys.execute_line("deny")
    assert "Only the message at which the agent is halted can be answered." in harness.take_shown()
    assert harness.sent == sent


def test_what_asks_for_nothing_is_not_approved() -> None:
    harness = halted()
    sent = list(harness.sent)
    harness.keys.execute_line("a")
    assert "No call asks for an approval here. Press s to step." in harness.take_shown()
    harness = asking()
    harness.take_shown()
    harness.keys.execute_line("a never")
    assert (
        "Press a to approve, or “a always” to allow such calls from now on." in harness.take_shown()
    )
    assert harness.sent[-1] == sent[-1]


def test_to_continue_leaves_what_asks() -> None:
    harness = asking()
    harness.take_shown()
    harness.keys.execute_line("c")
    assert harness.answers(ui.CommandDone()) == ui.ContinueRun(
        run="r1", halt_point="b1", revision=1
    )
    first, prompt = harness.take_shown().splitlines()
    assert first == "The agent continues. Calls that ask for approval still wait."
    assert prompt.startswith("[a]pprove")
