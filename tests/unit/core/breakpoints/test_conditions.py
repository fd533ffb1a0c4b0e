"""What conditions say: names, operators, functions, and what is missing."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentstepper_nb.core.breakpoints import BreakpointEngine, ObservedPoint
from agentstepper_nb.core.breakpoints.evaluation import ConditionError
from agentstepper_nb.protocol.data_model import AgentLabel, EventKind, EventOutcome, Failure, Usage

from .builders import BEGIN, CUSTOM, END, LLM, TOOL, breakpoint, call, hits, point, value

MESSAGES = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": [{"type": "text", "text": "Read a file"}]},
]
PROMPT = {"model": "small", "messages": MESSAGES, "tools": None}
ASKED = '{"path": "a.py"}'
CALLS = [{"id": "1", "type": "function", "function": {"name": "read_file", "arguments": ASKED}}]
CHAT = {"choices": [{"message": {"role": "assistant", "content": "Look:", "tool_calls": CALLS}}]}
RESPONSES = {
    "output": [
        {"type": "reasoning", "summary": []},
        {"type": "message", "content": [{"type": "output_text", "text": "Look:"}]},
        {"type": "function_call", "call_id": "1", "name": "read_file", "arguments": ASKED},
    ]
}
ANTHROPIC = {
    "role": "assistant",
    "content": [
        {"type": "text", "text": "Look:"},
        {"type": "tool_use", "id": "1", "name": "read_file", "input": json.loads(ASKED)},
    ],
}
READ = {
    "path": "/etc/passwd",
    "limit": 5,
    "lines": [3, 1, 2],
    "deep": {"a": {"b": None}},
    "on": True,
}
CALL = call(READ)
QUERY = point(PROMPT, LLM, name="small", depth=2)


def answer(data: Any, **fields: Any) -> ObservedPoint:
    return point(data, LLM, END, name="small", **fields)


USED = answer("hi", usage=Usage(input_tokens=5, output_tokens=2, cost=0.25))
FAILED = point(
    None, TOOL, END, outcome=EventOutcome.ERROR, failure=Failure(type="OSError", message="no file")
)


@pytest.mark.parametrize(
    ("condition", "at", "expected"),
    [
        ("kind", CALL, "tool"),
        ("kind", QUERY, "llm"),
        ("kind", point({}, CUSTOM, name="retrieval"), "retrieval"),
        ("kind", point("coder", EventKind.PROGRAM_STARTED, name=None), "program_started"),
        ("side", CALL, "before"),
        ("side", USED, "after"),
        ("name", CALL, "read_file"),
        ("name", point(name=None), None),
        ("tool", CALL, "read_file"),
        ("tool", QUERY, None),
        ("model", QUERY, "small"),
        ("model", CALL, None),
        ("args", CALL, READ),
        ("args.path", CALL, "/etc/passwd"),
        ("args", point("text"), None),
        ("args", point("result", TOOL, END), None),
        ("args.q", point({"q": 1}, CUSTOM, name="retrieval"), 1),
        ("prompt.model", QUERY, "small"),
        ("prompt", USED, None),
        ("messages", QUERY, MESSAGES),
        ("messages", point(MESSAGES, LLM), MESSAGES),
        ("messages", point({"input": MESSAGES}, LLM), MESSAGES),
        ("messages", point({"input": "hi"}, LLM), []),
        ("messages", CALL, []),
        ("answer", QUERY, None),
        ("answer.text", answer("hi"), "hi"),
        ("answer.text", answer(CHAT), "Look:"),
        ("answer.text", answer(RESPONSES), "Look:"),
        ("answer.text", answer(ANTHROPIC), "Look:"),
        ("answer.text", answer(CHAT["choices"][0]["message"]), "Look:"),
        ("answer.text", answer(["a", {"type": "text", "text": "b"}, 3]), "a\nb"),
        ("answer.text", answer({"other": 1}), ""),
        ("answer.text", answer(7), ""),
        ("answer.tool_calls", answer("hi"), []),
        ("answer.tool_calls[0].args.path", answer(CHAT), "a.py"),
        ("answer.tool_calls[0].name", answer(RESPONSES), "read_file"),
        ("answer.tool_calls[0].id", answer(RESPONSES), "1"),
        ("[c.args.path for c in answer.tool_calls]", answer(ANTHROPIC), ["a.py"]),
        ("answer.role", answer(ANTHROPIC), "assistant"),
        ("answer.choices[0].message.content", answer(CHAT), "Look:"),
        ("result", point([1], TOOL, END), [1]),
        ("result", point([1], CUSTOM, END), [1]),
        ("result", CALL, None),
        ("text", answer("hi"), "hi"),
        ("text", call({"a": ["x", 1, {"b": "y"}]}, name="t"), "t\nx\ny"),
        ("data.Tool", CALL, "read_file"),
        ("outcome", CALL, None),
        ("outcome", USED, "ok"),
        ("outcome", FAILED, "error"),
        ("outcome", answer(None, outcome=EventOutcome.STOPPED), "stopped"),
        ("error", FAILED, "no file"),
        ("error_type", FAILED, "OSError"),
        ("error or error_type", CALL, None),
        ("tokens", USED, 7),
        ("cost", USED, 0.25),
        ("tokens", answer("", usage=Usage(cost=1.0)), None),
        ("tokens", answer("", usage=Usage(output_tokens=3)), 3),
        ("tokens or cost", CALL, None),
        ("depth", QUERY, 2),
        ("run.program", CALL, "coder"),
        ("agent", point(label=AgentLabel(name="writer")), "writer"),
        ("agent", CALL, None),
    ],
)
def test_names(condition: str, at: ObservedPoint, expected: Any) -> None:
    assert value(condition, at) == expected


def test_a_call_whose_arguments_are_malformed() -> None:
    torn = {"tool_calls": [{"id": "1", "function": {"name": "t", "arguments": '{"a'}}, {}, None]}
    assert value("answer.tool_calls", answer(torn)) == [{"name": "t", "args": '{"a', "id": "1"}]


def test_what_the_run_has_used() -> None:
    used = breakpoint(condition="[run.tokens, run.cost, run.events] == [14, 0.5, 2]")
    engine = BreakpointEngine("coder", [used])
    assert hits(engine, QUERY, USED, CALL, FAILED, USED) == [5]


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        # logic
        ("1 and 2", 2),
        ("0 or ''", ""),
        ("not args", False),
        ("1 if args.on else 2", 1),
        ("1 if args.off else 2", 2),
        # comparing
        ("1 < args.limit <= 5", True),
        ("1 < 5 < 5", False),
        ('"a" < "b"', True),
        ("args.limit == 5.0", True),
        ('args.limit != "5"', True),
        ("args.lines == [3, 1, 2]", True),
        ('args.deep == {"a": {"b": None}}', True),
        ("args.off is None", True),
        ("args.on is not None", True),
        # in
        ('"etc" in args.path', True),
        ("3 in args.lines", True),
        ("[1] in [[1], 2]", True),
        ('"path" in args', True),
        ("3 in args", False),
        ('tool in ("read_file", "write_file")', True),
        ("tool not in {'a', 'b'}", True),
        # reckoning
        ("args.limit * 2 - 1", 9),
        ("7 // 2 + 7 % 2 + 1 / 2", 4.5),
        ("-args.limit", -5),
        ('"a" + "b"', "ab"),
        # pieces
        ("args.lines[-1]", 2),
        ("args.lines[1:]", [1, 2]),
        ("args.lines[:-1]", [3, 1]),
        ("args.path[:4]", "/etc"),
        ('args["path"][0]', "/"),
        # functions
        ("len(args.lines) + len(args.path) + len(args.deep)", 15),
        ("any(line > 2 for line in args.lines)", True),
        ("all([line > 2 for line in args.lines])", False),
        ("any([])", False),
        ("min(args.lines) + max(args.lines)", 4),
        ("max(1, args.limit, 2)", 5),
        ("sum(line for line in args.lines if line > 1 if line < 3)", 2),
        ("sum(a * b for a in args.lines for b in args.lines)", 36),
        ("sum([1, args.off, 2])", 3),
        ("len(line for line in args.lines)", 3),
        ("[[b for b in args.lines if b < a] for a in args.lines]", [[1, 2], [], [1]]),
        ("[x for x in [x for x in args.lines] if x > 1]", [3, 2]),
        ("[key for key in args.deep]", ["a"]),
        ("abs(-3)", 3),
        ('int("12") + int(3.9)', 15),
        ('float("1.5")', 1.5),
        ("str(5) + str(1.5) + str(args.on) + str(tool)", "51.5trueread_file"),
        # texts
        ('args.path.startswith("/etc")', True),
        ('args.path.endswith("x")', False),
        ('" Ab ".strip().lower() + "b".upper()', "abB"),
        ('"xaxx".strip("x")', "a"),
        # looking into
        ('contains(args, "passwd")', True),
        ('contains(args, "path")', False),
        ('contains(args.path, "pass")', True),
        ("contains(args.limit, '5')", False),
        (r'matches(args, r"pass\w+$")', True),
        (r'matches(args.path, "^pass")', False),
        (r'matches(text, r"(?m)^/etc/(?P<who>\w+)$")', True),
        (r'matches(args.path, "\\bpasswd\\b")', True),
        # written on lines
        ("  tool\n  ==\n\t'read_file' ", True),
        ("'x' # said\n", "x"),
    ],
)
def test_what_expressions_come_to(condition: str, expected: Any) -> None:
    found = value(condition, CALL)
    assert found == expected and type(found) is type(expected)


@pytest.mark.parametrize(
    "missing", ["args.off", "result", "args.deep.x.y.z", "args[9]", "args.limit.x"]
)
@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("{} < 1", False),
        ("{} >= 1", False),
        ("not {} < 1", True),
        ("{} == None", True),
        ('{} != "x"', True),
        ("{} in [1]", False),
        ("{} in 'x'", False),
        ("1 in {}", False),
        ("1 not in {}", True),
        ("{} + 1", None),
        ("1 / {}", None),
        ("-{}", None),
        ("{}[0]", None),
        ("{}[1:2]", None),
        ("{}.x", None),
        ("{}.lower()", None),
        ('{}.startswith("x")', None),
        ('"x".endswith({})', None),
        ("len({})", None),
        ("len({}) > 3", False),
        ("any({})", False),
        ("all({})", True),
        ("sum({})", 0),
        ("max({})", None),
        ("min(2, {}, 1)", 1),
        ("any(x for x in {})", False),
        ("[x for x in {}]", []),
        ("abs({})", None),
        ("int({})", None),
        ("float({})", None),
        ("str({})", None),
        ('contains({}, "x")', False),
        ("contains('x', {})", False),
        ('matches({}, "")', True),
        ('matches({}, "x")', False),
    ],
)
def test_what_is_missing(condition: str, missing: str, expected: Any) -> None:
    found = value(condition.format(missing), CALL)
    assert found == expected and type(found) is type(expected)


@pytest.mark.parametrize(
    ("condition", "why"),
    [
        ('args.limit < "5"', "< can't combine a number with a text"),
        ("args.lines < [1]", "< can't combine a list with a list"),
        ("args > 1", "> can't combine an object with a number"),
        ('args.limit + "x"', "+ can't combine a number with a text"),
        ("args.lines + [1]", "+ can't combine a list with a list"),
        ('args.on + "x"', "+ can't combine true or false with a text"),
        ("args.off in args.limit", "in can't combine nothing with a number"),
        ('"a" * 3', "* can't combine a text with a number"),
        ('"%s" % 3', "% can't combine a text with a number"),
        ('"x" in args.limit', "in can't combine a text with a number"),
        ('1 in "x"', "in can't combine a number with a text"),
        ("-args.path", "- needs a number, not a text"),
        ("1 / 0", "/ can't divide by 0"),
        ("1 // 0.0", "// can't divide by 0"),
        ("1 % 0", "% can't divide by 0"),
        ("args.path['a':]", "a slice begins and ends at whole numbers"),
        ("any(args.path)", "any() takes a list, not a text"),
        ("sum(args.limit)", "sum() takes a list, not a number"),
        ("sum(['a'])", "sum() takes numbers, not a text"),
        ("max(1, 'a')", "max() takes either numbers or texts, not both"),
        ("[x for x in args.path]", "a comprehension needs a list or an object, not a text"),
        ("len(args.limit)", "len() takes a text, a list or an object, not a number"),
        ("abs(args.path)", "abs() takes a number, not a text"),
        ("int(args.path)", "int() can't convert a text that isn't one to a number"),
        ("float(args.lines)", "float() can't convert a list to a number"),
        ("str(args)", "str() takes a number, not an object; use contains() to search in it"),
        ("contains(args, 1)", "contains() searches for a text, not a number"),
        ("args.limit.lower()", ".lower() works on texts only"),
        ("args.path.startswith(1)", ".startswith() works on texts only"),
    ],
)
def test_what_has_no_value(condition: str, why: str) -> None:
    with pytest.raises(ConditionError) as failed:
        value(condition, CALL)
    assert str(failed.value) == why


def test_what_decides_first_decides() -> None:
    assert value("tool == 'x' and args.limit > 'a'", CALL) is False
    assert value("tool or 1 / 0", CALL) == "read_file"
    assert value("any(x == 3 or x / 0 for x in args.lines)", CALL) is True
    assert value("2 < 1 < 'a'", CALL) is False


def test_a_variable_hides_a_name_and_a_function_only_inside() -> None:
    assert value("[[tool for tool in [1]], tool]", CALL) == [[1], "read_file"]
    assert value("[len for len in [1]]", CALL) == [1]


def test_nothing_that_is_asked_for_changes_what_is_there() -> None:
    at = answer(CHAT)
    assert value("[answer.text, answer.tool_calls, answer == data, data.text]", at)[2:] == [
        False,
        None,
    ]
    assert BEGIN is CALL.side
