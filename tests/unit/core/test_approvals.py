"""What a call asks before it is made, and whoever answers first."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations

import pytest

from agentstepper_nb.core import make_row
from agentstepper_nb.errors import AgentStepperError, NeedsApprovalError, StaleError
from agentstepper_nb.protocol.breakpoint_rules import BreakpointRule
from agentstepper_nb.protocol.data_model import (
    AgentActivity,
    AnswerKind,
    ApprovalPrompt,
    EventKind,
    EventSide,
    Risk,
    RunMode,
    RunState,
)
from agentstepper_nb.protocol.records import HaltPointAnswered, HaltPointEdited
from tests.helpers.stage import CALL, Answered, Stage

EDIT = '{"Tool": "ls", "Argument": {"path": "/"}}'


@pytest.fixture
def stage() -> Stage:
    """A run that continues."""
    stage = Stage()
    stage.start(mode=RunMode.CONTINUE)
    return stage


def answers(stage: Stage) -> list[HaltPointAnswered]:
    return [record for record in stage.records if isinstance(record, HaltPointAnswered)]


# ---- asking -----------------------------------------------------------------------------------------


def test_a_run_may_begin_by_continuing(stage: Stage) -> None:
    assert (stage.state(), stage.run().mode) == (RunState.CONTINUE, RunMode.CONTINUE)
    assert stage.debugger.lease("run").mode is RunMode.CONTINUE
    _, passed = stage.query()
    assert stage.answers == [Answered(passed)]


def test_what_asks_waits_and_the_rest_goes_on(stage: Stage) -> None:
    asked = stage.ask()
    _, passed = stage.query()
    assert stage.run().pending == (asked,)
    assert stage.answers == [Answered(passed)]
    assert stage.run().agent_state is AgentActivity.HALTED
    stage.approve(asked)
    assert (stage.state(), stage.run().agent_state) == (
        RunState.CONTINUE,
        AgentActivity.TOOL_EXECUTING,
    )


def test_one_that_nobody_waits_at_is_passed(stage: Stage) -> None:
    passed = stage.ask(waits=False)
    assert stage.run().pending == ()
    assert stage.point(passed).answer is AnswerKind.RESUME


def test_a_stop_that_hits_where_it_is_asked_changes_the_mode(stage: Stage) -> None:
    stage.set_breakpoint(BreakpointRule(id="s"))
    stage.ask()
    assert (stage.state(), stage.run().mode) == (RunState.HALTED, RunMode.STEP)


def test_a_run_that_is_to_stop_is_not_asked(stage: Stage) -> None:
    stage.stop()
    asked = stage.ask()
    assert stage.answers == [Answered(asked, AnswerKind.STOP)]


@pytest.mark.parametrize("kind", [EventKind.LLM_QUERY, EventKind.CUSTOM, EventKind.PROGRAM_STARTED])
def test_only_calls_of_tools_ask(stage: Stage, kind: EventKind) -> None:
    event = stage.begin(kind, name="retrieval")
    with pytest.raises(AgentStepperError, match="Only the begin halt point of a tool") as refused:
        stage.reach(event, approval=ApprovalPrompt(risk=Risk.LOW, why="No reason."))
    assert refused.value.code == "invalid_message"
    stage.reach(event)  # nothing has happened


def test_a_result_asks_for_nothing(stage: Stage) -> None:
    event = stage.begin(EventKind.TOOL_INVOCATION)
    stage.reach(event, data=CALL, waits=False)
    with pytest.raises(AgentStepperError, match="Only the begin halt point of a tool"):
        stage.reach(event, EventSide.END, approval=ApprovalPrompt(risk=Risk.LOW, why="No reason."))


# ---- a person ---------------------------------------------------------------------------------------


def test_it_is_approved_with_an_edit_and_for_always(stage: Stage) -> None:
    asked = stage.ask()
    stage.approve(asked, 1, EDIT, always=True)
    assert stage.answers == [Answered(asked, edit=EDIT)]
    (answered,) = answers(stage)
    assert (answered.answer, answered.always, answered.reason) == (AnswerKind.RESUME, True, None)


def test_an_edit_that_stands_is_approved_with_it(stage: Stage) -> None:
    asked = stage.ask()
    stage.edit(asked, EDIT, 1)
    with pytest.raises(StaleError, match="has edited this message"):
        stage.approve(asked, 1)
    stage.approve(asked, 2)
    assert stage.answers == [Answered(asked, edit=EDIT)]


@pytest.mark.parametrize("kind", [EventKind.LLM_QUERY, EventKind.CUSTOM, EventKind.TOOL_INVOCATION])
def test_what_begins_is_denied_whether_it_asks_or_not(kind: EventKind) -> None:
    stage = Stage()
    stage.start()
    begun = stage.reach(stage.begin(kind, name="retrieval"), data=CALL)
    stage.deny(begun, reason="Not today.")
    assert stage.answers == [Answered(begun, AnswerKind.DENY)]
    (answered,) = answers(stage)
    assert (answered.answer, answered.reason) == (AnswerKind.DENY, "Not today.")
    assert (stage.state(), stage.run().agent_state) == (RunState.STEP, AgentActivity.RUNNING)


def test_an_answer_is_not_denied() -> None:
    stage = Stage()
    stage.start()
    event, _ = stage.query()
    stage.step()
    ended = stage.reach(event, EventSide.END)
    before = list(stage.records)
    with pytest.raises(AgentStepperError, match="Only a call that hasn't been made") as refused:
        stage.deny(ended)
    assert (refused.value.code, stage.records) == ("cannot_deny", before)
    started = stage.reach(stage.begin(EventKind.PROGRAM_STARTED))
    with pytest.raises(AgentStepperError, match="Only a call that hasn't been made"):
        stage.deny(started)


def test_an_agent_of_version_1_can_not_be_told_of_a_denial() -> None:
    stage = Stage()
    stage.start(can_stop=False)
    _, begun = stage.query()
    with pytest.raises(AgentStepperError, match="speaks protocol version 1") as refused:
        stage.deny(begun)
    assert refused.value.code == "cannot_deny"
    assert stage.run().pending == (begun,)


def test_what_asks_for_nothing_is_not_approved() -> None:
    stage = Stage()
    stage.start()
    begun = stage.call(CALL)
    with pytest.raises(AgentStepperError, match="doesn't ask for an approval") as refused:
        stage.approve(begun)
    assert refused.value.code == "cannot_approve"
    with pytest.raises(AgentStepperError, match="doesn't ask for an approval"):
        stage.decide(begun)
    assert stage.run().pending == (begun,)


def test_an_edit_that_is_no_call_approves_nothing(stage: Stage) -> None:
    asked = stage.ask()
    for decides in (stage.approve, stage.decide):
        with pytest.raises(AgentStepperError, match="A tool call must stay") as refused:
            decides(asked, edit="null")
        assert refused.value.code == "invalid_edit"
    assert stage.run().pending == (asked,)
    assert stage.debugger.pending("run")[0].revision == 1


def test_continue_leaves_what_asks_also_where_it_is_named(stage: Stage) -> None:
    stage.halt()
    asked = stage.ask()
    _, other = stage.query()
    stage.resume(asked, 1, EDIT)
    assert stage.answers == [Answered(other)]
    assert (stage.run().pending, stage.run().mode) == ((asked,), RunMode.CONTINUE)
    assert stage.debugger.pending("run")[0].edit == EDIT
    stage.resume()
    assert stage.run().pending == (asked,)


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("mode", RunMode)
def test_step_never_approves(mode: RunMode, named: bool) -> None:
    stage = Stage()
    stage.start(mode=mode)
    asked, later = stage.ask(), stage.ask()
    before = list(stage.records)
    for _ in range(20):
        with pytest.raises(NeedsApprovalError, match=r"call ls\(\.\) asks.*approve the call") as no:
            stage.step(*([asked, 1, EDIT] if named else []))
        assert (no.value.code, no.value.run, no.value.halt_point) == (
            "needs_approval",
            "run",
            asked,
        )
    assert (stage.records, stage.answers) == (before, [])
    assert (stage.run().pending, stage.run().mode) == ((asked, later), mode)


def test_step_passes_what_asks_over(stage: Stage) -> None:
    stage.halt()
    asked = stage.ask()
    (_, first), (_, second) = stage.query(), stage.query()
    stage.step()
    assert stage.answers == [Answered(first)]
    stage.step(second)
    assert stage.answers == [Answered(first), Answered(second)]
    assert stage.run().pending == (asked,)
    with pytest.raises(NeedsApprovalError):
        stage.step()


def test_a_step_that_is_stale_says_so_before_all_else(stage: Stage) -> None:
    asked = stage.ask()
    stage.edit(asked, EDIT)
    with pytest.raises(StaleError):
        stage.step(asked, 1)


def test_a_stop_that_halts_at_what_asks_leaves_the_approval_asked(stage: Stage) -> None:
    stage.set_breakpoint(BreakpointRule(id="s"))
    asked = stage.ask()
    with pytest.raises(NeedsApprovalError):
        stage.step()
    stage.delete_breakpoint("s")
    stage.resume()
    assert (stage.run().pending, stage.answers) == ((asked,), [])


def test_an_edit_approves_nothing(stage: Stage) -> None:
    asked = stage.ask()
    stage.edit(asked, EDIT)
    stage.edit(asked, None)
    stage.halt()
    assert (stage.run().pending, stage.answers) == ((asked,), [])


@pytest.mark.parametrize("edit", [None, EDIT])
def test_what_is_of_high_risk_is_approved_by_who_confirms(stage: Stage, edit: str | None) -> None:
    asked = stage.ask(risk=Risk.HIGH)
    before = list(stage.records)
    with pytest.raises(AgentStepperError, match=r"The call ls\(\.\) was not approved") as refused:
        stage.approve(asked, edit=edit, always=True)
    assert refused.value.code == "needs_confirmation"
    assert (stage.records, stage.answers, stage.run().pending) == (before, [], (asked,))
    stage.approve(asked, edit=edit, confirmed=True)
    assert stage.answers == [Answered(asked, edit=edit)]


def test_to_confirm_is_not_to_have_seen(stage: Stage) -> None:
    asked = stage.ask(risk=Risk.HIGH)
    stage.edit(asked, EDIT)
    with pytest.raises(StaleError):
        stage.approve(asked, 1, confirmed=True)
    with pytest.raises(AgentStepperError, match="doesn't ask for an approval"):
        stage.halt()
        stage.approve(stage.query()[1], confirmed=True)


@pytest.mark.parametrize("risk", [Risk.LOW, Risk.MEDIUM])
def test_lower_risks_need_no_confirmation(stage: Stage, risk: Risk) -> None:
    asked = stage.ask(risk=risk)
    stage.approve(asked)
    assert stage.answers == [Answered(asked)]


# ---- the agent's own --------------------------------------------------------------------------------


def test_what_is_decided_at_the_agent_is_answered_from_here(stage: Stage) -> None:
    first, second = stage.ask(), stage.ask()
    stage.decide(second, "Too dangerous.")
    stage.decide(first, edit=EDIT, always=True)
    assert stage.answers == [Answered(second, AnswerKind.DENY), Answered(first, edit=EDIT)]
    assert [(each.reason, each.always) for each in answers(stage)] == [
        ("Too dangerous.", False),
        (None, True),
    ]


def test_who_decides_at_the_agent_approves_what_they_saw(stage: Stage) -> None:
    """The edit that a person has made here isn't seen there."""
    asked = stage.ask()
    stage.edit(asked, EDIT)
    stage.decide(asked)
    assert stage.answers == [Answered(asked)]
    edits = [record for record in stage.records if isinstance(record, HaltPointEdited)]
    assert [(each.revision, each.edit) for each in edits] == [(2, EDIT), (3, None)]


