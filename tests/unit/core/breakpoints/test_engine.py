"""Where breakpoints hit: each field of a breakpoint for itself, and what they remember."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from agentstepper_nb.core.breakpoints import (
    BreakpointEngine,
    BreakpointResult,
    ObservedPoint,
    condition_variables,
)
from agentstepper_nb.core.breakpoints.watches import compile_glob
from agentstepper_nb.core.effects import EffectChecks
from agentstepper_nb.protocol.breakpoint_rules import Reaction
from agentstepper_nb.protocol.data_model import AgentLabel, EventKind, EventOutcome, Failure

from .builders import BEGIN, CUSTOM, END, LLM, TOOL, breakpoint, call, hits, point

STARTED = point("coder", EventKind.PROGRAM_STARTED, name=None)
QUERY = point("hi", LLM, name="small-1")
ANSWER = point("hello", LLM, END, name="small-1")
CALL = call({"path": "a"})
RESULT = point("text", TOOL, END)
FAILED = point(None, TOOL, END, outcome=EventOutcome.ERROR, failure=Failure(type="E", message="no"))
STOPPED = point(None, LLM, END, name="small-1", outcome=EventOutcome.STOPPED)
LOOKUP = point({"q": 1}, CUSTOM, name="retrieval")
ALL = (STARTED, QUERY, ANSWER, CALL, RESULT, FAILED, STOPPED, LOOKUP)


@pytest.mark.parametrize(
    ("fields", "where"),
    [
        ({}, [*ALL]),
        ({"kind": LLM}, [QUERY, ANSWER, STOPPED]),
        ({"kind": TOOL}, [CALL, RESULT, FAILED]),
        ({"kind": CUSTOM}, [LOOKUP]),
        ({"kind": EventKind.PROGRAM_STARTED}, [STARTED]),
        ({"kind": EventKind.DEBUG_MESSAGE}, []),
        ({"side": BEGIN}, [STARTED, QUERY, CALL, LOOKUP]),
        ({"side": END}, [ANSWER, RESULT, FAILED, STOPPED]),
        ({"kind": TOOL, "side": END}, [RESULT, FAILED]),
        ({"name": "read_*"}, [CALL, RESULT, FAILED]),
        ({"name": "small-[0-9]"}, [QUERY, ANSWER, STOPPED]),
        ({"name": "Read_*"}, []),
        ({"name": "*"}, [*ALL]),
        ({"name": "?*"}, [QUERY, ANSWER, CALL, RESULT, FAILED, STOPPED, LOOKUP]),
        ({"name": "retrieval", "kind": TOOL}, []),
        ({"on_error": True}, [FAILED]),
        ({"on_error": True, "kind": LLM}, []),
        ({"program": "coder"}, [*ALL]),
        ({"program": "cod*"}, [*ALL]),
        ({"program": "cod"}, []),
        ({"program": "other"}, []),
        ({"enabled": False}, []),
        ({"condition": 'kind == "tool" and side == "before"'}, [CALL]),
        ({"condition": 'args.path == "a"', "side": BEGIN}, [CALL]),
        ({"condition": 'side == "before"', "side": END}, []),
    ],
)
def test_where_a_breakpoint_hits(fields: dict[str, Any], where: list[ObservedPoint]) -> None:
    breakpoints = BreakpointEngine("coder", [breakpoint(**fields)])
    assert [each for each in ALL if breakpoints.evaluate(each).hits] == where


def test_what_is_needed() -> None:
    assert not BreakpointEngine("coder").has_breakpoints
    assert not BreakpointEngine(
        "coder", [breakpoint(enabled=False), breakpoint(id="t", program="x")]
    ).has_breakpoints
    assert BreakpointEngine(
        "coder", [breakpoint(enabled=False), breakpoint(id="t", program="c*")]
    ).has_breakpoints


@pytest.mark.parametrize(
    ("pattern", "text", "fits"),
    [
        ("a", "a", True),
        ("a", "A", False),
        ("a", "ab", False),
        ("a*", "ab/c\nd", True),
        ("?", "", False),
        ("?", "/", True),
        ("[!a]", "b", True),
        ("[!a]", "a", False),
        ("[a-c]x", "bx", True),
        ("[", "[", True),
        ("[]", "[]", True),
        ("a.c", "abc", False),
        ("*", "", True),
        ("src/*", "src/a/b.py", True),
        ("*.py", "src/a/b.py", True),
        ("a" + "*a" * 30 + "b", "a" * 2000, False),  # and at once
    ],
)
def test_globs(pattern: str, text: str, fits: bool) -> None:
    assert compile_glob(pattern)(text) is fits


@given(st.text("ab[]!-^*?&~|\\\n", max_size=8), st.text("ab[-\n", max_size=5))
def test_globs_are_as_in_the_standard_library(pattern: str, text: str) -> None:
    assert compile_glob(pattern)(text) is fnmatchcase(text, pattern)


# ---- counting ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, [1, 2, 3, 4, 5]),
        ({"hit_count": 3}, [3, 4, 5]),
        ({"once": True}, [1]),
        ({"once": True, "hit_count": 4}, [4]),
        ({"hit_count": 6}, []),
        ({"hit_count": 2, "reaction": Reaction.LOG}, [2, 3, 4, 5]),
    ],
)
def test_the_hit_count_and_only_once(fields: dict[str, Any], expected: list[int]) -> None:
    assert hits(BreakpointEngine("coder", [breakpoint(**fields)]), *[CALL] * 5) == expected


def test_only_matches_count() -> None:
    breakpoints = BreakpointEngine(
        "coder", [breakpoint(kind=TOOL, side=BEGIN, condition="args.n > 1", hit_count=2)]
    )
    points = [call({"n": n}) for n in (1, 2, 1, 5)]
    assert hits(breakpoints, *[each for call_ in points for each in (call_, RESULT)]) == [7]


def test_what_is_said_of_several() -> None:
    breakpoints = BreakpointEngine(
        "coder",
        [
            breakpoint(id="log", reaction=Reaction.LOG),
            breakpoint(id="no", kind=LLM),
            breakpoint(id="halt", hit_count=2),
        ],
    )
    assert breakpoints.evaluate(CALL) == BreakpointResult(("log",), halts=False)
    assert breakpoints.evaluate(CALL) == BreakpointResult(("log", "halt"), halts=True)
    assert breakpoints.evaluate(QUERY) == BreakpointResult(("log", "no", "halt"), halts=True)
    assert BreakpointEngine("coder").evaluate(CALL) == BreakpointResult()


# ---- breakpoints that are set while a run goes on ----------------------------------------------------


def test_one_that_is_as_it_was_goes_on_counting() -> None:
    one, other = breakpoint(hit_count=3), breakpoint(id="t", hit_count=2)
    breakpoints = BreakpointEngine("coder", [one])
    assert hits(breakpoints, CALL, CALL) == []
    breakpoints.set([other, replace(one)])
    assert [breakpoints.evaluate(CALL).hits for _ in range(2)] == [("s",), ("t", "s")]


@pytest.mark.parametrize(
    "between",
    [
        pytest.param([breakpoint(hit_count=3, enabled=False)], id="off and on"),
        pytest.param([], id="deleted and set"),
        pytest.param([breakpoint(hit_count=3, program="other")], id="for others and back"),
        pytest.param([breakpoint(hit_count=4)], id="changed and back"),
    ],
)
def test_one_that_was_changed_begins(between: list[Any]) -> None:
    breakpoints = BreakpointEngine("coder", [breakpoint(hit_count=3)])
    assert hits(breakpoints, CALL, CALL) == []
    breakpoints.set(between)
    breakpoints.set([breakpoint(hit_count=3)])
    assert hits(breakpoints, CALL, CALL, CALL) == [3]


# ---- conditions that fail ---------------------------------------------------------------------------


@pytest.mark.parametrize("then", Reaction)
def test_a_condition_that_fails_halts_and_says_so(then: Reaction) -> None:
    breakpoints = BreakpointEngine(
        "coder",
        [breakpoint(condition="args.n > 1", reaction=then, hit_count=2), breakpoint(id="all")],
    )
    said = "Breakpoint “args.n > 1”: > can't combine a text with a number"
    assert breakpoints.evaluate(call({"n": "x"})) == BreakpointResult(
        ("all",), halts=True, error=said
    )
    # It was no match.
    assert breakpoints.evaluate(call({"n": 2})).hits == ("all",)
    assert breakpoints.evaluate(call({"n": 2})) == BreakpointResult(("s", "all"), halts=True)


def test_the_first_of_two_that_fail_is_told() -> None:
    breakpoints = BreakpointEngine(
        "coder", [breakpoint(condition="1 / 0"), breakpoint(id="t", condition="-text")]
    )
    error = breakpoints.evaluate(CALL).error
    assert error is not None and "1 / 0" in error


def test_one_that_cannot_be_read_fails_where_the_rest_holds() -> None:
    breakpoints = BreakpointEngine("coder", [breakpoint(condition="open('x')", kind=LLM)])
    assert breakpoints.evaluate(CALL) == BreakpointResult()
    verdict = breakpoints.evaluate(QUERY)
    assert verdict.halts and not verdict.hits
    assert verdict.error is not None and "column 1: there is no function “open”" in verdict.error


def test_a_long_condition_is_shortened_where_it_is_named() -> None:
    breakpoints = BreakpointEngine(
        "coder", [breakpoint(condition="1 / 0 or " + "text and\n " * 100 + "text")]
    )
    error = breakpoints.evaluate(CALL).error
    assert error is not None and "text and text" in error and len(error) < 200 and "\n" not in error


def test_one_that_has_hit_once_is_not_asked_again() -> None:
    breakpoints = BreakpointEngine("coder", [breakpoint(condition="args.n < 3", once=True)])
    assert breakpoints.evaluate(call({"n": 1})).hits == ("s",)
    assert breakpoints.evaluate(call({"n": "x"})) == BreakpointResult()


@pytest.mark.parametrize("data", [b"NaN", b'{"a": Infinity}', b"\xff", b"", b"[" * 100_000])
def test_text_that_only_a_lenient_parser_takes_is_text(data: bytes) -> None:
    breakpoints = BreakpointEngine(
        "coder", [breakpoint(condition="data == text and len(text) >= 0 and args == None")]
    )
    assert breakpoints.evaluate(call()._replace(data=data)).hits == ("s",)


def test_data_is_read_once_and_only_where_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[bytes] = []
    real = condition_variables.parse_json
    monkeypatch.setattr(
        condition_variables, "parse_json", lambda data: read.append(data) or real(data)
    )
    asking = [breakpoint(id=str(n), kind=TOOL, condition=f"args.n != {n}") for n in range(5)]
    breakpoints = BreakpointEngine(
        "coder", [breakpoint(), breakpoint(id="name", condition='tool == "x"'), *asking]
    )
    assert breakpoints.evaluate(QUERY).hits == ("s",)
    assert read == []
    breakpoints.evaluate(CALL)
    assert read == [CALL.data]


def test_by_agent() -> None:
    researcher, editor = (AgentLabel(name=name) for name in ("researcher", "editor"))
    breakpoints = BreakpointEngine(
        "coder", [breakpoint(agent="re*"), breakpoint("c", condition='node == "draft"')]
    )
    points = [
        call(label=researcher),
        call(label=editor),
        call(),
        call(label=replace(editor, node="draft")),
    ]
    assert [breakpoints.evaluate(each).hits for each in points] == [("s",), (), (), ("c",)]
    assert breakpoints.may_halt(TOOL, BEGIN, "read_file")


@pytest.mark.parametrize(("is_watched", "found"), [(True, ("s",)), (False, ())])
def test_who_asks_for_marks_later_knows_whether_files_are_watched(
    is_watched: bool, found: tuple[str, ...]
) -> None:
    breakpoints = BreakpointEngine("coder", make_checks=EffectChecks)
    if is_watched:
        breakpoints.record_changes(())
    breakpoints.set([breakpoint(condition='"no_effect" in effect')])
    breakpoints.evaluate(call({"path": "a.py"}, "write_file", event="e"))
    wrote = point("Wrote a.py", TOOL, END, name="write_file", event="e", seq=2)
    assert breakpoints.evaluate(wrote).hits == found
