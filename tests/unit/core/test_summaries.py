"""One line on a halt point: what the rules make of contents, also of hostile and huge ones."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentstepper_nb.core.summaries import (
    MAX_SUMMARY_CHARS,
    extract_first_line,
    format_size,
    summarize,
)
from agentstepper_nb.protocol.data_model import (
    EventKind,
    EventOutcome,
    EventSide,
    Failure,
)
from agentstepper_nb.protocol.text_escaping import INVISIBLE_CHARACTERS
from tests.unit.core.points import ANSWER, ASK, CALL, RESULT, Where, point


def summarize_point(where: Where, value: Any, **fields: Any) -> str:
    return summarize(point(where, json.dumps(value), **fields))


def chat(*messages: Any) -> dict[str, Any]:
    return {"model": "m", "messages": list(messages)}


def choice(**message: Any) -> dict[str, Any]:
    return {"id": "x", "choices": [{"index": 0, "message": {"role": "assistant", **message}}]}


def response(*output: Any) -> dict[str, Any]:
    return {"id": "x", "object": "response", "output": list(output)}


def function_call(name: str, arguments: str) -> dict[str, Any]:
    return {"type": "function_call", "name": name, "arguments": arguments}


def gemini(*parts: Any) -> dict[str, Any]:
    return {"candidates": [{"content": {"role": "model", "parts": list(parts)}}]}


def calls(*called: tuple[str, Any]) -> list[Any]:
    return [{"id": "1", "function": {"name": n, "arguments": a}} for n, a in called]


LONG = "word " * 100
USER = {"role": "user", "content": "Fix the tests"}
MARK = {"$repr": "<a socket>", "$ref": 1, "$why": "its type, socket, has no fields"}
BLOCKS = [{"type": "text", "text": "One"}, {"type": "text", "text": "Two"}]


@pytest.mark.parametrize(
    ("where", "value", "line"),
    [
        # What is asked
        (ASK, "Fix the tests", "Fix the tests"),
        (ASK, "\n\n  Fix   the\ttests\nnow", "Fix the tests"),
        (ASK, chat({"role": "system", "content": "Be brief"}, USER), "Fix the tests"),
        (ASK, chat({"role": "user", "content": BLOCKS}), "One"),
        (
            ASK,
            chat(USER, {"role": "tool", "content": "3 failed"}),
            "Returns a tool's result: 3 failed",
        ),
        (
            ASK,
            chat({"role": "user", "content": [{"type": "tool_result", "content": BLOCKS}]}),
            "Returns a tool's result: 2 lines: Two",
        ),
        (
            ASK,
            {"input": [USER, {"type": "function_call_output", "output": "a\nb\n"}]},
            "Returns a tool's result: 2 lines: b",
        ),
        (ASK, chat({"role": "assistant", "content": None}), "Asks to go on"),
        (ASK, chat("bare"), "bare"),
        (ASK, chat(), "[]"),
        (ASK, {"model": "m", "input": "Responses"}, "Responses"),
        (ASK, {"model": "m", "input": [USER]}, "Fix the tests"),
        (ASK, {"prompt": "Old completions"}, "Old completions"),
        (ASK, {"question": "Own form"}, '{"question":"Own form"}'),
        (ASK, [USER], "Fix the tests"),
        (ASK, MARK, "<a socket>"),
        (
            CALL,
            {"Tool": "send", "Argument": {"to": MARK, "n": [MARK]}},
            'send(to=<a socket>, n=["<a socket>"])',
        ),
        (
            CALL,
            {"Tool": "send", "Argument": {"to": {"user": MARK}, "n": 1}},
            'send(to={"user":"<a socket>"}, n=1)',
        ),
        (RESULT, MARK, "<a socket>"),
        (ASK, "Task:\nFix:\nNow:\nToday:\nthe tests", "Task: Fix: Now: Today:"),
        (ASK, "", "Asks with an empty prompt"),
        (ASK, None, "Asks with an empty prompt"),
        (ASK, 7, "7"),
        # What is answered
        (ANSWER, "Done", "Done"),
        (ANSWER, choice(content="Done"), "Done"),
        (ANSWER, {"role": "assistant", "content": BLOCKS}, "One"),
        (ANSWER, choice(content=None), "Answers with nothing"),
        (ANSWER, {"choices": ["odd"]}, "odd"),
        (ANSWER, {"choices": []}, '{"choices":[]}'),
        (ANSWER, "", "Answers with nothing"),
        (ANSWER, choice(tool_calls=calls(("ls", '{"path": "."}'))), "Calls ls(.)"),
        (
            ANSWER,
            choice(tool_calls=calls(("ls", "{}"), ("cat", '{"a": 1, "b": "x"}'))),
            "Calls ls(), cat(a=1, b=x)",
        ),
        (ANSWER, choice(tool_calls=calls(("ls", None))), "Calls ls()"),
        (ANSWER, choice(tool_calls=calls(("ls", {"path": "."}))), "Calls ls(.)"),
        (ANSWER, choice(tool_calls=calls(("ls", "{broken"))), "Calls ls({broken)"),
        (ANSWER, choice(tool_calls=[{}, 1, None], content="x"), "x"),
        (ANSWER, choice(tool_calls=[{"function": {}}]), "Calls a tool()"),
        (
            ANSWER,
            {"content": [{"type": "tool_use", "name": "ls", "input": {"path": "."}}]},
            "Calls ls(.)",
        ),
        (ANSWER, response({"type": "message", "content": BLOCKS}), "One"),
        (ANSWER, response(function_call("ls", '{"path": "."}')), "Calls ls(.)"),
        (ANSWER, response({"type": "reasoning"}, function_call("ls", "{}")), "Calls ls()"),
        (
            ANSWER,
            response({"type": "custom_tool_call", "name": "run", "input": "ls"}),
            "Calls run(ls)",
        ),
        (ANSWER, response(), "Answers with nothing"),
        (ANSWER, gemini({"text": "Done"}), "Done"),
        (ANSWER, gemini({"functionCall": {"name": "ls", "args": {"path": "."}}}), "Calls ls(.)"),
        (ASK, {"contents": [{"role": "user", "parts": [{"text": "Fix it"}]}]}, "Fix it"),
        (
            ASK,
            {"contents": [{"parts": [{"functionResponse": {"name": "ls", "response": "a.py"}}]}]},
            "Returns a tool's result: a.py",
        ),
        # Which tool with which arguments
        (CALL, {"Tool": "ls", "Argument": {"path": "."}}, "ls(.)"),
        (CALL, {"Tool": "ls", "Argument": None}, "ls()"),
        (CALL, {"Tool": "ls", "Argument": {}}, "ls()"),
        (CALL, {"Tool": "add", "Argument": [1, 2]}, "add([1,2])"),
        (CALL, {"Tool": "echo", "Argument": "hi"}, "echo(hi)"),
        (
            CALL,
            {"Tool": "write", "Argument": {"path": "a.py", "content": "a\nb\nc"}},
            "write(path=a.py, content=3 lines)",
        ),
        (CALL, {"Tool": "write", "Argument": "a\nb\n"}, "write(2 lines)"),
        (CALL, {"Tool": "echo", "Argument": "a\n"}, "echo(a)"),
        (CALL, {"Tool": "echo", "Argument": "x" * 70}, f"echo({'x' * 59}…)"),
        (CALL, {"Tool": "echo", "Argument": ["x" * 70]}, f'echo(["{"x" * 57}…)'),
        (CALL, {"Tool": None, "Argument": 1}, "a tool(1)"),
        (CALL, {"odd": 1}, '{"odd":1}'),
        (CALL, "odd", "odd"),
        # How it ended
        (RESULT, "ok", "ok"),
        (RESULT, "a\n\nb\nlast\n", "4 lines: last"),
        (RESULT, "a\nb\n", "2 lines: b"),
        (RESULT, None, "Returned nothing"),
        (RESULT, "", "Returned an empty text"),
        (RESULT, " \n ", "Returned an empty text"),
        (RESULT, {"code": 1}, '{"code":1}'),
        (RESULT, [], "[]"),
        (RESULT, BLOCKS, "2 lines: Two"),
        # The rest
        ((EventKind.PROGRAM_STARTED, EventSide.BEGIN), "fix_tests", "fix_tests"),
        # Cut
        (ASK, LONG, ("word " * 32)[: MAX_SUMMARY_CHARS - 1] + "…"),
        (ASK, "x" * MAX_SUMMARY_CHARS, "x" * MAX_SUMMARY_CHARS),
        (ASK, "x" * (MAX_SUMMARY_CHARS + 1), "x" * (MAX_SUMMARY_CHARS - 1) + "…"),
        # Not for reading: terminal codes, direction marks, line separators
        (ASK, "\x1b[31mred\x07\x00", "[31mred"),
        (ASK, "abc\u202edef", "abcdef"),
        (ASK, "one\u2028two", "one"),
        (ASK, "👩\u200d💻 at work", "👩\u200d💻 at work"),
    ],
    ids=str,
)
def test_what_a_line_says(where: Where, value: Any, line: str) -> None:
    assert summarize_point(where, value) == line


PYTEST = """\
    def test_total():
