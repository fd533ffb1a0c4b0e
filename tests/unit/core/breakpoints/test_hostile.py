"""Conditions that want more than they may have: each is refused, or ends soon, and says why."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentstepper_nb.core.breakpoints import BreakpointEngine, check_breakpoint
from agentstepper_nb.core.breakpoints.condition_variables import ConditionVariables
from agentstepper_nb.core.breakpoints.conditions import parse_condition
from agentstepper_nb.core.breakpoints.evaluation import ConditionError
from agentstepper_nb.core.breakpoints.functions import FUNCTIONS, TextPattern
from agentstepper_nb.core.breakpoints.watches import UsageTotals
from agentstepper_nb.errors import ProtocolError

from .builders import END, LLM, breakpoint, call, point, value


@pytest.mark.parametrize(
    ("condition", "column", "why"),
    [
        # out of the room
        ("open('/etc/passwd')", 1, "there is no function “open”"),
        ("1 and __import__('os')", 7, "there is no function “__import__”"),
        ("eval('1')", 1, "there is no function “eval”"),
        ("getattr(args, 'x')", 1, "there is no function “getattr”"),
        ("().__class__.__bases__", 1, "“__bases__” can't be used"),
        ("args.__class__", 1, "“__class__” can't be used"),
        ("any.__self__", 1, "“__self__” can't be used"),
        ("args.path.format(args)", 1, "there is no method “format”"),
        ("''.join(args)", 1, "there is no method “join”"),
        ("args.path.encode()", 1, "there is no method “encode”"),
        ("len.lower()", 1, "“len” is a function: call it as len(…)"),
        ("any", 1, "“any” is a function: call it as any(…)"),
        ("args.path()", 1, "there is no method “path”"),
        ("args.path.lower()()", 1, "this expression can't be called"),
        ("(lambda: 1)()", 1, "this expression can't be called"),
        ("[len for len in args][0]('x')", 1, "this expression can't be called"),
        ("[len('x') for len in args]", 2, "there is no function “len”"),
        ("os", 1, "there is no name “os”. There are agent, answer, args,"),
        ("True and __builtins__", 10, "there is no name “__builtins__”"),
        # forms that conditions don't have
        ("lambda: 1", 1, "a lambda can't be used. Conditions have names, texts,"),
        ("(x := 1)", 2, "“:=” can't be used"),
        ("f'{args}'", 1, "an f-string can't be used"),
        ("9 ** 9", 1, "this operator can't be used"),
        ("1 << 9999999", 1, "this operator can't be used"),
        ("~1", 1, "this operator can't be used"),
        ("a @ b", 1, "this operator can't be used"),
        ("max(*args)", 5, "“*” can't be used"),
        ("[*args]", 2, "“*” can't be used"),
        ("{**args}", 1, "the keys of an object are texts in quotes"),
        ("{tool: 1}", 1, "the keys of an object are texts in quotes"),
        ("{x for x in args}", 1, "a comprehension in braces can't be used"),
        ("{x: x for x in args}", 1, "a comprehension in braces can't be used"),
        ("contains((x for x in args), 'a')", 10, "write a comprehension in brackets, or"),
        ("(x for x in args)", 1, "write a comprehension in brackets, or"),
        ("[x async for x in args]", 14, "a comprehension takes exactly one name after “for”"),
        ("[x for x, y in args]", 8, "a comprehension takes exactly one name after “for”"),
        ("[x for args.x in args]", 8, "a comprehension takes exactly one name after “for”"),
        ("args[::2]", 8, "a slice takes a begin and an end, and no step"),
        ("args[...]", 6, "ellipsis values can't be used"),
        ("1j", 1, "complex values can't be used"),
        ("b'x'", 1, "bytes values can't be used"),
        ("await args", 1, "await can't be used"),
        ("len(obj=1)", 1, "len() takes no arguments by name"),
        ("len()", 1, "len() takes one, not 0 arguments"),
        ("contains('a')", 1, "contains() takes two, not 1 arguments"),
        ("tool.strip('a', 'b')", 1, "strip() takes one or none, not 2 arguments"),
        ("min()", 1, "min() takes 1 to 20, not 0 arguments"),
        # no expressions
        ("", 1, "the condition is incomplete at the end"),
        ("  ", 3, "the condition is incomplete at the end"),
        ("tool = 'x'", 6, "“=” isn't an operator of conditions. Did you mean “==”?"),
        ("args.i => 3", 8, "“=>” isn't an operator of conditions. Did you mean “>=”?"),
        ("'a=b' == tool && depth", 15, "“&&” isn't an operator of conditions. Did you mean “and”?"),
        ("!tool", 1, "“!” isn't an operator of conditions. Did you mean “not”?"),
        ("args.i >", 9, "the condition is incomplete at the end"),
        ("  tool == 'x' and ", 18, "the condition is incomplete at the end"),
        ("not", 4, "the condition is incomplete at the end"),
        # a letter is wrong
        (
            "tol == 'x'",
            1,
            "there is no name “tol”. Did you mean “tool”? There are agent, answer, args,",
        ),
        ("tool == true", 9, "there is no name “true”. Did you mean “True”?"),
        ("tool == null", 9, "there is no name “null”. Did you mean “None”?"),
        ("lenn(args)", 1, "there is no function “lenn”. Did you mean “len”?"),
        ("tool.startwith('x')", 1, "there is no method “startwith”. Did you mean “startswith”?"),
        ("import os", 1, "the syntax is invalid here"),
        ("yield 1", 1, "the syntax is invalid here"),
        ("tool == 'x", 9, "the syntax is invalid here"),
        ("(1", 1, "the syntax is invalid here"),
        ("1; 2", 2, "the syntax is invalid here"),
        ("1) + (2", 2, "the syntax is invalid here"),
        ("a\x00b", 1, "the syntax is invalid here"),
        # what Python would only warn of
        (
            "'ä' == 'é' or '\\d'",
            16,
            "“\\d” isn't an escape sequence: put an r before the quotes, r'\\d'",
        ),
        ("tool or'\\d'", 9, "“\\d” isn't an escape sequence"),
        ("'\\777'", 2, "“\\7” isn't an escape sequence"),
        ("1or 2", 2, "put a space before “or”"),
        ("0x1for x in args", 4, "put a space before “for”"),
        # large ones
        ("(" * 250 + "1" + ")" * 250, 201, "the syntax is invalid here"),
        ("not " * 100 + "1", 241, "the condition is nested too deeply here: simplify it"),
        ("1" + "+1" * 100, 1, "the condition is nested too deeply here: simplify it"),
        ("1" * 2000, 1, "a number gets too large"),
        # patterns
        ("matches(text, tool)", 15, "matches() takes its pattern in quotes"),
        ("matches(text, 'a' + 'b')", 15, "matches() takes its pattern in quotes"),
        ("matches(text, '(')", 15, "the pattern can't be read: missing )"),
        ("matches(text, '\\bx')", 15, "“\\b” is a backspace here: put an r before the quotes"),
    ],
)
def test_what_is_refused(condition: str, column: int, why: str) -> None:
    with pytest.raises(ConditionError) as failed:
        parse_condition(condition)
    message = str(failed.value)
    assert message.startswith(f"column {column}: ") and why in message
    assert len(message) < 400


@pytest.mark.parametrize(
    ("condition", "why"),
    [
        ("'" + "x" * 4095 + "'", "the condition is longer than 4,096 bytes: shorten it"),
        ("'" + "ä" * 2100 + "'", "the condition is longer than 4,096 bytes: shorten it"),
        ("-" * 4000 + "1", "the condition is nested too deeply"),
        ("'\ud800'", "characters that aren't valid Unicode"),
    ],
)
def test_what_is_refused_as_a_whole(condition: str, why: str) -> None:
    with pytest.raises(ConditionError, match=why):
        parse_condition(condition)


def test_what_is_refused_cannot_be_set() -> None:
    with pytest.raises(ProtocolError) as refused:
        check_breakpoint(breakpoint(condition="tool == x"))
    assert refused.value.code == "invalid_stop"
    assert refused.value.message.startswith(
        "The condition can't be read: column 9: there is no name “x”"
    )
    check_breakpoint(breakpoint(condition="tool == 'x'"))
    check_breakpoint(breakpoint())


STEPS = "the condition takes more than 100,000 steps here: simplify it"
LONG = "a text gets longer than 1,000,000 characters"
LARGE = "a number gets too large"
HUGE = "9" * 300
MANY = {"l": list(range(1000)), "t": "x" * 600_000, "n": int(HUGE), "deep": [[[1] * 200] * 200] * 3}


@pytest.mark.parametrize(
    ("condition", "why"),
    [
        ("any(a == b == -1 for a in args.l for b in args.l)", STEPS),
        ("len([[[1 for a in args.l] for b in args.l] for c in args.l])", STEPS),
        ("sum(sum(b for b in args.l) for a in args.l)", STEPS),
        ("any([9] in [args.l] for a in args.l)", STEPS),
        ("any(-1 in args.l for a in args.l)", STEPS),
        ("any(args.deep == args.deep for a in args.l)", STEPS),
        ("any('yy' in args.t for a in args.l)", STEPS),
        ("any(contains(args, 'yy') for a in args.l)", STEPS),
        ("any(matches(args.t, 'yy') for a in args.l)", STEPS),
        ("[matches('x', 'y') for a in args.l]", STEPS),
        ("[args.t.upper() for a in args.l]", STEPS),
        ("[args.t[1:] for a in args.l]", STEPS),
        ("args.t + args.t", LONG),
        ("[args.t + 'x' for a in args.l]", STEPS),
        ("*".join(["args.n"] * 20), LARGE),
        ("args.n * args.n * 1.0", LARGE),
        ("int(args.n)", "int() can't convert a number to a number"),
        ("int('9' + str(args.n))", "int() can't convert a text"),
        ("matches(args.t, '(x+)+$y')", "the search for '(x+)+$y' takes too long"),
        ("matches(args.t, '(?:x|xx)+(?:x|xx)+(?:x|xx)+y')", "takes too long"),
    ],
)
def test_what_would_take_too_much(condition: str, why: str) -> None:
    breakpoints = BreakpointEngine("coder", [breakpoint(condition=condition)])
    verdict = breakpoints.evaluate(call(MANY))
    assert verdict.halts and verdict.error is not None and why in verdict.error
    assert len(verdict.error) < 300


def test_what_is_large_but_simple_is_fine() -> None:
    prompt = [{"role": "user", "content": f"line {n}"} for n in range(3000)]
    assert value("any(m.role == 'user' and 'line 2999' in m.content for m in args)", call(prompt))
    assert value("contains(args, 'line 2999') and matches(args, 'line 29+$')", call(prompt))
    assert value("len(text) > 1000 and args[-1] != args[0]", call(prompt))


def test_data_that_is_nested_too_deeply_to_be_gone_through() -> None:
    data: Any = "x"
    for _ in range(5000):
        data = {"type": "message", "content": [data]}
    view = ConditionVariables(point(None, LLM, END), UsageTotals(), "coder")
    view._known["data"] = data  # the parser breakpoints earlier, mostly
    with pytest.raises(ConditionError, match="the data is nested too deeply here"):
        parse_condition("answer.text == 'x'")(view)
    assert parse_condition("contains(data, 'x')")(view)


def test_text_that_is_nested_too_deeply_to_be_read_is_text() -> None:
    deep = point(None, LLM, END)._replace(data=b'{"content": [' * 5000 + b"]}" * 5000)
    breakpoints = BreakpointEngine("coder", [breakpoint(condition="answer.text == data == text")])
    assert breakpoints.evaluate(deep).hits == ("s",)


@pytest.mark.parametrize(
    "pattern",
    [
        "(((a{1000}){1000}){1000}){1000}",
        "(" * 20 + "a" + "{1,99})" * 20,
        "(" * 40 + "a" + "+)" * 40,
        "(" * 40 + "a" + "{1,})" * 40,
        "(?:a{1000 }){ 1000}",
        "a{1000000}",
        "(a{1000}|b){1000}",
        "a" * 501,
    ],
)
def test_patterns_that_would_take_much_room(pattern: str) -> None:
    with pytest.raises(
        ConditionError, match="the pattern is too long, or has too many repeats: simplify it"
    ):
        TextPattern(pattern)


def test_a_pattern_cannot_hide_its_size_in_comments() -> None:
    with pytest.raises(ConditionError, match="a pattern can't use the flag x: leave it out"):
        TextPattern("(?ix) (a{1000}) # \n {1000}")


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"\d{4}-\d{2}-\d{2}T(\d{2}:){2}\d{2}", "at 2026-11-22T09:00:00"),
        (r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "01234567-89ab-cdef-0123-456789abcdef"),
        (r"\brm\s+(-\w+\s+)*/", "sudo rm -r -f /"),
        (r"(?i)error:\s+\w+(\.\w+)+", "ERROR: a.b.c"),
        (r"(\w+\s+)+end", "one two three end"),
        ("", ""),
    ],
)
def test_patterns_as_people_write_them(pattern: str, text: str) -> None:
    assert TextPattern(pattern).is_in(text)
    assert not TextPattern(pattern + "(?!)").is_in(text)


WORDS = [
    *("tool", "args", "args.path", "messages", "text", "answer", "x", "len", "any", "max", "lower"),
    *(
        "1",
        "0.5",
        "'x'",
        "None",
        "True",
        "and",
        "or",
        "not",
        "in",
        "is",
        "if",
        "else",
        "for",
        "lambda",
    ),
    *(
        "==",
        "<",
        "+",
        "-",
        "*",
        "/",
        "%",
        "//",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        ",",
        ":",
        ".",
        ":=",
        "**",
    ),
    *("matches", "contains", "__class__", "\\", '"', "'", "r'"),
]


@given(st.one_of(st.text(max_size=60), st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join)))
def test_whatever_is_written_is_answered(text: str) -> None:
    """A condition, or a refusal: no other error, no warning; and a value or a failure."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        breakpoints = BreakpointEngine("coder", [breakpoint(condition=text or "1")])
        verdict = breakpoints.evaluate(call({"path": "a", "n": 1}))
    assert verdict.halts in (True, False)
    assert verdict.error is None or verdict.error.startswith("Breakpoint “")


