"""`EditRule`, which is set from Python, and the list of the edit rules that are set."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from .. import typed_json
from ..errors import ProtocolError
from ..protocol import edit_rules as protocol
from ..protocol.data_model import Run
from ..protocol.edit_rules import EditRuleOutcome
from ..protocol.program_requests import DebuggerConfig, EditRuleResponse, GetDebuggerConfig
from ..protocol.text_escaping import escape_to_one_line
from . import breakpoint_syntax
from .core_request import send_request
from .text_tables import Cells, format_html_table, format_text_table

_HEAD: Final = ("", "", "where", "path", "change", "agents")
_DRY_RUN_HEAD: Final = ("run", "rows", "edits", "at rows")
#: Characters of a value in a table, and rows that are named there.
_MAX_SHOWN_CHARS: Final = 60
_MAX_SHOWN_ROWS: Final = 10
#: The parts of a breakpoint that an edit rule lacks: each must have its default.
_NOT_OF_RULES: Final = ("on_error", "condition", "watch", "hit_count", "reaction")


class EditRule:
    """A rule that edits the data of every halt point that it matches, without a person.

    The rule edits runs that halt and runs that continue. Creating an EditRule does not set it: its
    `dry_run` shows what it would have edited; `add_edit_rule` sets it.

    Args:
        where: The halt points, in a breakpoint's words: `before tool search by reader once`.
        path: A JSON Pointer to the value, as the row shows it: `/Argument/limit`; "": the whole
            data.
        value: The new value: any JSON value. Give either a value or a pattern.
        pattern: A regular expression. Its matches are replaced in the text at the path, or in all
            texts below the path.
        replacement: The text that replaces each match; a backslash and a number stand for a group
            of the pattern.
        program: The program name of the agents that the rule is for, if `where` names none.

    Attributes:
        rule: The rule as the protocol defines it.

    Raises:
        ProtocolError: `invalid_edit_rule`: the path or the change is invalid; `invalid_stop`:
            `where` is invalid.
    """

    def __init__(
        self,
        where: str,
        path: str,
        value: Any = ...,
        *,
        pattern: str | None = None,
        replacement: str = "",
        program: str = "*",
    ) -> None:
        if (value is ...) is (pattern is None):
            _raise_invalid("An edit rule needs either value= or pattern=. Give one of them")
        change: protocol.Change
        if pattern is None:
            change = protocol.SetValue(value=msgspec.json.encode(value).decode())
        else:
            change = protocol.ReplaceText(pattern=pattern, replacement=replacement)
        self.rule = _make_rule(where, path, change, program)

    @classmethod
    def from_rule(cls, rule: protocol.EditRuleDefinition) -> EditRule:
        """Wrap an edit rule that the protocol delivered."""
        made = cls.__new__(cls)
        made.rule = rule
        return made

    @property
    def enabled(self) -> bool:
        """Whether the edit rule is in effect."""
        return self.rule.enabled

    def enable(self) -> None:
        """Enable the edit rule. Errors as of `add_edit_rule`."""
        self._set(True)

    def disable(self) -> None:
        """Disable the edit rule, but keep it in the list. Errors as of `add_edit_rule`."""
        self._set(False)

    def delete(self) -> None:
        """Delete the edit rule.

        Raises:
            CommandError: `unknown_edit_rule`: the rule isn't set; `watch_only`: the Core asks for
                its control token.
            ConnectionError: No Core can be reached.
        """
        send_request(protocol.DeleteEditRule(rule=self.rule.id), DebuggerConfig)

    def dry_run(self, run: str | None = None) -> EditRuleResults:
        """Find what the rule would have edited in recorded runs, whether it is set or not.

        Args:
            run: A run's id, its name, or its program's name (of several runs the newest). None: the
                last runs of the agents that the rule is for.

        Raises:
            ProtocolError: `invalid_edit_rule`.
            CommandError: `unknown_run`; `watch_only`: the Core asks for its control token.
            ConnectionError: No Core can be reached.
        """
        answer = send_request(protocol.DryRunEditRule(rule=self.rule, run=run), EditRuleResponse)
        runs = {each.id: each for each in answer.runs}
        return EditRuleResults(EditRuleResult(runs[each.run], each) for each in answer.outcomes)

    @property
    def code(self) -> str:
        """The source of a Python function that makes the same edit; a comment names its place."""
        from ..core.breakpoints import make_rule_code

        return make_rule_code(self.rule)

    def make_diff(self, file: str | os.PathLike[str]) -> str:
        """Make a unified diff that makes the edit in the agent's own code.

        Args:
            file: The Python file that defines the function of the tool that the rule names.

        Raises:
            LookupError: The file defines no such function, or the function has no such argument.
            ValueError: The rule isn't for the argument or the result of one tool.
            OSError: The file can't be read.
            SyntaxError: The file isn't Python.
        """
        from .edit_rule_diff import make_rule_diff

        return make_rule_diff(self.rule, file)

    def _set(self, enabled: bool) -> None:
        rule = replace(self.rule, enabled=enabled)
        send_request(protocol.SetEditRule(rule=rule), DebuggerConfig)
        self.rule = rule

    def __str__(self) -> str:
        return f"{_where(self.rule)} {self.rule.path or 'the whole'}: {_change(self.rule)}"

    def __repr__(self) -> str:
        return f"<EditRule{'' if self.enabled else ' disabled'}: {self}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, EditRule) and other.rule == self.rule

    def __hash__(self) -> int:
        return hash(self.rule.id)


class EditRules(list[EditRule]):
    """A list of edit rules, oldest first; shown as a table that numbers them from 1."""

    def __repr__(self) -> str:
        return format_text_table(_HEAD, self._rows()) if self else "No edit rules are set."

    def _repr_html_(self) -> str:
        return format_html_table(_HEAD, self._rows()) if self else "<p>No edit rules are set.</p>"

    def _rows(self) -> list[tuple[str, ...]]:
        return [
            (
                str(number),
                "enabled" if each.enabled else "disabled",
                _where(each.rule),
                each.rule.path,
                _change(each.rule),
                each.rule.program,
            )
            for number, each in enumerate(self, 1)
        ]


class EditRuleResult(NamedTuple):
    """A recorded run, and what an edit rule would have edited in it."""

    run: Run
    result: EditRuleOutcome

    @property
    def rows(self) -> tuple[int, ...]:
        """The numbers of the rows that the rule would have edited; the first 100."""
        return tuple(edit.seq for edit in self.result.edits)


class EditRuleResults(list[EditRuleResult]):
    """The results of an edit rule's dry run, the newest run first; shown as a table."""

    @property
    def total(self) -> int:
        """How many rows the rule would have edited in all these runs."""
        return sum(each.result.total for each in self)

    def __repr__(self) -> str:
        return self._format(format_text_table)

    def _repr_html_(self) -> str:
        return self._format(format_html_table)

    def _format(self, table: Callable[[Cells, Sequence[Cells]], str]) -> str:
        return table(_DRY_RUN_HEAD, [_cells(each) for each in self])


