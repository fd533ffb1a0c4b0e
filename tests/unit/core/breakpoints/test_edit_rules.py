"""Edit rules: where they match, what they change, and that the record has what they did."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET
from msgspec.structs import replace

from agentstepper_nb.core import make_row
from agentstepper_nb.core.breakpoints import (
    EditRuleEngine,
    RulePoint,
    check_edit_rule,
    dry_run_edit_rule,
)
from agentstepper_nb.errors import AgentStepperError, ProtocolError
from agentstepper_nb.protocol.data_model import (
    AgentLabel,
    AnswerKind,
    EventKind,
    EventSide,
    RunMode,
)
from agentstepper_nb.protocol.edit_rules import EditRuleDefinition, ReplaceText, RuleEdit, SetValue
from tests.helpers.debugger_harness import DebuggerHarness, replay_states, round_trip
from tests.helpers.histories import fold_records

from . import builders

TOOL, QUERY = EventKind.TOOL_INVOCATION, EventKind.LLM_QUERY
BEGIN, END = EventSide.BEGIN, EventSide.END
LIMIT = EditRuleDefinition(
    id="limit", kind=TOOL, side=BEGIN, path="/Argument/limit", change=SetValue(value="5")
)


def call(limit: Any, tool: str = "search") -> str:
    return json.dumps({"Tool": tool, "Argument": {"limit": limit, "big": 2**70}})


def make_rule(
    change: Any, path: str = "", kind: EventKind = QUERY, **fields: Any
) -> EditRuleDefinition:
    return EditRuleDefinition(
        id="r", kind=kind, side=fields.pop("side", END), path=path, change=change, **fields
    )


def apply(
    rule: EditRuleDefinition, data: str, name: str | None = None, agent: str | None = None
) -> Any:
    label = None if agent is None else AgentLabel(name=agent)
    point = RulePoint(rule.kind, rule.side, name, label)
    return EditRuleEngine("P", [rule]).apply(point, data, lambda _: None)


# ---- changes ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "path", "before", "after"),
    [
        (SetValue(value="5"), "/a", '{"b": 1.0,"a": 1}', '{"b":1.0,"a":5}'),
        (SetValue(value="5"), "/a/1", '{"a":[1, 2, 1e400]}', '{"a":[1,5,1e400]}'),
        (SetValue(value="null"), "", '"all"', "null"),
        (SetValue(value='{"x": 1.0}'), "/a~1b/~0", '{"a/b":{"~":1}}', '{"a/b":{"~":{"x": 1.0}}}'),
        (SetValue(value="5"), "/a", '{"b":1}', None),  # never added
        (SetValue(value="5"), "/a/9", '{"a":[1]}', None),
        (SetValue(value="5"), "/a/b", '{"a":"b"}', None),
        (SetValue(value="5.0"), "/a", '{"a":5}', '{"a":5.0}'),
        (SetValue(value="5"), "/a", '{"a": 5}', None),  # nothing would change
        (SetValue(value="5"), "/a", '{"a": NaN}', None),  # no strict JSON
        (ReplaceText(pattern="o+", replacement="0"), "", '"foo boo"', '"f0 b0"'),
        (
            ReplaceText(pattern="(a)b", replacement=r"\1c"),
            "/m",
            '{"m":[{"t":"ab","n":1.0},["xab"]],"ab":"ab"}',
            '{"m":[{"t":"ac","n":1.0},["xac"]],"ab":"ab"}',
        ),
        (ReplaceText(pattern="z"), "", '"foo"', None),
        (ReplaceText(pattern="z"), "", "7", None),
    ],
    ids=range(14),
)
def test_a_change_leaves_the_rest_as_it_is(
    change: Any, path: str, before: str, after: str | None
) -> None:
    assert apply(make_rule(change, path), before).edit == after


def test_patterns_choose_events_and_agents() -> None:
    rule = make_rule(SetValue(value="1"), kind=TOOL, name="run_*", agent="r*")
    assert apply(rule, "0", "run_tests", "reader").rules == ("r",)
    assert not apply(rule, "0", "run_tests", "writer").rules
    assert not apply(rule, "0", "run_tests").rules
    assert not apply(rule, "0", "ls", "reader").rules


def test_rules_edit_what_those_before_made() -> None:
    first = make_rule(ReplaceText(pattern="a", replacement="b"))
    then = EditRuleDefinition(
        id="s", kind=QUERY, side=END, path="", change=ReplaceText(pattern="b+")
    )
    engine = EditRuleEngine("P", [first, then])
    made = engine.apply(RulePoint(QUERY, END, None, None), '"xaba"', lambda _: None)
    assert (made.edit, made.rules) == ('"x"', ("r", "s"))


def test_an_edit_that_the_agent_refuses_is_an_error_and_made_once_later() -> None:
    rule = make_rule(SetValue(value="1"), once=True)
    engine = EditRuleEngine("P", [rule])
    point = RulePoint(QUERY, END, None, None)
    refused = engine.apply(point, "0", lambda _: "limit must be a text")
    assert (refused.edit, refused.rules) == (None, ())
    assert refused.error == "Edit rule “after llm at the whole”: limit must be a text"
    assert [engine.apply(point, "0", lambda _: None).edit for _ in range(2)] == ["1", None]


def test_a_rule_that_is_off_or_of_other_programs_does_nothing() -> None:
    off = make_rule(SetValue(value="1"), enabled=False)
    other = make_rule(SetValue(value="1"), program="Q*")
    assert not EditRuleEngine("P", [off, other]).may_edit(QUERY, END, None)


@pytest.mark.parametrize(
    ("rule", "says"),
    [
        (make_rule(SetValue(value="{")), "isn't JSON"),
        (make_rule(ReplaceText(pattern="(")), "pattern can't be read"),
        (make_rule(ReplaceText(pattern="a", replacement=r"\1")), "replacement can't be read"),
        (make_rule(SetValue(value="1"), "/Tool", TOOL, side=BEGIN), "begins with /Argument"),
        (make_rule(SetValue(value="1"), kind=EventKind.PROGRAM_STARTED), "edited by rules"),
    ],
    ids=range(5),
)
def test_what_can_never_be_made_is_refused(rule: EditRuleDefinition, says: str) -> None:
    with pytest.raises(ProtocolError, match=says) as refused:
        check_edit_rule(rule)
    assert refused.value.code == "invalid_edit_rule"


@given(
    data=st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=3),
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
        ),
        max_leaves=8,
    ),
    path=st.lists(st.sampled_from(["a", "b", "0", "1"]), max_size=3),
)
def test_a_value_is_set_where_the_pointer_leads_and_nowhere_else(
    data: Any, path: list[str]
) -> None:
    rule = make_rule(SetValue(value='"new"'), "".join(f"/{key}" for key in path))
    made = apply(rule, json.dumps(data)).edit
    found, expected = True, ["new"]
    box = copy = json.loads(json.dumps([data]))
    key: Any = 0
    for step in path:
        box = box[key]
        key = int(step) if isinstance(box, list) and step.isdecimal() else step
        is_there = (isinstance(box, dict) and key in box) or (
            isinstance(box, list) and isinstance(key, int) and key < len(box)
        )
        if not is_there:
            found = False
            break
    if found and box[key] != "new":
        box[key], expected = "new", copy
        assert made is not None
        assert json.loads(made) == expected[0]
    else:
        assert made is None


# ---- in the debugger --------------------------------------------------------------------------------


def reach_calls(harness: DebuggerHarness, *limits: Any) -> None:
    for limit in limits:
        event = harness.begin(TOOL, name="search")
        harness.reach(event, data=call(limit))
        if harness.run().pending:
            harness.step()
        harness.reach(event, END, data='"found"', waits=False)


def test_an_edit_that_gets_too_large_ends_a_dry_run() -> None:
    rule = make_rule(ReplaceText(pattern="a", replacement="b" * 99_000), kind=TOOL)
    rows = enumerate(("a", "a" * 170, "a"), 1)
    results = [builders.recorded(seq, builders.point(text, TOOL, END)) for seq, text in rows]
    trial = dry_run_edit_rule(rule, builders.history(*results))
    assert (trial.rows, trial.total) == (2, 1)
    assert trial.error == "Edit rule “after tool at the whole”: the edit has more than 16 MB"


@pytest.mark.parametrize("mode", RunMode)
def test_the_core_edits_for_agents_without_a_lease(mode: RunMode) -> None:
    harness = DebuggerHarness()
    harness.perform(harness.debugger.commands.rules.set_edit_rule(LIMIT))
    harness.start(mode=mode, can_stop=False)
    reach_calls(harness, 9, 5, "5")
    expected = [f'{{"Tool":"search","Argument":{{"limit":5,"big":{2**70}}}}}', None]
    assert [answer.edit for answer in harness.answers] == [expected[0], None, expected[0]]
    history = fold_records(harness.records)
    rules = [each.edit_rules for each in history.halt_points if each.side is BEGIN]
    assert rules == [("limit",), UNSET, ("limit",)]
    assert make_row(history.halt_points[0]).edit_rules == ("limit",)
    trial = dry_run_edit_rule(LIMIT, history)
    assert (trial.rows, trial.total) == (6, 2)
    assert trial.edits == (
        RuleEdit(seq=1, before="9", after="5"),
        RuleEdit(seq=5, before='"5"', after="5"),
    )
    assert replay_states(round_trip(harness.records)) == harness.debugger._runs


def test_a_person_may_take_a_rules_edit_back() -> None:
    harness = DebuggerHarness()
    harness.perform(harness.debugger.commands.rules.set_edit_rule(LIMIT))
    harness.start()
    point = harness.begin_tool_call(call(9))
    harness.edit(point, None)
    pending = harness.sent_halt_points[-1]
    assert (pending.edit, pending.edit_rules) == (None, ())
    assert make_row(pending).edit_rules is UNSET
    harness.step()
    assert harness.answers[-1].edit is None


def test_an_agent_with_a_lease_edits_itself() -> None:
    harness = DebuggerHarness()
    harness.start(mode=RunMode.CONTINUE)
    harness.perform(harness.debugger.commands.rules.set_edit_rule(LIMIT))
    assert harness.leases[-1].edit_rules == (LIMIT,)
    harness.reach(
        harness.begin(TOOL, name="search"),
        data=call(9),
        leased=True,
        waits=False,
        edit=call(5),
        edit_rules=("limit",),
    )
    (point,) = fold_records(harness.records).halt_points
    assert (point.answer, point.edit) == (AnswerKind.RESUME, call(5))
    harness.perform(harness.debugger.commands.rules.delete_edit_rule("limit"))
    assert harness.leases[-1].edit_rules == ()


def test_what_a_rule_cant_make_halts_and_says_why() -> None:
    harness = DebuggerHarness()
    mark = '{"$repr": "<socket>", "$ref": 1, "$why": "w"}'
    harness.perform(harness.debugger.commands.rules.set_edit_rule(LIMIT))
    harness.start(mode=RunMode.CONTINUE)
    data = f'{{"Tool": "search", "Argument": {{"limit": {mark}}}}}'
    point = harness.begin_tool_call(data)
    assert harness.run().pending == (point,)
    pending = harness.find_halt_point(point)
    assert pending.edit is None
    assert (pending.breakpoint_error or "").startswith(
        "Edit rule “before tool at /Argument/limit”: "
    )


def test_rules_are_limited_and_unknown_ones_named() -> None:
    harness = DebuggerHarness()
    rules = harness.debugger.commands.rules
    for number in range(200):
        harness.perform(rules.set_edit_rule(make_rule(SetValue(value="1"), name=str(number))))
    with pytest.raises(AgentStepperError) as unknown:
        rules.delete_edit_rule("none")
    assert unknown.value.code == "unknown_edit_rule"
    assert harness.debugger.edit_rules == (make_rule(SetValue(value="1"), name="199"),)
    for number in range(199):
        harness.perform(rules.set_edit_rule(replace(LIMIT, id=str(number))))
    with pytest.raises(AgentStepperError) as full:
        rules.set_edit_rule(LIMIT)
    assert full.value.code == "invalid_edit_rule"
    harness.perform(rules.set_edit_rule(replace(LIMIT, id="0", once=True)))  # one that is known
    assert len(harness.debugger.edit_rules) == 200
