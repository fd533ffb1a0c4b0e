"""Edit rules: edits that are made by themselves wherever they match.

`core.breakpoints.edit_rules` makes the edits, in the agent's SDK and in the Core alike; the page
docs/design/0025-stepping.md has the whole.
"""

from __future__ import annotations

from typing import Annotated, Final

from msgspec import UNSET, Meta, Struct, UnsetType

from .breakpoint_rules import Glob
from .data_model import EventKind, EventSide
from .field_types import Count, Id

#: The most edit rules that may be set.
MAX_EDIT_RULES: Final = 200
#: The edit rules that made one edit.
AppliedRules = Annotated[tuple[Id, ...], Meta(max_length=MAX_EDIT_RULES)]
#: A JSON Pointer into the data of a halt point, as its row shows it: "/Argument/limit"; "": all of it.
Pointer = Annotated[str, Meta(max_length=1000, pattern=r"^(/([^~/]|~[01])*)*$")]


class SetValue(Struct, frozen=True, kw_only=True, tag="set", tag_field="kind"):
    """Put a value in the place of the one that stands there."""

    value: Annotated[str, Meta(min_length=1, max_length=1_000_000)]  # JSON text


class ReplaceText(Struct, frozen=True, kw_only=True, tag="replace", tag_field="kind"):
    """Replace what a pattern matches, in the text that stands there, or in all texts below it."""

    pattern: Annotated[str, Meta(min_length=1, max_length=500)]  # as conditions have patterns
    replacement: Annotated[str, Meta(max_length=100_000)] = ""  # `\1`, `\g<name>`: a group


Change = SetValue | ReplaceText


class EditRuleDefinition(Struct, frozen=True, kw_only=True):
    """An edit that is made wherever all patterns match; what is null matches everywhere.

    Where the data has nothing at `path`, and where nothing would change, the rule doesn't match.
    """

    id: Id
    kind: EventKind
    side: EventSide
    path: Pointer
    change: Change
    program: Glob = "*"  # agents of such a name
    agent: Glob | None = None  # by the name in the event's label
    name: Glob | None = None  # of the tool, the model, or the custom event's type
    once: bool = False  # once a run
    enabled: bool = True


# ---- commands of people, from a view or from Python --------------------------------------------------


class SetEditRule(Struct, frozen=True, kw_only=True):
    """Set an edit rule, in place of the one with its id; agents that run get it at once."""

    rule: EditRuleDefinition


class DeleteEditRule(Struct, frozen=True, kw_only=True):
    """Delete an edit rule."""

    rule: str


class DryRunEditRule(Struct, frozen=True, kw_only=True):
    """Answered by `EditRuleDryRun`: what an edit rule, set or not, would have edited."""

    rule: EditRuleDefinition
    run: str | None = None  # null: in the last runs of agents that it is for, newest first


class ExportEditRule(Struct, frozen=True, kw_only=True):
    """Answered by `EditRuleExported`: the edit rule as Python."""

    rule: EditRuleDefinition


# ---- what views and programs are told -----------------------------------------------------------------


class RuleEdit(Struct, frozen=True, kw_only=True):
    """The change that an edit rule would have made at one row."""

    seq: int
    #: JSON text of the value at the rule's path, before and after the edit, shortened. Both are omitted
    #: in answers to a program that has a token and no login.
    before: str | UnsetType = UNSET
    after: str | UnsetType = UNSET


class EditRuleOutcome(Struct, frozen=True, kw_only=True):
    """The edits that an edit rule would have made in a recorded run."""

    run: str
    rows: Count  # that it was tried on
    edits: tuple[RuleEdit, ...] = ()  # the first hundred, by seq
    total: Count = 0
    error: str | None = None  # what it failed with, at the row after the last of the edits


class EditRuleChanged(Struct, frozen=True, kw_only=True):
    """An edit rule is new or changed: it replaces the one of the same id."""

    rule: EditRuleDefinition


class EditRuleGone(Struct, frozen=True, kw_only=True):
    """An edit rule was deleted."""

    rule: str


class EditRuleDryRun(Struct, frozen=True, kw_only=True):
    """Answers `DryRunEditRule`."""

    outcomes: tuple[EditRuleOutcome, ...]


class EditRuleExported(Struct, frozen=True, kw_only=True):
    """Answers `ExportEditRule`: a Python function that makes the same edit."""

    code: str


EditRuleCommand = SetEditRule | DeleteEditRule | DryRunEditRule | ExportEditRule
#: The names of the commands in either table of commands.
EDIT_RULE_COMMANDS: Final[dict[str, type[Struct]]] = {
    "set_edit_rule": SetEditRule,
    "delete_edit_rule": DeleteEditRule,
    "try_edit_rule": DryRunEditRule,
    "export_edit_rule": ExportEditRule,
}
