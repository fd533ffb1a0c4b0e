"""What a person is shown where a call asks for an approval, and what counts as a yes, without a Core."""

from __future__ import annotations

import json

import pytest
from msgspec.structs import replace

from agentstepper_nb.cli.step_commands import StepCommands
from agentstepper_nb.cli.step_session import StepSession
from agentstepper_nb.protocol import ui
from agentstepper_nb.protocol.data_model import (
    ApprovalPrompt,
    Risk,
    Run,
    RunMode,
)
from tests.cli.step_harness import HALTED, ROW, StepSessionHarness, halted

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


@pytest.mark.parametrize("key", ["n", "next", "s", "step"])
def test_n_is_next(key: str) -> None:
    harness = halted()
    harness.keys.execute_line(key)
    assert harness.answers(ui.CommandDone()) == ui.StepRun(run="r1", halt_point="b1", revision=1)


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
    assert harness.answers(ui.CommandDone()) == ui.StepRun(run="r1", halt_point="b2", revision=1)
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
    assert "Nothing was denied." in harness.take_shown()
    harness.keys.execute_line("deny")
    harness.session.halted = None
    harness.keys.execute_line("Too late.")
    assert "The agent already continued, so that nothing was denied." in harness.take_shown()
    harness.keys.execute_line("deny")
    assert "Only a call at which the agent is halted can be denied." in harness.take_shown()
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
