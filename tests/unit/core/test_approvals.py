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
from tests.helpers.debugger_harness import TOOL_CALL_JSON, DebuggerHarness, SentAnswer

EDIT = '{"Tool": "ls", "Argument": {"path": "/"}}'


@pytest.fixture
def harness() -> DebuggerHarness:
    """A run that continues."""
    harness = DebuggerHarness()
    harness.start(mode=RunMode.CONTINUE)
    return harness


def answers(harness: DebuggerHarness) -> list[HaltPointAnswered]:
    return [record for record in harness.records if isinstance(record, HaltPointAnswered)]


# ---- asking -----------------------------------------------------------------------------------------


def test_a_run_may_begin_by_continuing(harness: DebuggerHarness) -> None:
    assert (harness.state(), harness.run().mode) == (RunState.CONTINUE, RunMode.CONTINUE)
    assert harness.debugger.lease("run").mode is RunMode.CONTINUE
    _, passed = harness.begin_query()
    assert harness.answers == [SentAnswer(passed)]


def test_what_asks_waits_and_the_rest_goes_on(harness: DebuggerHarness) -> None:
    asked = harness.request_approval()
    _, passed = harness.begin_query()
    assert harness.run().pending == (asked,)
    assert harness.answers == [SentAnswer(passed)]
    assert harness.run().agent_state is AgentActivity.HALTED
    harness.approve(asked)
    assert (harness.state(), harness.run().agent_state) == (
        RunState.CONTINUE,
        AgentActivity.TOOL_EXECUTING,
    )


def test_one_that_nobody_waits_at_is_passed(harness: DebuggerHarness) -> None:
    passed = harness.request_approval(waits=False)
    assert harness.run().pending == ()
    assert harness.find_halt_point(passed).answer is AnswerKind.RESUME


def test_a_stop_that_hits_where_it_is_asked_changes_the_mode(harness: DebuggerHarness) -> None:
    harness.set_breakpoint(BreakpointRule(id="s"))
    harness.request_approval()
    assert (harness.state(), harness.run().mode) == (RunState.HALTED, RunMode.STEP)


def test_a_run_that_is_to_stop_is_not_asked(harness: DebuggerHarness) -> None:
    harness.stop()
    asked = harness.request_approval()
    assert harness.answers == [SentAnswer(asked, AnswerKind.STOP)]


@pytest.mark.parametrize("kind", [EventKind.LLM_QUERY, EventKind.CUSTOM, EventKind.PROGRAM_STARTED])
def test_only_calls_of_tools_ask(harness: DebuggerHarness, kind: EventKind) -> None:
    event = harness.begin(kind, name="retrieval")
    with pytest.raises(AgentStepperError, match="Only the begin halt point of a tool") as refused:
        harness.reach(event, approval=ApprovalPrompt(risk=Risk.LOW, why="No reason."))
    assert refused.value.code == "invalid_message"
    harness.reach(event)  # nothing has happened


def test_a_result_asks_for_nothing(harness: DebuggerHarness) -> None:
    event = harness.begin(EventKind.TOOL_INVOCATION)
    harness.reach(event, data=TOOL_CALL_JSON, waits=False)
    with pytest.raises(AgentStepperError, match="Only the begin halt point of a tool"):
        harness.reach(
            event, EventSide.END, approval=ApprovalPrompt(risk=Risk.LOW, why="No reason.")
        )


# ---- a person ---------------------------------------------------------------------------------------


def test_it_is_approved_with_an_edit_and_for_always(harness: DebuggerHarness) -> None:
    asked = harness.request_approval()
    harness.approve(asked, 1, EDIT, always=True)
    assert harness.answers == [SentAnswer(asked, edit=EDIT)]
    (answered,) = answers(harness)
    assert (answered.answer, answered.always, answered.reason) == (AnswerKind.RESUME, True, None)