def list_edit_rules() -> EditRules:
    """Return all edit rules that are set, oldest first.

    Raises:
        ConnectionError: No Core can be reached.
    """
    known = send_request(GetDebuggerConfig(), DebuggerConfig).edit_rules
    return EditRules(map(EditRule.from_rule, () if known is UNSET else known))


def add_edit_rule(rule: EditRule) -> EditRule:
    """Set an edit rule for the running agents, and for others from their start on.

    Args:
        rule: The rule.

    Raises:
        ProtocolError: `invalid_edit_rule`: the rule's path or its change is invalid.
        CommandError: The rule can't be stored now; `watch_only`: the Core asks for its control
            token.
        ConnectionError: No Core can be reached.
    """
    send_request(protocol.SetEditRule(rule=rule.rule), DebuggerConfig)
    return rule


def _make_rule(
    where: str, path: str, change: protocol.Change, program: str
) -> protocol.EditRuleDefinition:
    parsed = breakpoint_syntax.parse_breakpoint(where, secrets.token_hex(6), program)
    defaults = breakpoint_syntax.parse_breakpoint("any", parsed.id)
    if any(getattr(parsed, name) != getattr(defaults, name) for name in _NOT_OF_RULES):
        _raise_invalid("An edit rule's words name a place, an agent, a program and once alone")
    if parsed.kind is None or parsed.side is None:
        _raise_invalid("An edit rule needs a side and a kind, as in “before tool search”")
    fields = {
        "id": parsed.id,
        "kind": parsed.kind,
        "side": parsed.side,
        "path": path,
        "change": msgspec.to_builtins(change),
        "program": parsed.program,
        "agent": None if parsed.agent is UNSET else parsed.agent,
        "name": parsed.name,
        "once": parsed.once,
    }
    try:
        return typed_json.convert(fields, protocol.EditRuleDefinition)
    except msgspec.ValidationError as error:
        raise ProtocolError("invalid_edit_rule", f"This edit rule isn't valid: {error}.") from None


def _raise_invalid(why: str) -> None:
    raise ProtocolError("invalid_edit_rule", f"{why}.")


def _where(rule: protocol.EditRuleDefinition) -> str:
    fields = {"id": rule.id, "kind": rule.kind, "side": rule.side, "name": rule.name}
    agent = {} if rule.agent is None else {"agent": rule.agent}
    shown = breakpoint_syntax.make_breakpoint(fields | agent | {"once": rule.once})
    return breakpoint_syntax.format_breakpoint(shown)


def _change(rule: protocol.EditRuleDefinition) -> str:
    change = rule.change
    if isinstance(change, protocol.SetValue):
        return _shorten(f"= {change.value}")
    return _shorten(f"{change.pattern!r} → {change.replacement!r}")


def _shorten(text: str) -> str:
    line = escape_to_one_line(text)
    return line if len(line) <= _MAX_SHOWN_CHARS else line[: _MAX_SHOWN_CHARS - 1] + "…"


def _cells(each: EditRuleResult) -> tuple[str, ...]:
    places = [str(seq) for seq in each.rows[:_MAX_SHOWN_ROWS]]
    if each.result.total > len(places):
        places.append("…")
    name, result = escape_to_one_line(each.run.name), each.result
    return (name, str(result.rows), str(result.total), result.error or ", ".join(places))