NAMED = ["args", "args.n", "args.t", "args.l", "text", "data", "run", "side", "tokens", "x"]
GIVEN = ["None", "True", "0", "-1", "2.5", "1e308", "'x'", "''", "[]", "[1, 'x']", "{'n': 1}"]


def larger(part: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    def form(*forms: str) -> st.SearchStrategy[str]:
        holes = max(text.count("{}") for text in forms)
        return st.builds(
            lambda text, parts: text.format(*parts),
            st.sampled_from(forms),
            st.lists(part, min_size=holes, max_size=holes),
        )

    operators = [*("+", "-", "*", "/", "//", "%", "==", "!=", "<", "<=", ">", ">=")]
    operators += [*("in", "not in", "and", "or", "is")]
    calls = [f"{name}({{}})" for name in FUNCTIONS if name not in ("contains", "matches")]
    methods = [f"({{}}).{name}()" for name in ("lower", "upper", "strip")]
    methods += [f"({{}}).{name}({{}})" for name in ("startswith", "endswith", "strip")]
    loops = [
        "[{} for x in {}]",
        "any({} for x in {})",
        "sum({} for x in {} if {})",
        "len({} for x in {})",
    ]
    return st.one_of(
        form(*(f"({{}}) {sign} ({{}})" for sign in operators)),
        form(*calls, "contains({}, {})", "max({}, {})", "matches({}, 'x+')"),
        form(*methods, *loops),
        form(
            "({}).n",
            "({})[{}]",
            "({})[{}:{}]",
            "({})[:{}]",
            "not ({})",
            "-({})",
            "{} if {} else {}",
        ),
    )


@given(
    st.recursive(st.sampled_from([*NAMED, *GIVEN]), larger, max_leaves=8),
    st.sampled_from([{"n": 3, "t": "xyz", "l": [1, "x", None, [2]]}, None, "x", 10**400, [[[[]]]]]),
)
def test_whatever_can_be_said_has_a_value_or_fails(text: str, args: Any) -> None:
    """Python's own errors never come through."""
    breakpoints = BreakpointEngine("coder", [breakpoint(condition=f"[{text} for x in [args]]")])
    verdict = breakpoints.evaluate(call(args))
    assert (verdict.error is None) is (verdict.hits == ("s",))