def test_an_edit_that_stands_is_approved_with_it(harness: DebuggerHarness) -> None:
    asked = harness.request_approval()
    harness.edit(asked, EDIT, 1)
    with pytest.raises(StaleError, match="has edited this message"):
        harness.approve(asked, 1)
    harness.approve(asked, 2)
    assert harness.answers == [SentAnswer(asked, edit=EDIT)]


@pytest.mark.parametrize("kind", [EventKind.LLM_QUERY, EventKind.CUSTOM, EventKind.TOOL_INVOCATION])
def test_what_begins_is_denied_whether_it_asks_or_not(kind: EventKind) -> None:
    harness = DebuggerHarness()
    harness.start()
    begun = harness.reach(harness.begin(kind, name="retrieval"), data=TOOL_CALL_JSON)
    harness.deny(begun, reason="Not today.")
    assert harness.answers == [SentAnswer(begun, AnswerKind.DENY)]
    (answered,) = answers(harness)
    assert (answered.answer, answered.reason) == (AnswerKind.DENY, "Not today.")
    assert (harness.state(), harness.run().agent_state) == (RunState.STEP, AgentActivity.RUNNING)


def test_an_answer_is_not_denied() -> None:
    harness = DebuggerHarness()
    harness.start()
    event, _ = harness.begin_query()
    harness.step()
    ended = harness.reach(event, EventSide.END)
    before = list(harness.records)
    with pytest.raises(AgentStepperError, match="Only a call that hasn't been made") as refused:
        harness.deny(ended)
    assert (refused.value.code, harness.records) == ("cannot_deny", before)
    started = harness.reach(harness.begin(EventKind.PROGRAM_STARTED))
    with pytest.raises(AgentStepperError, match="Only a call that hasn't been made"):
        harness.deny(started)


def test_an_agent_of_version_1_can_not_be_told_of_a_denial() -> None:
    harness = DebuggerHarness()
    harness.start(can_stop=False)
    _, begun = harness.begin_query()
    with pytest.raises(AgentStepperError, match="speaks protocol version 1") as refused:
        harness.deny(begun)
    assert refused.value.code == "cannot_deny"
    assert harness.run().pending == (begun,)


def test_what_asks_for_nothing_is_not_approved() -> None:
    harness = DebuggerHarness()
    harness.start()
    begun = harness.begin_tool_call(TOOL_CALL_JSON)
    with pytest.raises(AgentStepperError, match="doesn't ask for an approval") as refused:
        harness.approve(begun)
    assert refused.value.code == "cannot_approve"
    with pytest.raises(AgentStepperError, match="doesn't ask for an approval"):
        harness.decide(begun)
    assert harness.run().pending == (begun,)


def test_an_edit_that_is_no_call_approves_nothing(harness: DebuggerHarness) -> None:
    asked = harness.request_approval()
    for decides in (harness.approve, harness.decide):
        with pytest.raises(AgentStepperError, match="A tool call must stay") as refused:
            decides(asked, edit="null")
        assert refused.value.code == "invalid_edit"
    assert harness.run().pending == (asked,)
    assert harness.debugger.pending("run")[0].revision == 1


def test_continue_leaves_what_asks_also_where_it_is_named(harness: DebuggerHarness) -> None:
    harness.halt()
    asked = harness.request_approval()
    _, other = harness.begin_query()
    harness.resume(asked, 1, EDIT)
    assert harness.answers == [SentAnswer(other)]
    assert (harness.run().pending, harness.run().mode) == ((asked,), RunMode.CONTINUE)
    assert harness.debugger.pending("run")[0].edit == EDIT
    harness.resume()
    assert harness.run().pending == (asked,)


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("mode", RunMode)
def test_step_never_approves(mode: RunMode, named: bool) -> None:
    harness = DebuggerHarness()
    harness.start(mode=mode)
    asked, later = harness.request_approval(), harness.request_approval()
    before = list(harness.records)
    for _ in range(20):
        with pytest.raises(NeedsApprovalError, match=r"call ls\(\.\) asks.*approve the call") as no:
            harness.step(*([asked, 1, EDIT] if named else []))
        assert (no.value.code, no.value.run, no.value.halt_point) == (
            "needs_approval",
            "run",
            asked,
        )
    assert (harness.records, harness.answers) == (before, [])
    assert (harness.run().pending, harness.run().mode) == ((asked, later), mode)


