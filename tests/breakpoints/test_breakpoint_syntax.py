"""Stops in words: what a person writes is what they read again."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from agentstepper_nb.breakpoints.breakpoint_syntax import format_breakpoint, parse_breakpoint
from agentstepper_nb.errors import ProtocolError
from agentstepper_nb.protocol.breakpoint_rules import (
    BreakpointRule,
    CostBudget,
    Reaction,
    Repeated,
    TokenBudget,
    Touched,
)
from agentstepper_nb.protocol.data_model import EventKind, EventSide

TOOL, LLM = EventKind.TOOL_INVOCATION, EventKind.LLM_QUERY


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("before tool run_tests", {"side": EventSide.BEGIN, "kind": TOOL, "name": "run_tests"}),
        ("after llm gpt-*", {"side": EventSide.END, "kind": LLM, "name": "gpt-*"}),
        ("tool", {"kind": TOOL}),
        ("event retrieval", {"kind": EventKind.CUSTOM, "name": "retrieval"}),
        ("before start", {"side": EventSide.BEGIN, "kind": EventKind.PROGRAM_STARTED}),
        ("before any", {"side": EventSide.BEGIN}),
        ("any", {}),
        ("tool by researcher", {"kind": TOOL, "agent": "researcher"}),
        (
            'before any by "the editor" error',
            {
                "side": EventSide.BEGIN,
                "agent": "the editor",
                "on_error": True,
            },
        ),
        ("any run_*", {"name": "run_*"}),
        ("after error", {"side": EventSide.END, "on_error": True}),
        ("after tool error", {"side": EventSide.END, "kind": TOOL, "on_error": True}),
        ('tool "error"', {"kind": TOOL, "name": "error"}),
        (r'tool "a \"b\" \\"', {"kind": TOOL, "name": 'a "b" \\'}),
        ("tokens 50000", {"watch": TokenBudget(limit=50000)}),
        ("cost $0.05", {"watch": CostBudget(limit=0.05)}),
        ("repeated 3", {"watch": Repeated(times=3)}),
        ("repeated 4 overall", {"watch": Repeated(times=4, in_a_row=False)}),
        ("repeated 4 overall once", {"watch": Repeated(times=4, in_a_row=False), "once": True}),
        ("touches src/*.py", {"watch": Touched(path="src/*.py")}),
        (
            "tool hit 3 once log",
            {"kind": TOOL, "hit_count": 3, "once": True, "reaction": Reaction.LOG},
        ),
        ("tool all agents", {"kind": TOOL, "program": "*"}),
        ('tool for "my agent"', {"kind": TOOL, "program": "my agent"}),
        ("tool for 'my agent'", {"kind": TOOL, "program": "my agent"}),
        (
            "before tool 'error' once",
            {"side": EventSide.BEGIN, "kind": TOOL, "name": "error", "once": True},
        ),
        ("tool 'tis", {"kind": TOOL, "name": "'tis"}),
        (
            "tool where tool == 'x' for 'my agent'",
            {"kind": TOOL, "condition": "tool == 'x'", "program": "my agent"},
        ),
        ("where tokens > 5", {"condition": "tokens > 5"}),
        (
            'tool x where "once" in args.path and n > 3 hit 2 once for me',
            {
                "kind": TOOL,
                "name": "x",
                "condition": '"once" in args.path and n > 3',
                "hit_count": 2,
                "once": True,
                "program": "me",
            },
        ),
        ("where contains(text, ' log ') log", {"condition": "contains(text, ' log ')"}),
    ],
)
def test_what_words_mean(text: str, fields: dict[str, Any]) -> None:
    found = parse_breakpoint(text, "s", "mine")
    expected = BreakpointRule(
        **{"id": "s", "program": "mine", "reaction": found.reaction, **fields}
    )
    assert found == expected
    assert (found.reaction is Reaction.LOG) == text.endswith("log")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "The breakpoint names no place to halt"),
        ("elsewhere", "“elsewhere” isn't understood here"),
        ("befor tool", "“befor” isn't understood here. Did you mean “before”?"),
        ("tools run", "“tools” isn't understood here. Did you mean “tool”?"),
        ("before after tool", "The side is given twice"),
        ("tool once where x once", "The word “once” is given twice"),
        ("tool where", "A condition must follow “where”"),
        ("tool where  once", "A condition must follow “where”"),
        ("tokens", "A value must follow “tokens”"),
        ("tokens many", "“many” isn't a whole number"),
        ("cost much", "“much” isn't an amount in dollars"),
        ("all tools", "“agents” must follow “all”"),
        ('tool "run', "A quote isn't closed"),
        ('before "run"', "The name “run” isn't expected here"),
    ],
)
def test_words_that_mean_nothing(text: str, said: str) -> None:
    with pytest.raises(ProtocolError, match=f"^{said}") as error:
        parse_breakpoint(text, "s")
    assert error.value.code == "invalid_stop"
    assert "before|after" in str(error.value)  # how it is written


@pytest.mark.parametrize("text", ["tokens 0", "cost -1", "cost nan", "repeated 1", "tool hit 0"])
def test_numbers_out_of_bounds(text: str) -> None:
    with pytest.raises(ProtocolError, match=r"This breakpoint isn't valid: Expected"):
        parse_breakpoint(text, "s")


# What a person can name: a condition is one line here, and none ends as an option does.
texts = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12)
conditions = st.sampled_from(["text == 'once'", "tokens > 3", '"log" in text', "x[1] and y"])
watches = st.one_of(
    st.none(),
    st.builds(TokenBudget, limit=st.integers(1, 2**53 - 1)),
    st.builds(CostBudget, limit=st.floats(0, 1e11).map(lambda x: float(f"{x:.15g}"))),
    st.builds(Repeated, times=st.integers(2, 1000), in_a_row=st.booleans()),
    st.builds(Touched, path=texts),
)
breakpoints = st.builds(
    BreakpointRule,
    id=st.just("s"),
    program=texts,
    kind=st.sampled_from([None, TOOL, LLM, EventKind.CUSTOM, EventKind.PROGRAM_STARTED]),
    side=st.sampled_from([None, *EventSide]),
    name=st.none() | texts,
    on_error=st.booleans(),
    condition=st.none() | conditions,
    watch=watches,
    hit_count=st.integers(1, 99),
    once=st.booleans(),
    reaction=st.sampled_from(Reaction),
)


@given(breakpoints)
def test_what_is_written_is_read_again(breakpoint: BreakpointRule) -> None:
    assert parse_breakpoint(format_breakpoint(breakpoint, program=True), "s") == breakpoint
    assert parse_breakpoint(format_breakpoint(breakpoint), "s", breakpoint.program) == breakpoint
    assert (
        parse_breakpoint(
            format_breakpoint(replace(breakpoint, enabled=False)), "s", breakpoint.program
        )
        == breakpoint
    )
