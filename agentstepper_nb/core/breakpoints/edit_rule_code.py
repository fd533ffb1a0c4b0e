"""Edit rules as plain Python: a function that makes the same edit, for the agent's own code."""

from __future__ import annotations

import json
import re
from typing import Final

from ...protocol.data_model import EventKind, EventSide
from ...protocol.edit_rules import EditRuleDefinition, ReplaceText, SetValue
from .edit_rules import describe_edit_rule, parse_pointer

_VALUES: Final = {
    (EventKind.TOOL_INVOCATION, EventSide.BEGIN): "arguments",
    (EventKind.TOOL_INVOCATION, EventSide.END): "result",
    (EventKind.LLM_QUERY, EventSide.BEGIN): "prompt",
    (EventKind.LLM_QUERY, EventSide.END): "answer",
}
_PLACES: Final = {
    "arguments": "before the tool is called",
    "result": "where the tool has returned",
    "prompt": "before the query is sent",
    "answer": "where the answer has come",
    "data": "where the event's data is made",
}


def make_rule_code(rule: EditRuleDefinition) -> str:
    """The Python code of a rule: a function, with a comment that says where to call the function.

    Args:
        rule: A valid rule. For a tool call, the function's parameter is the arguments alone.
    """
    value = name_value(rule)
    path = parse_pointer(rule.path)[1 if value == "arguments" else 0 :]
    function = name_function(rule, value)
    lines = [
        f"# Edit rule: {_one_line(describe_edit_rule(rule))}.",
        f"# Call it {_PLACES[value]}: {value} = {function}({value})",
    ]
    for what, pattern in (("agents of the program", rule.program), ("the agent", rule.agent)):
        if pattern not in (None, "*"):
            lines.append(f"# The rule is for {what} {_one_line(str(pattern))} alone.")
    if rule.name is not None and any(mark in rule.name for mark in "*?["):
        lines.append(f"# The rule is for names that match {_one_line(rule.name)} alone.")
    return "\n".join([*lines, make_function(rule, function, value, path)])


def make_function(
    rule: EditRuleDefinition, function: str, value: str, path: tuple[str, ...]
) -> str:
    """A function that makes a rule's edit in a value.

    Args:
        rule: The rule.
        function: The function's name.
        value: The name of the function's parameter.
        path: The path in the value at which the edit is made.
    """
    change = rule.change
    imports = ["import copy"] if path else []
    helpers: list[str] = []
    if isinstance(change, ReplaceText):
        imports.append(f"import {_regex_module(change.pattern)}")
        helpers = [*_replacer(function, change), "", ""]
    if rule.once:
        helpers = [
            *helpers,
            f"{function}_is_done = False  # set it so where a run begins",
            "",
            "",
        ]
    body = [f"def {function}({value}):"]
    if rule.once:
        body += [
            f"    global {function}_is_done",
            f"    if {function}_is_done:",
            f"        return {value}",
        ]
    body += _edit_body(rule, function, value, path)
    return "\n".join([*imports, *(["", ""] if imports else []), *helpers, *body]) + "\n"


def name_value(rule: EditRuleDefinition) -> str:
    """The name of the value that a rule edits, as the rule's code uses it."""
    return _VALUES.get((rule.kind, rule.side), "data")


def name_function(rule: EditRuleDefinition, value: str) -> str:
    """A name for the function that makes a rule's edit in a value."""
    words = re.sub(r"\W+", "_", rule.name or "", flags=re.ASCII).strip("_")
    return "_".join(part for part in ("edit", words, value) if part)


def _edit_body(
    rule: EditRuleDefinition, function: str, value: str, path: tuple[str, ...]
) -> list[str]:
    done = [f"    {function}_is_done = edited != {value}"] if rule.once else []
    if not path:
        return [f"    edited = {_made(rule.change, function, value)}", *done, "    return edited"]
    place = "edited" + "".join(f"[{_key(key)}]" for key in path)
    return [
        f"    edited = copy.deepcopy({value})",
        "    try:",
        f"        before = {place}",
        f"        {place} = {_made(rule.change, function, 'before')}",
        "    except (KeyError, IndexError, TypeError):",
        f"        return {value}  # nothing stands there",
        *done,
        "    return edited",
    ]


def _made(change: SetValue | ReplaceText, function: str, before: str) -> str:
    """The expression for what stands in the place of a value."""
    if isinstance(change, SetValue):
        return repr(json.loads(change.value))
    return f"{function}_texts({before})"


def _replacer(function: str, change: ReplaceText) -> list[str]:
    name, module = f"{function}_texts", _regex_module(change.pattern)
    return [
        f"def {name}(value):",
        "    if isinstance(value, str):",
        f"        return {module}.sub({change.pattern!r}, {change.replacement!r}, value)",
        "    if isinstance(value, dict):",
        f"        return {{key: {name}(item) for key, item in value.items()}}",
        f"    return [{name}(item) for item in value] if isinstance(value, list) else value",
    ]


def _regex_module(pattern: str) -> str:
    """Python's own module, where it reads the pattern."""
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError):
        return "regex"
    return "re"


def _key(key: str) -> str:
    return key if key.isdecimal() and key.isascii() and str(int(key)) == key else repr(key)


def _one_line(text: str) -> str:
    return " ".join(text.split())