def test_step_passes_what_asks_over(harness: DebuggerHarness) -> None:
    harness.halt()
    asked = harness.request_approval()
    (_, first), (_, second) = harness.begin_query(), harness.begin_query()
    harness.step()
    assert harness.answers == [SentAnswer(first)]
    harness.step(second)
    assert harness.answers == [SentAnswer(first), SentAnswer(second)]
    assert harness.run().pending == (asked,)
    with pytest.raises(NeedsApprovalError):
        harness.step()


def test_a_step_that_is_stale_says_so_before_all_else(harness: DebuggerHarness) -> None:
    asked = harness.request_approval()
    harness.edit(asked, EDIT)
    with pytest.raises(StaleError):
        harness.step(asked, 1)


def test_a_stop_that_halts_at_what_asks_leaves_the_approval_asked(harness: DebuggerHarness) -> None:
    harness.set_breakpoint(BreakpointRule(id="s"))
    asked = harness.request_approval()
    with pytest.raises(NeedsApprovalError):
        harness.step()
    harness.delete_breakpoint("s")
    harness.resume()
    assert (harness.run().pending, harness.answers) == ((asked,), [])


def test_an_edit_approves_nothing(harness: DebuggerHarness) -> None:
    asked = harness.request_approval()
    harness.edit(asked, EDIT)
    harness.edit(asked, None)
    harness.halt()
    assert (harness.run().pending, harness.answers) == ((asked,), [])


@pytest.mark.parametrize("edit", [None, EDIT])
def test_what_is_of_high_risk_is_approved_by_who_confirms(
    harness: DebuggerHarness, edit: str | None
) -> None:
    asked = harness.request_approval(risk=Risk.HIGH)
    before = list(harness.records)
    with pytest.raises(AgentStepperError, match=r"The call ls\(\.\) was not approved") as refused:
        harness.approve(asked, edit=edit, always=True)
    assert refused.value.code == "needs_confirmation"
    assert (harness.records, harness.answers, harness.run().pending) == (before, [], (asked,))
    harness.approve(asked, edit=edit, confirmed=True)
    assert harness.answers == [SentAnswer(asked, edit=edit)]


def test_to_confirm_is_not_to_have_seen(harness: DebuggerHarness) -> None:
    asked = harness.request_approval(risk=Risk.HIGH)
    harness.edit(asked, EDIT)
    with pytest.raises(StaleError):
        harness.approve(asked, 1, confirmed=True)
    with pytest.raises(AgentStepperError, match="doesn't ask for an approval"):
        harness.halt()
        harness.approve(harness.begin_query()[1], confirmed=True)


@pytest.mark.parametrize("risk", [Risk.LOW, Risk.MEDIUM])
def test_lower_risks_need_no_confirmation(harness: DebuggerHarness, risk: Risk) -> None:
    asked = harness.request_approval(risk=risk)
    harness.approve(asked)
    assert harness.answers == [SentAnswer(asked)]


# ---- the agent's own --------------------------------------------------------------------------------


def test_what_is_decided_at_the_agent_is_answered_from_here(harness: DebuggerHarness) -> None:
    first, second = harness.request_approval(), harness.request_approval()
    harness.decide(second, "Too dangerous.")
    harness.decide(first, edit=EDIT, always=True)
    assert harness.answers == [SentAnswer(second, AnswerKind.DENY), SentAnswer(first, edit=EDIT)]
    assert [(each.reason, each.always) for each in answers(harness)] == [
        ("Too dangerous.", False),
        (None, True),
    ]


def test_who_decides_at_the_agent_approves_what_they_saw(harness: DebuggerHarness) -> None:
    """The edit that a person has made here isn't seen there."""
    asked = harness.request_approval()
    harness.edit(asked, EDIT)
    harness.decide(asked)
    assert harness.answers == [SentAnswer(asked)]
    edits = [record for record in harness.records if isinstance(record, HaltPointEdited)]
    assert [(each.revision, each.edit) for each in edits] == [(2, EDIT), (3, None)]