def test_a_denial_is_for_this_once(stage: Stage) -> None:
    asked = stage.ask()
    stage.decide(asked, "no", always=True)
    (answered,) = answers(stage)
    assert (answered.answer, answered.reason, answered.always) == (AnswerKind.DENY, "no", False)


def test_the_same_call_is_no_edit(stage: Stage) -> None:
    asked = stage.ask()
    stage.decide(asked, edit=CALL)
    assert stage.answers == [Answered(asked)]
    assert not any(isinstance(record, HaltPointEdited) for record in stage.records)


def test_what_crosses_is_no_error(stage: Stage) -> None:
    asked = stage.ask()
    stage.approve(asked)
    before = list(stage.records)
    stage.decide(asked, "Too late.")
    stage.decide("unheard of")
    assert stage.records == before


Does = Callable[[Stage, str], None]
DECISIONS: dict[str, Does] = {
    "approve": lambda stage, asked: stage.approve(asked),
    "deny": lambda stage, asked: stage.deny(asked),
    "approved there": lambda stage, asked: stage.decide(asked, edit=EDIT),
    "denied there": lambda stage, asked: stage.decide(asked, "No."),
    "withdraw": lambda stage, asked: stage.withdraw(asked),
    "continue": lambda stage, asked: stage.resume(),
}
#: Who is told that it was answered before.
PEOPLE = ("approve", "deny")


