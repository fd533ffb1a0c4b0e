"""Where stops hit: each field of a stop for itself, and what they remember."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from agentstepper_nb.core.stops import BreakpointEngine, ObservedPoint, RuleVerdict, condition_view
from agentstepper_nb.core.stops.watches import compile_glob
from agentstepper_nb.protocol.stops import Reaction
from agentstepper_nb.protocol.values import EventKind, EventOutcome, Failure

from .making import BEGIN, CUSTOM, END, LLM, TOOL, call, hits, point, stop

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
def test_where_a_stop_hits(fields: dict[str, Any], where: list[ObservedPoint]) -> None:
    stops = BreakpointEngine("coder", [stop(**fields)])
    assert [each for each in ALL if stops.reach(each).hits] == where


def test_what_is_needed() -> None:
    assert not BreakpointEngine("coder").needed
    assert not BreakpointEngine("coder", [stop(enabled=False), stop(id="t", program="x")]).needed
    assert BreakpointEngine("coder", [stop(enabled=False), stop(id="t", program="c*")]).needed


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
        ({"nth": 3}, [3, 4, 5]),
        ({"once": True}, [1]),
        ({"once": True, "nth": 4}, [4]),
        ({"nth": 6}, []),
        ({"nth": 2, "then": Reaction.LOG}, [2, 3, 4, 5]),
    ],
)
def test_the_nth_match_and_only_once(fields: dict[str, Any], expected: list[int]) -> None:
    assert hits(BreakpointEngine("coder", [stop(**fields)]), *[CALL] * 5) == expected


def test_only_matches_count() -> None:
    stops = BreakpointEngine("coder", [stop(kind=TOOL, side=BEGIN, condition="args.n > 1", nth=2)])
    points = [call({"n": n}) for n in (1, 2, 1, 5)]
    assert hits(stops, *[each for call_ in points for each in (call_, RESULT)]) == [7]


def test_what_is_said_of_several() -> None:
    stops = BreakpointEngine(
        "coder",
        [stop(id="log", then=Reaction.LOG), stop(id="no", kind=LLM), stop(id="halt", nth=2)],
    )
    assert stops.reach(CALL) == RuleVerdict(("log",), halts=False)
    assert stops.reach(CALL) == RuleVerdict(("log", "halt"), halts=True)
    assert stops.reach(QUERY) == RuleVerdict(("log", "no", "halt"), halts=True)
    assert BreakpointEngine("coder").reach(CALL) == RuleVerdict()


# ---- stops that are set while a run goes on ---------------------------------------------------------


def test_one_that_is_as_it_was_goes_on_counting() -> None:
    one, other = stop(nth=3), stop(id="t", nth=2)
    stops = BreakpointEngine("coder", [one])
    assert hits(stops, CALL, CALL) == []
    stops.set([other, replace(one)])
    assert [stops.reach(CALL).hits for _ in range(2)] == [("s",), ("t", "s")]


@pytest.mark.parametrize(
    "between",
    [
        pytest.param([stop(nth=3, enabled=False)], id="off and on"),
        pytest.param([], id="deleted and set"),
        pytest.param([stop(nth=3, program="other")], id="for others and back"),
        pytest.param([stop(nth=4)], id="changed and back"),
    ],
)
def test_one_that_was_changed_begins(between: list[Any]) -> None:
    stops = BreakpointEngine("coder", [stop(nth=3)])
    assert hits(stops, CALL, CALL) == []
    stops.set(between)
    stops.set([stop(nth=3)])
    assert hits(stops, CALL, CALL, CALL) == [3]


# ---- conditions that fail ---------------------------------------------------------------------------


@pytest.mark.parametrize("then", Reaction)
def test_a_condition_that_fails_halts_and_says_so(then: Reaction) -> None:
    stops = BreakpointEngine(
        "coder", [stop(condition="args.n > 1", then=then, nth=2), stop(id="all")]
    )
    said = "Stop “args.n > 1”: a text and a number don't go together with >"
    assert stops.reach(call({"n": "x"})) == RuleVerdict(("all",), halts=True, error=said)
    # It was no match.
    assert stops.reach(call({"n": 2})).hits == ("all",)
    assert stops.reach(call({"n": 2})) == RuleVerdict(("s", "all"), halts=True)


def test_the_first_of_two_that_fail_is_told() -> None:
    stops = BreakpointEngine("coder", [stop(condition="1 / 0"), stop(id="t", condition="-text")])
    error = stops.reach(CALL).error
    assert error is not None and "1 / 0" in error


def test_one_that_cannot_be_read_fails_where_the_rest_holds() -> None:
    stops = BreakpointEngine("coder", [stop(condition="open('x')", kind=LLM)])
    assert stops.reach(CALL) == RuleVerdict()
    verdict = stops.reach(QUERY)
    assert verdict.halts and not verdict.hits
    assert verdict.error is not None and "column 1: there is no function “open”" in verdict.error


def test_a_long_condition_is_shortened_where_it_is_named() -> None:
    stops = BreakpointEngine("coder", [stop(condition="1 / 0 or " + "text and\n " * 100 + "text")])
    error = stops.reach(CALL).error
    assert error is not None and "text and text" in error and len(error) < 200 and "\n" not in error


def test_one_that_has_hit_once_is_not_asked_again() -> None:
    stops = BreakpointEngine("coder", [stop(condition="args.n < 3", once=True)])
    assert stops.reach(call({"n": 1})).hits == ("s",)
    assert stops.reach(call({"n": "x"})) == RuleVerdict()


@pytest.mark.parametrize("data", [b"NaN", b'{"a": Infinity}', b"\xff", b"", b"[" * 100_000])
def test_text_that_only_a_lenient_parser_takes_is_text(data: bytes) -> None:
    stops = BreakpointEngine(
        "coder", [stop(condition="data == text and len(text) >= 0 and args == None")]
    )
    assert stops.reach(call()._replace(data=data)).hits == ("s",)


def test_data_is_read_once_and_only_where_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[bytes] = []
    real = condition_view.parse_json
    monkeypatch.setattr(condition_view, "parse_json", lambda data: read.append(data) or real(data))
    asking = [stop(id=str(n), kind=TOOL, condition=f"args.n != {n}") for n in range(5)]
    stops = BreakpointEngine("coder", [stop(), stop(id="name", condition='tool == "x"'), *asking])
    assert stops.reach(QUERY).hits == ("s",)
    assert read == []
    stops.reach(CALL)
    assert read == [CALL.data]
