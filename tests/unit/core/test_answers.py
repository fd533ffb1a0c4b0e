"""Answers in a call's place, and guides: what a person may say where, and what is recorded of it."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from msgspec import UNSET

from agentstepper_nb.core import make_row
from agentstepper_nb.core.guides import add_guide
from agentstepper_nb.errors import AgentStepperError
from agentstepper_nb.protocol.data_model import AnswerKind, EventKind, EventSide, Failure, RunMode
from tests.helpers.debugger_harness import (
    TOOL_CALL_JSON,
    DebuggerHarness,
    replay_states,
    round_trip,
)


@pytest.fixture
def harness() -> DebuggerHarness:
    harness = DebuggerHarness()
    harness.start()
    return harness


def skip(harness: DebuggerHarness, point: str, result: str = "7") -> None:
    answers = harness.debugger.commands.answers
    harness.perform(answers.skip("run", harness.now, point, 1, result))


def raise_error(harness: DebuggerHarness, point: str, type: str = "ValueError") -> None:
    answers = harness.debugger.commands.answers
    harness.perform(answers.raise_error("run", harness.now, point, 1, "no luck", type))


def guide(harness: DebuggerHarness, point: str, text: str, revision: int = 1) -> None:
    harness.perform(harness.debugger.commands.answers.guide("run", point, revision, text))


# ---- skip and raise ---------------------------------------------------------------------------------


def test_a_skipped_call_has_the_result_in_its_record(harness: DebuggerHarness) -> None:
    point = harness.begin_tool_call(TOOL_CALL_JSON)
    skip(harness, point, '{"n": 1.0}')
    answered = harness.sent_halt_points[-1]
    assert (answered.answer, answered.supplied) == (AnswerKind.SKIP, '{"n": 1.0}')
    assert harness.answers[-1].answer is AnswerKind.SKIP
    assert make_row(answered).summary.startswith("Skipped: ")
    assert harness.run().mode is RunMode.STEP


@pytest.mark.parametrize("side", EventSide)
def test_an_exception_stands_in_the_record_on_either_side(
    side: EventSide, harness: DebuggerHarness
) -> None:
    event, point = harness.begin_query()
    if side is EventSide.END:
        harness.step()
        point = harness.reach(event, EventSide.END)
    raise_error(harness, point)
    answered = harness.sent_halt_points[-1]
    assert answered.raised == Failure(type="ValueError", message="no luck")
    assert make_row(answered).summary == "Raised by a person: ValueError: no luck"


@pytest.mark.parametrize("answer", [skip, raise_error])
def test_what_asks_for_an_approval_may_be_answered_so(
    answer: Callable[[DebuggerHarness, str], None], harness: DebuggerHarness
) -> None:
    asked = harness.request_approval()
    answer(harness, asked)
    assert harness.run().pending == ()
    assert harness.answers[-1].answer in (AnswerKind.SKIP, AnswerKind.RAISE)


def test_a_result_has_to_be_strict_json_without_marks(harness: DebuggerHarness) -> None:
    point = harness.begin_tool_call(TOOL_CALL_JSON)
    for wrong in ("NaN", "{", '{"$repr": "<socket>", "$ref": 1}'):
        with pytest.raises(AgentStepperError) as refused:
            skip(harness, point, wrong)
        assert refused.value.code == "invalid_edit"
    assert harness.run().pending == (point,)


def end_of_query(harness: DebuggerHarness) -> str:
    event, _ = harness.begin_query()
    harness.step()
    return harness.reach(event, EventSide.END)


def program_start(harness: DebuggerHarness) -> str:
    return harness.reach(harness.begin(EventKind.PROGRAM_STARTED, data='"P"'))


@pytest.mark.parametrize(
    ("reach", "answer", "code"),
    [
        (end_of_query, skip, "cannot_skip"),
        (program_start, skip, "cannot_skip"),
        (program_start, raise_error, "cannot_raise"),
    ],
)
def test_only_calls_are_answered_so(
    reach: Callable[[DebuggerHarness], str],
    answer: Callable[[DebuggerHarness, str], None],
    code: str,
    harness: DebuggerHarness,
) -> None:
    point = reach(harness)
    before = list(harness.records)
    with pytest.raises(AgentStepperError) as refused:
        answer(harness, point)
    assert (refused.value.code, harness.records) == (code, before)


@pytest.mark.parametrize(("answer", "code"), [(skip, "cannot_skip"), (raise_error, "cannot_raise")])
def test_an_agent_of_version_1_cant_be_told(
    answer: Callable[[DebuggerHarness, str], None], code: str
) -> None:
    harness = DebuggerHarness()
    harness.start(can_stop=False)
    _, point = harness.begin_query()
    with pytest.raises(AgentStepperError, match="version 1") as refused:
        answer(harness, point)
    assert (refused.value.code, harness.run().pending) == (code, (point,))


def test_the_second_of_two_people_is_late(harness: DebuggerHarness) -> None:
    point = harness.begin_tool_call(TOOL_CALL_JSON)
    skip(harness, point)
    with pytest.raises(AgentStepperError, match="answered already"):
        raise_error(harness, point)


# ---- guides -----------------------------------------------------------------------------------------


def test_a_guide_is_an_edit_that_is_known_as_one(harness: DebuggerHarness) -> None:
    event = harness.begin()
    prompt = '{"model":"m","messages":[{"role":"user","content":"hi"}],"n":1.0}'
    point = harness.reach(event, data=prompt)
    guide(harness, point, "Look first.")
    pending = harness.sent_halt_points[-1]
    assert pending.edit == (
        '{"model":"m","messages":[{"role":"user","content":"hi"},'
        '{"role":"user","content":"Look first."}],"n":1.0}'
    )
    assert (pending.guides, make_row(pending).guided) == (("Look first.",), True)
    guide(harness, point, "Then test.", revision=2)
    assert harness.sent_halt_points[-1].guides == ("Look first.", "Then test.")
    assert replay_states(round_trip(harness.records)) == harness.debugger._runs


def test_a_guide_that_was_edited_away_is_none(harness: DebuggerHarness) -> None:
    point = harness.reach(harness.begin(), data='"hi"')
    guide(harness, point, "Look first.")
    harness.edit(point, '"hi\\n\\nLook first. Twice."')
    assert harness.sent_halt_points[-1].guides == ("Look first.",)
    harness.edit(point, '"hi there"')
    assert harness.sent_halt_points[-1].guides is UNSET
    assert make_row(harness.sent_halt_points[-1]).edited
    guide(harness, point, "Again.", revision=4)
    harness.edit(point, None)
    assert harness.sent_halt_points[-1].guides is UNSET


@pytest.mark.parametrize("data", ["7", "null", "[1, 2]", '{"x": 1}', '{"messages": 7}', "[NaN]"])
def test_a_prompt_of_another_form_takes_no_guide(data: str, harness: DebuggerHarness) -> None:
    point = harness.reach(harness.begin(), data=data)
    with pytest.raises(AgentStepperError) as refused:
        guide(harness, point, "Look.")
    assert refused.value.code == "cannot_guide"


def test_only_what_was_not_sent_is_guided(harness: DebuggerHarness) -> None:
    for reach in (end_of_query, lambda each: each.begin_tool_call(TOOL_CALL_JSON)):
        point = reach(harness)
        with pytest.raises(AgentStepperError) as refused:
            guide(harness, point, "Look.")
        assert refused.value.code == "cannot_guide"


USER = {"role": "user", "content": "G"}
PART = {"role": "user", "parts": [{"text": "G"}]}
BLOCK = {"role": "user", "content": [{"text": "G"}]}
SAID = {"role": "assistant", "content": "a"}
BLOCKS = {"role": "assistant", "content": [{"type": "text", "text": "a"}]}


@pytest.mark.parametrize(
    ("prompt", "guided"),
    [
        ("p", "p\n\nG"),
        ([], [USER]),
        (["a", "b"], ["a", "b", "G"]),
        ([SAID], [SAID, USER]),
        ({"messages": [SAID]}, {"messages": [SAID, USER]}),
        ({"system": "s", "messages": [BLOCKS]}, {"system": "s", "messages": [BLOCKS, USER]}),
        (
            {"messages": [{"role": "user", "content": [{"text": "a"}]}], "modelId": "m"},
            {"messages": [{"role": "user", "content": [{"text": "a"}]}, BLOCK], "modelId": "m"},
        ),
        ({"input": "q"}, {"input": [{"role": "user", "content": "q"}, USER]}),
        ({"input": [SAID]}, {"input": [SAID, USER]}),
        ({"contents": "q"}, {"contents": [{"role": "user", "parts": [{"text": "q"}]}, PART]}),
        ({"contents": [PART]}, {"contents": [PART, PART]}),
        ({"contents": PART}, {"contents": [PART, PART]}),
        ({"prompt": "q", "n": 1}, {"prompt": "q\n\nG", "n": 1}),
        ({"prompt": [SAID]}, {"prompt": [SAID, USER]}),
        ([PART], [PART, PART]),
        ({"contents": 7, "prompt": "q"}, {"contents": 7, "prompt": "q\n\nG"}),
    ],
    ids=range(16),
)
def test_a_guide_has_the_prompts_own_form(prompt: object, guided: object) -> None:
    made = add_guide(json.dumps(prompt), "G")
    assert made is not None
    assert json.loads(made) == guided


def test_what_stands_in_a_prompt_stays_as_it_is() -> None:
    made = add_guide('{"messages":[{"n": 1e400, "i":12345678901234567890123}]}', "G")
    assert made is not None
    assert made.startswith('{"messages":[{"n": 1e400, "i":12345678901234567890123},')
