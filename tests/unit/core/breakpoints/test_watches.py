"""Watches: when each comes true, and where its stop then hits."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentstepper_nb.core.breakpoints import BreakpointEngine, ObservedPoint
from agentstepper_nb.core.breakpoints.watches import is_same_json
from agentstepper_nb.protocol.breakpoint_rules import (
    CostBudget,
    Repeated,
    TokenBudget,
    Touched,
    Watch,
)
from agentstepper_nb.protocol.data_model import Usage

from .builders import BEGIN, CUSTOM, END, LLM, TOOL, breakpoint, call, hits, point

QUERY = point("hi", LLM, name="small")
RESULT = point("text", TOOL, END)


def answer(tokens: int | None = None, cost: float | None = None) -> ObservedPoint:
    usage = Usage(input_tokens=tokens, output_tokens=tokens and 1, cost=cost)
    return point("hello", LLM, END, name="small", usage=usage)


def watching(watch: Watch, **fields: Any) -> BreakpointEngine:
    return BreakpointEngine("coder", [breakpoint(watch=watch, **fields)])


# ---- budgets ----------------------------------------------------------------------------------------


def test_tokens_are_those_in_and_out_of_all_queries() -> None:
    points = [QUERY, answer(9), QUERY, answer(9), QUERY, answer(9), QUERY]
    assert hits(watching(TokenBudget(limit=19)), *points) == [4]
    assert hits(watching(TokenBudget(limit=20)), *points) == [6]
    assert hits(watching(TokenBudget(limit=30)), *points) == []


def test_costs() -> None:
    points = [answer(cost=0.5), answer(), answer(5), answer(cost=0.5), answer(cost=0.01)]
    assert hits(watching(CostBudget(limit=1.0)), *points) == [5]
    assert hits(watching(CostBudget(limit=0.0)), *points) == [1]


def test_a_budget_is_due_until_the_rest_holds_and_then_never_again() -> None:
    points = [answer(50), call(), RESULT, QUERY, call(), answer(50)]
    assert hits(watching(TokenBudget(limit=10), kind=TOOL, side=END), *points) == [3]
    fields = {"kind": TOOL, "condition": "run.tokens > 100"}
    assert hits(watching(TokenBudget(limit=10), **fields), *points, call()) == [7]
    assert hits(watching(TokenBudget(limit=10), hit_count=2), *points) == []


def test_what_was_used_before_the_breakpoint_was_set_counts() -> None:
    breakpoints = BreakpointEngine("coder")
    assert hits(breakpoints, answer(50)) == []
    breakpoints.set([breakpoint(watch=TokenBudget(limit=10))])
    assert hits(breakpoints, QUERY, QUERY) == [1]


# ---- the same again ---------------------------------------------------------------------------------


def test_the_same_action_so_many_times_in_a_row() -> None:
    a, b = call({"path": "a"}), call({"path": "b"})
    assert hits(watching(Repeated(times=2)), a, a, a, a, b, a, a) == [2, 4, 7]
    assert hits(watching(Repeated(times=3)), a, a, b, a, a, a, a, a, a) == [6, 9]
    assert hits(watching(Repeated()), *[a] * 3) == [3]


def test_the_same_action_so_many_times_wherever_they_stand() -> None:
    a, b = call({"path": "a", "n": 1}), call({"path": "b"})
    turned = call({"n": 1, "path": "a"})
    overall = Repeated(times=3, in_a_row=False)
    assert hits(watching(Repeated(times=3)), a, b, a, RESULT, b, turned) == []
    assert hits(watching(overall), a, b, a, RESULT, b, turned, b, a, a, a) == [6, 7, 10]
    other = call({"path": "b"}, name="list")
    assert hits(watching(overall), b, other, b, other) == []
    assert hits(watching(overall, name="read_*"), b, other, b, b) == [4]


def test_ends_and_events_of_other_kinds_do_not_break_it() -> None:
    a = call({"path": "a"})
    assert hits(watching(Repeated(times=2)), a, RESULT, QUERY, answer(1), a) == [5]
    retrieval = point({"q": 1}, CUSTOM, name="retrieval")
    assert hits(watching(Repeated(times=2)), a, retrieval, a, retrieval) == [3, 4]


def test_another_tool_breaks_it_unless_the_breakpoint_is_not_about_that() -> None:
    a, other = call({"path": "a"}), call({"path": "a"}, name="list")
    assert hits(watching(Repeated(times=2)), a, other, a, other) == []
    assert hits(watching(Repeated(times=2), name="read_*"), a, other, a, other) == [3]
    assert hits(watching(Repeated(times=2), kind=LLM), a, a, QUERY, QUERY) == [4]


def test_a_repetition_may_be_seen_at_the_end() -> None:
    a = call({"path": "a"})
    assert hits(watching(Repeated(times=2), side=END), a, RESULT, a, RESULT, RESULT) == [4]


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ('{"a":1,"b":2}', '{"b":2,"a":1}', True),
        ('{"a":[1,2]}', '{"a":[2,1]}', False),
        ('{"a":1}', '{"a":1.0}', False),
        ('{"a":1,"b":true}', '{"a":true,"b":1}', False),
        ('[1,"1"]', '["1",1]', False),
        ("NaN", "NaN", True),
        ("NaN", "Inf", False),
        ("[" * 5000, "{" * 5000, False),
        ('"a"', '"a" ', False),
    ],
)
def test_what_is_the_same(one: str, other: str, alike: bool) -> None:
    assert is_same_json(one.encode(), other.encode()) is alike


# ---- touched paths ----------------------------------------------------------------------------------


def test_a_path_touched() -> None:
    breakpoints = watching(Touched(path="src/*.py"))
    breakpoints.record_changed_paths(["README.md", "docs/a.py"])
    assert hits(breakpoints, RESULT) == []
    breakpoints.record_changed_paths(iter(["README.md", "src/a.py"]))
    breakpoints.record_changed_paths(["README.md"])
    assert hits(breakpoints, RESULT, RESULT) == [1]
    breakpoints.record_changed_paths(["src/b/c.py"])
    breakpoints.record_changed_paths(["src/a.py"])
    assert hits(breakpoints, call(), RESULT) == [1]


def test_it_is_due_until_the_rest_holds() -> None:
    breakpoints = watching(Touched(path="*"), kind=LLM, side=BEGIN, hit_count=2)
    breakpoints.record_changed_paths(["a"])
    assert hits(breakpoints, RESULT, QUERY, QUERY) == []
    breakpoints.record_changed_paths(["b"])
    assert hits(breakpoints, RESULT, QUERY, QUERY) == [2]


def test_a_failing_condition_leaves_it_due() -> None:
    breakpoints = watching(Touched(path="*"), condition="args.n > 1", side=BEGIN)
    breakpoints.record_changed_paths(["a"])
    assert breakpoints.evaluate(call({"n": "x"})).error
    assert hits(breakpoints, call({"n": 2}), call({"n": 2})) == [1]


def test_what_is_known_of_a_run_outlives_other_stops() -> None:
    """Also of a watch: nothing is forgotten where its breakpoint is set again as it was."""
    watched = breakpoint(watch=Repeated(times=3))
    breakpoints = BreakpointEngine("coder", [watched])
    a = point(json.loads('{"Tool": "t", "Argument": 1}'))
    assert hits(breakpoints, a, a) == []
    breakpoints.set([breakpoint(id="other", enabled=False), watched])
    assert hits(breakpoints, a) == [1]