>       assert total([1, 2]) == 3
E       AssertionError: assert 4 == 3
test_cart.py:5: AssertionError
=========================== short test summary info ============================
FAILED test_cart.py::test_total - AssertionError: assert 4 == 3
FAILED test_cart.py::test_tax - assert 1 == 2
========================= 2 failed, 1 passed in 0.02s ==========================
"""
SHORT = """\
exit code 1
..F                                                            [100%]
____________________ test_a_total_has_whole_cents ____________________
test_cart.py:13: in test_a_total_has_whole_cents
    assert total([(0.10, 3)]) == 0.30
E   assert 0.30000000000000004 == 0.3
E    +  where 0.30000000000000004 = total([(0.1, 3)])
1 failed, 2 passed
"""
TRACEBACK = """\
Traceback (most recent call last):
  File "a.py", line 1, in <module>
KeyError: 'tax'

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "a.py", line 3, in <module>
    raise ValueError("no tax")
ValueError: no tax
exit code 1
"""


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (PYTEST, "8 lines: FAILED test_cart.py::test_total - AssertionError: assert 4 == 3"),
        (SHORT, "8 lines: assert 0.30000000000000004 == 0.3"),
        (TRACEBACK, "11 lines: ValueError: no tax"),
        (
            "cc a.c\na.c:3:5: error: expected ';'\n1 error generated.\n",
            "3 lines: a.c:3:5: error: expected ';'",
        ),
        (
            "error[E0308]: mismatched types\n --> src/main.rs:2:5\n",
            "2 lines: error[E0308]: mismatched types",
        ),
        ("FAIL: test_a (t.T)\n----\nFAILED (failures=1)\n", "3 lines: FAIL: test_a (t.T)"),
        ("....\n2 passed, 0 errors\n", "2 lines: 2 passed, 0 errors"),
        ("def f():\n    raise KeyError(1)\n", "2 lines: raise KeyError(1)"),
    ],
    ids=[
        "pytest",
        "pytest, short",
        "traceback",
        "compiler",
        "rustc",
        "unittest",
        "passed",
        "a file",
    ],
)
def test_a_results_row_and_the_next_prompts_row_show_the_line_that_failed(
    text: str, line: str
) -> None:
    assert summarize_point(RESULT, text) == line
    assert summarize_point(ASK, chat(USER, {"role": "tool", "content": text})) == (
        f"Returns a tool's result: {line}"
    )


@pytest.mark.parametrize(
    "unit", ["E " * 50, "A.", "A", "\n", "error ", " ", "KeyError\n", "FAILED\n"]
)
def test_any_results_line_is_found_in_time_that_grows_with_it(unit: str) -> None:
    text = (unit * 1_000_000)[:1_000_000]
    assert len(summarize_point(RESULT, text)) <= MAX_SUMMARY_CHARS
    assert len(summarize_point(ASK, text)) <= MAX_SUMMARY_CHARS


def test_the_agents_own_summary_counts_before_the_rules() -> None:
    assert summarize_point(ASK, "x", summary="Agent program started.") == "Agent program started"
    assert summarize_point(ASK, "x", summary=" \n.") == "x"
    assert summarize_point(ASK, "x", summary="") == "x"
    assert summarize_point(ASK, "x", summary=" ") == "x"


def test_a_failure_counts_before_all() -> None:
    failure = Failure(type="TimeoutError", message="60 s\npassed")
    assert (
        summarize_point(RESULT, None, failure=failure, summary="Ran it")
        == "Failed: TimeoutError: 60 s"
    )
    assert summarize_point(RESULT, None, outcome=EventOutcome.STOPPED) == "Stopped"


@pytest.mark.parametrize(
    "order", ["asyncio.exceptions.CancelledError", "KeyboardInterrupt", "GeneratorExit"]
)
def test_what_was_stopped_has_not_failed(order: str) -> None:
    failure = Failure(type=order, message="")
    assert summarize_point(RESULT, None, outcome=EventOutcome.STOPPED, failure=failure) == "Stopped"


def test_what_left_the_program_by_itself_says_so() -> None:
    failure = Failure(type="SystemExit", message="2")
    assert (
        summarize_point(RESULT, None, outcome=EventOutcome.STOPPED, failure=failure)
        == "Stopped: SystemExit: 2"
    )


def test_the_edit_is_what_counts() -> None:
    assert summarize_point(ASK, "before", edit='"after"') == "after"


@pytest.mark.parametrize("where", [ASK, ANSWER, CALL, RESULT])
@pytest.mark.parametrize(
    ("data", "line"),
    [
        ("NaN", "NaN"),
        ('"\\ud800"', '"\\ud800"'),
        ("1e999", "1e999"),
        ("9" * 5000, "9" * (MAX_SUMMARY_CHARS - 1) + "…"),
        ("[" * 100_000 + "]" * 100_000, "[" * (MAX_SUMMARY_CHARS - 1) + "…"),
        (json.dumps("x" * 2_000_000), "2.0 MB of JSON"),
    ],
    ids=["NaN", "surrogate", "1e999", "digits", "nested", "huge"],
)
def test_what_cannot_be_read_is_said_in_a_line(where: Where, data: str, line: str) -> None:
    assert summarize(point(where, data)) == line


@pytest.mark.parametrize("where", [ASK, ANSWER, CALL, RESULT])
def test_nesting_at_the_very_limit_of_the_parser(where: Where) -> None:
    """What can just be read may be too deep to be written."""
    for depth in range(900, 1000):
        line = summarize(point(where, '{"Tool":' * depth + "1" + "}" * depth))
        assert 0 < len(line) <= MAX_SUMMARY_CHARS


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(
            st.sampled_from(["messages", "role", "content", "choices", "message", "tool_calls"])
            | st.sampled_from(["function", "name", "arguments", "type", "Tool", "Argument", "text"])
            | st.text(max_size=3),
            inner,
        )
    ),
    max_leaves=20,
)


@pytest.mark.slow
@settings(derandomize=True)
@given(where=st.sampled_from([ASK, ANSWER, CALL, RESULT]), value=values)
def test_a_line_is_always_short_and_plain(where: Where, value: Any) -> None:
    line = summarize_point(where, value)
    assert len(line) <= MAX_SUMMARY_CHARS
    assert line.splitlines() in ([], [line])
    assert all(c.isprintable() or c in "\u200c\u200d" for c in line)
    assert not any(each in line for each in "\u3164\u00ad\u200e\U000e0041")


@settings(derandomize=True)
@given(st.text() | st.text(st.sampled_from("ab \t\x00\u200b\u200c\u3164é"), max_size=1000))
def test_one_line_of_any_text(text: str) -> None:
    line = next(iter(text.lstrip().splitlines()), "")
    seen = INVISIBLE_CHARACTERS.sub("", " ".join(line.split()))
    words = "".join(each for each in seen if each.isprintable() or each in "\u200c\u200d")
    assert extract_first_line(text) == (
        words if len(words) <= MAX_SUMMARY_CHARS else words[: MAX_SUMMARY_CHARS - 1] + "…"
    )
    assert len(extract_first_line(text)) <= MAX_SUMMARY_CHARS
    assert "\n" not in extract_first_line(text)


def test_only_the_beginning_of_a_long_line_is_looked_at() -> None:
    assert extract_first_line("a" + " " * 10_000_000 + "b") == "a…"


@pytest.mark.parametrize(
    ("size", "words"),
    [(0, "0 B"), (999, "999 B"), (1000, "1 KB"), (52_431, "52 KB"), (1_250_000, "1.2 MB")],
)
def test_sizes_for_people(size: int, words: str) -> None:
    assert format_size(size) == words
