"""An edit rule as a unified diff of the agent's own code."""

from __future__ import annotations

import ast
import os
from difflib import unified_diff
from io import StringIO
from pathlib import Path

from ..core.breakpoints.edit_rule_code import make_function, name_function
from ..core.breakpoints.edit_rules import parse_pointer
from ..protocol.data_model import EventKind, EventSide
from ..protocol.edit_rules import EditRuleDefinition

_Definition = ast.FunctionDef | ast.AsyncFunctionDef


def make_rule_diff(rule: EditRuleDefinition, file: str | os.PathLike[str]) -> str:
    """A unified diff that makes a rule's edit in the function that is the tool.

    An argument is edited where the function begins, a result by a decorator. Arguments and errors as of
    `EditRule.make_diff`.
    """
    if rule.kind is not EventKind.TOOL_INVOCATION or rule.name is None:
        raise ValueError(
            "Only the rule of one tool's call or result can be put into the tool's function. Take the "
            "rule's code, and call it where the value is made."
        )
    path = Path(file)
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source)
    function = _find_function(tree, rule.name, path)
    is_call = rule.side is EventSide.BEGIN
    helper, call = _edit_argument(rule, function, path) if is_call else _edit_result(rule, function)
    lines = list(StringIO(source))  # as `ast` counts them: a form feed ends none
    helpers = [*helper.splitlines(keepends=True), "\n", "\n"]
    edited = _insert(lines, [(_find_place(tree, function), helpers), (call[0], [call[1]])])
    return "".join(unified_diff(lines, edited, f"a/{path.name}", f"b/{path.name}"))


def _find_function(tree: ast.Module, name: str, path: Path) -> _Definition:
    for node in ast.walk(tree):
        if isinstance(node, _Definition) and node.name == name:
            return node
    raise LookupError(
        f"{path.name} defines no function {name}. Name the file in which the tool is defined."
    )


def _edit_argument(
    rule: EditRuleDefinition, function: _Definition, path: Path
) -> tuple[str, tuple[int, str]]:
    """The helper, and the line that calls it with its place: where the function's body begins."""
    keys = parse_pointer(rule.path)[1:]
    known = [each.arg for each in (*function.args.posonlyargs, *function.args.args)]
    known += [each.arg for each in function.args.kwonlyargs]
    if not keys or keys[0] not in known:
        raise LookupError(
            f"The function {function.name} in {path.name} has no argument "
            f"{keys[0] if keys else ''}. Choose one of {', '.join(known) or 'none'}."
        )
    argument = keys[0]
    name = name_function(rule, argument)
    first = function.body[0]
    has_docstring = ast.get_docstring(function, clean=False) is not None
    at = (first.end_lineno or 0) if has_docstring else first.lineno - 1
    call = f"{' ' * first.col_offset}{argument} = {name}({argument})\n"
    return make_function(rule, name, argument, keys[1:]), (at, call)


def _edit_result(rule: EditRuleDefinition, function: _Definition) -> tuple[str, tuple[int, str]]:
    """Make the helpers, and the decorator with its line: below other decorators, so that a tool's
    tracing records the edited result.
    """
    name = name_function(rule, "result")
    helper = make_function(rule, name, "result", parse_pointer(rule.path))
    is_async = isinstance(function, ast.AsyncFunctionDef)
    prefix, call = ("async ", "await ") if is_async else ("", "")
    decorator = (
        f"def {name}_of(function):\n"
        f"    @functools.wraps(function)\n    {prefix}def edited(*args, **kwargs):\n"
        f"        return {name}({call}function(*args, **kwargs))\n\n    return edited\n"
    )
    at, indent = function.lineno - 1, " " * function.col_offset
    return f"import functools\n{helper}\n\n{decorator}", (at, f"{indent}@{name}_of\n")


def _find_place(tree: ast.Module, function: _Definition) -> int:
    """Find the line before which helpers are inserted: the module's statement with the function."""
    for node in tree.body:
        decorators = getattr(node, "decorator_list", [])
        first = min([node.lineno, *(each.lineno for each in decorators)])
        if first <= function.lineno <= (node.end_lineno or 0):
            return int(first) - 1
    return 0


def _insert(lines: list[str], additions: list[tuple[int, list[str]]]) -> list[str]:
    """Lines with others inserted before some of them; what goes to one place keeps its order."""
    made: list[str] = []
    for at in range(len(lines) + 1):
        made += [line for place, added in additions if place == at for line in added]
        made += lines[at : at + 1]
    return made