def test_a_denial_is_for_this_once(harness: DebuggerHarness) -> None:
    asked = harness.request_approval()
    harness.decide(asked, "no", always=True)
    (answered,) = answers(harness)
    assert (answered.answer, answered.reason, answered.always) == (AnswerKind.DENY, "no", False)


def test_the_same_call_is_no_edit(harness: DebuggerHarness) -> None:
    asked = harness.request_approval()
    harness.decide(asked, edit=TOOL_CALL_JSON)
    assert harness.answers == [SentAnswer(asked)]
    assert not any(isinstance(record, HaltPointEdited) for record in harness.records)


def test_what_crosses_is_no_error(harness: DebuggerHarness) -> None:
    asked = harness.request_approval()
    harness.approve(asked)
    before = list(harness.records)
    harness.decide(asked, "Too late.")
    harness.decide("unheard of")
    assert harness.records == before


Does = Callable[[DebuggerHarness, str], None]
DECISIONS: dict[str, Does] = {
    "approve": lambda harness, asked: harness.approve(asked),
    "deny": lambda harness, asked: harness.deny(asked),
    "approved there": lambda harness, asked: harness.decide(asked, edit=EDIT),
    "denied there": lambda harness, asked: harness.decide(asked, "No."),
    "withdraw": lambda harness, asked: harness.withdraw(asked),
    "continue": lambda harness, asked: harness.resume(),
}
#: Who is told that it was answered before.
PEOPLE = ("approve", "deny")


#: What the agent hears where one of these is first.
HEARD: dict[str, list[SentAnswer]] = {
    "approve": [SentAnswer("b")],
    "deny": [SentAnswer("b", AnswerKind.DENY)],
    "approved there": [SentAnswer("b", edit=EDIT)],
    "denied there": [SentAnswer("b", AnswerKind.DENY)],
    "withdraw": [],
}


@pytest.mark.parametrize("first", DECISIONS)
def test_in_whatever_order_they_come_one_decides(first: str) -> None:
    for rest in permutations(sorted(set(DECISIONS) - {first})):
        harness = DebuggerHarness()
        harness.start(mode=RunMode.CONTINUE)
        asked = harness.request_approval(id="b")
        decided: str | None = None
        for name in (first, *rest):
            if decided is not None and name in PEOPLE:
                with pytest.raises(StaleError):
                    DECISIONS[name](harness, asked)
                continue
            DECISIONS[name](harness, asked)
            if name != "continue":
                decided = decided or name
        assert len(answers(harness)) == 1
        assert harness.answers == HEARD[decided or ""]
        assert harness.state() is RunState.CONTINUE


# ---- how it is told ---------------------------------------------------------------------------------


def test_its_row_says_what_is_asked_and_what_came_of_it(harness: DebuggerHarness) -> None:
    asked = harness.request_approval()
    (pending,) = harness.debugger.pending("run")
    told = make_row(pending)
    assert (told.summary, told.approval, told.pending) == ("Asks: ls(.)", True, True)
    harness.deny(asked, reason="Too\ndangerous. " + "x" * 300)
    denied = make_row(harness.sent_halt_points[-1])
    assert (denied.summary, denied.reason) == ("Denied: Too", "Too")
    assert denied.answer is AnswerKind.DENY


@pytest.mark.parametrize("reason", ["", "Not today."])
def test_a_denial_without_a_reason_names_the_call(harness: DebuggerHarness, reason: str) -> None:
    harness.deny(harness.request_approval(), reason=reason)
    assert make_row(harness.sent_halt_points[-1]).summary == f"Denied: {reason or 'ls(.)'}"


def test_an_approved_call_reads_as_any(harness: DebuggerHarness) -> None:
    harness.approve(harness.request_approval())
    told = make_row(harness.sent_halt_points[-1])
    assert (told.summary, told.approval, told.reason) == ("ls(.)", True, None)