#: What the agent hears where one of these is first.
HEARD: dict[str, list[Answered]] = {
    "approve": [Answered("b")],
    "deny": [Answered("b", AnswerKind.DENY)],
    "approved there": [Answered("b", edit=EDIT)],
    "denied there": [Answered("b", AnswerKind.DENY)],
    "withdraw": [],
}


@pytest.mark.parametrize("first", DECISIONS)
def test_in_whatever_order_they_come_one_decides(first: str) -> None:
    for rest in permutations(sorted(set(DECISIONS) - {first})):
        stage = Stage()
        stage.start(mode=RunMode.CONTINUE)
        asked = stage.ask(id="b")
        decided: str | None = None
        for name in (first, *rest):
            if decided is not None and name in PEOPLE:
                with pytest.raises(StaleError):
                    DECISIONS[name](stage, asked)
                continue
            DECISIONS[name](stage, asked)
            if name != "continue":
                decided = decided or name
        assert len(answers(stage)) == 1
        assert stage.answers == HEARD[decided or ""]
        assert stage.state() is RunState.CONTINUE


# ---- how it is told ---------------------------------------------------------------------------------


def test_its_row_says_what_is_asked_and_what_came_of_it(stage: Stage) -> None:
    asked = stage.ask()
    (pending,) = stage.debugger.pending("run")
    told = make_row(pending)
    assert (told.summary, told.approval, told.pending) == ("Asks: ls(.)", True, True)
    stage.deny(asked, reason="Too\ndangerous. " + "x" * 300)
    denied = make_row(stage.told[-1])
    assert (denied.summary, denied.reason) == ("Denied: Too", "Too")
    assert denied.answer is AnswerKind.DENY


@pytest.mark.parametrize("reason", ["", "Not today."])
def test_a_denial_without_a_reason_names_the_call(stage: Stage, reason: str) -> None:
    stage.deny(stage.ask(), reason=reason)
    assert make_row(stage.told[-1]).summary == f"Denied: {reason or 'ls(.)'}"


def test_an_approved_call_reads_as_any(stage: Stage) -> None:
    stage.approve(stage.ask())
    told = make_row(stage.told[-1])
    assert (told.summary, told.approval, told.reason) == ("ls(.)", True, None)
