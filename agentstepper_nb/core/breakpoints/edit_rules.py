"""Edit rules: edits that are made wherever their patterns match, live and on recorded runs.

Pure, as `engine` is. What a rule doesn't change stays as the agent wrote it: large integers, `1.0` and
the order of keys survive.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import Raw
from msgspec.structs import replace

from ...errors import ProtocolError
from ...protocol.data_model import PAIRED_EVENT_KINDS, AgentLabel, EventKind, EventSide, HaltPoint
from ...protocol.edit_rules import (
    EditRuleDefinition,
    EditRuleOutcome,
    ReplaceText,
    RuleEdit,
    SetValue,
)
from ...protocol.records import RunHistory
from .evaluation import ConditionError
from .functions import TextPattern
from .watches import compile_glob

#: Bytes that an edited text may have.
_MAX_EDITED_BYTES: Final = 16 * 1024 * 1024
#: Rows of a dry run that are named, and characters of what stands there.
_MAX_NAMED: Final = 100
_MAX_SHOWN_CHARS: Final = 500
#: The part of a tool call that rules edit: its arguments.
_ARGUMENT: Final = "/Argument"

#: Returns the reason why an edit can't be applied; None: it can.
FindProblem = Callable[[str], str | None]


class RulePoint(NamedTuple):
    """A halt point, as edit rules match it."""

    kind: EventKind
    side: EventSide
    name: str | None
    label: AgentLabel | None


class RuleResult(NamedTuple):
    """The outcome of edit rules at a halt point."""

    edit: str | None = None  # JSON text; None: no rule matched
    rules: tuple[str, ...] = ()  # the ids of the rules that made the edit, in order
    error: str | None = None  # a rule matched and couldn't make its edit: the run halts


_NOTHING: Final = RuleResult()


class EditRuleEngine:
    """The edit rules of one run, with their state.

    Args:
        program: The run's program.
        rules: In their order; disabled ones and those of other programs are ignored.

    Attributes:
        armed: The rules in force.
        revision: The number of times that rules were set since the engine was made.
    """

    def __init__(self, program: str, rules: Iterable[EditRuleDefinition] = ()) -> None:
        self._program = program
        self.armed: tuple[_Armed, ...] = ()
        self.revision = -1
        self.set(rules)

    def set(self, rules: Iterable[EditRuleDefinition]) -> None:
        """Replace the rules in force. An unchanged rule keeps its state."""
        before = {armed.rule.id: armed for armed in self.armed}
        armed = []
        for rule in rules:
            if rule.enabled and compile_glob(rule.program)(self._program):
                known = before.get(rule.id)
                armed.append(known if known and known.rule == rule else _Armed(rule))
        self.armed = tuple(armed)  # at once: what interrupts this changes nothing
        self.revision += 1

    def may_edit(self, kind: EventKind, side: EventSide, name: str | None) -> bool:
        """Whether any rule may edit such a halt point, for any data and any agent."""
        return any(armed.may_edit(kind, side, name) for armed in self.armed)

    def apply(self, point: RulePoint, data: str, find_problem: FindProblem) -> RuleResult:
        """Make the edits of all rules that match, each on the result of the rule before.

        Args:
            point: The halt point.
            data: The halt point's JSON text, as the agent sent it.
            find_problem: Returns the reason why the agent can't apply an edit.
        """
        text, made, error = data, [], None
        for armed in self.armed:
            if not armed.matches(point) or not armed.begin():
                continue
            edited: str | None = None
            try:
                edited = edit_text(armed.change, armed.path, text)
                problem = None if edited is None else find_problem(edited)
            except ConditionError as failed:
                problem = str(failed)
            if problem is not None:
                error = error or f"Edit rule “{describe_edit_rule(armed.rule)}”: {problem}"
            if edited is None or problem is not None:
                armed.undo()
                continue
            text = edited
            made.append(armed.rule.id)
        if not made and error is None:
            return _NOTHING
        return RuleResult(text if made else None, tuple(made), error)


class _Armed:
    """A rule in force, and whether it is done."""

    __slots__ = ("_claims", "_fits", "_fits_agent", "change", "path", "rule")

    def __init__(self, rule: EditRuleDefinition) -> None:
        self.rule = rule
        self.path = parse_pointer(rule.path)
        self.change = compile_change(rule.change)
        self._fits = None if rule.name is None else compile_glob(rule.name)
        self._fits_agent = None if rule.agent is None else compile_glob(rule.agent)
        self._claims: dict[str, object] = {}

    def may_edit(self, kind: EventKind, side: EventSide, name: str | None) -> bool:
        rule, fits = self.rule, self._fits
        if rule.once and self._claims:
            return False
        return rule.kind is kind and rule.side is side and (fits is None or fits(name or ""))

    def matches(self, point: RulePoint) -> bool:
        fits = self._fits_agent
        is_agents = fits is None or (point.label is not None and fits(point.label.name))
        return is_agents and self.may_edit(point.kind, point.side, point.name)

    def begin(self) -> bool:
        """Whether the rule may make its edit: one that edits once is begun by one thread alone."""
        if not self.rule.once:
            return True
        claim = object()
        return self._claims.setdefault("", claim) is claim

    def undo(self) -> None:
        """Record that the rule didn't make its edit."""
        self._claims.clear()


# ---- the edit ---------------------------------------------------------------------------------------

#: Makes of a value the value in its place: either as JSON text.
CompiledChange = Callable[[Raw], Raw]


def compile_change(change: SetValue | ReplaceText) -> CompiledChange:
    """Compile a change.

    Raises:
        ConditionError: The change's value isn't JSON, or its pattern can't be parsed.
    """
    if isinstance(change, SetValue):
        try:
            msgspec.json.decode(change.value, type=Raw)
        except (ValueError, RecursionError) as error:
            raise ConditionError(f"the value isn't JSON: {error}") from None
        value = Raw(change.value.encode())
        return lambda _: value
    pattern = TextPattern(change.pattern)
    # Where nothing matches, nobody reads the replacement: here something always does.
    TextPattern(f"(?:{change.pattern})|").replace_in("", change.replacement)
    return lambda raw: _replace_texts(raw, pattern, change.replacement)


def edit_text(change: CompiledChange, path: tuple[str, ...], data: str) -> str | None:
    """JSON text with a change made at a path.

    Returns:
        None where nothing stands at the path, where nothing would change, or where the text isn't strict
        JSON.

    Raises:
        ConditionError: The change can't be made: it takes too long, or the text grows too large.
    """
    try:
        whole: Raw = msgspec.json.decode(data, type=Raw)  # or it isn't strict JSON
        made = _edit(whole, path, change)
        if made is None or _canonical(made) == _canonical(whole):
            return None
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
    if memoryview(made).nbytes > _MAX_EDITED_BYTES:
        raise ConditionError(f"the edit has more than {_MAX_EDITED_BYTES // 1024**2} MB")
    return str(made, "utf-8")


def find_value(path: tuple[str, ...], data: str) -> Raw | None:
    """The value at a path of a JSON text; None where the path doesn't exist."""
    found = Raw(data.encode())
    for key in path:
        opened = _open(found)
        if opened is None or key not in opened.members:
            return None
        found = opened.members[key]
    return found


def _edit(raw: Raw, path: tuple[str, ...], change: CompiledChange) -> Raw | None:
    if not path:
        return change(raw)
    opened = _open(raw)
    if opened is None or path[0] not in opened.members:
        return None
    made = _edit(opened.members[path[0]], path[1:], change)
    if made is None:
        return None
    opened.members[path[0]] = made
    return opened.encode()


class _Members(NamedTuple):
    """The members of an object or a list as JSON text, by the key that a JSON Pointer has."""

    members: dict[str, Raw]
    is_list: bool

    def encode(self) -> Raw:
        """The object or list as JSON text."""
        members = list(self.members.values()) if self.is_list else self.members
        return Raw(msgspec.json.encode(members))


def _open(raw: Raw) -> _Members | None:
    """The members of an object or a list; None of anything else."""
    match bytes(raw).lstrip()[:1]:
        case b"{":
            return _Members(msgspec.json.decode(raw, type=dict[str, Raw]), is_list=False)
        case b"[":
            items = msgspec.json.decode(raw, type=list[Raw])
            return _Members({str(at): item for at, item in enumerate(items)}, is_list=True)
    return None


def _replace_texts(raw: Raw, pattern: TextPattern, replacement: str) -> Raw:
    """A value with a pattern replaced in all its texts; keys aren't among them."""
    if bytes(raw).lstrip()[:1] == b'"':
        text = msgspec.json.decode(raw, type=str)
        made = pattern.replace_in(text, replacement)
        return raw if made == text else Raw(msgspec.json.encode(made))
    opened = _open(raw)
    if opened is None:
        return raw
    made_by_key = {
        key: _replace_texts(each, pattern, replacement) for key, each in opened.members.items()
    }
    return opened._replace(members=made_by_key).encode()


def _canonical(raw: Raw) -> bytes:
    """JSON text in a canonical form, so that two texts can be compared."""
    opened = _open(raw)
    if opened is not None:
        members = {key: Raw(_canonical(each)) for key, each in opened.members.items()}
        return bytes(opened._replace(members=members).encode())
    text = bytes(raw).strip()
    # A number stays as it is written: 1.0 isn't 1, and 1e400 is more than a float holds.
    return msgspec.json.encode(msgspec.json.decode(text)) if text[:1] == b'"' else text


def parse_pointer(pointer: str) -> tuple[str, ...]:
    """The keys of a JSON Pointer; none for "", which is the whole."""
    return tuple(key.replace("~1", "/").replace("~0", "~") for key in pointer.split("/")[1:])


# ---- rules ------------------------------------------------------------------------------------------

_NOUNS: Final = {
    EventKind.LLM_QUERY: "llm",
    EventKind.TOOL_INVOCATION: "tool",
    EventKind.CUSTOM: "custom",
}


def describe_edit_rule(rule: EditRuleDefinition) -> str:
    """An edit rule in a few words: where it edits what."""
    where = "before" if rule.side is EventSide.BEGIN else "after"
    what = " ".join(part for part in (where, _NOUNS.get(rule.kind), rule.name) if part)
    return f"{what} at {rule.path or 'the whole'}"


def _is_call(rule: EditRuleDefinition) -> bool:
    return rule.kind is EventKind.TOOL_INVOCATION and rule.side is EventSide.BEGIN


def check_edit_rule(rule: EditRuleDefinition) -> None:
    """See that an edit rule can be set.

    Raises:
        ProtocolError: `invalid_edit_rule`: it could never match, or its change can't be read.
    """
    problem = None
    if rule.kind not in PAIRED_EVENT_KINDS:
        problem = "Only LLM queries, tool calls and custom events are edited by rules."
    elif _is_call(rule) and parse_pointer(rule.path)[:1] != (_ARGUMENT[1:],):
        problem = f"The path of a tool call's argument begins with {_ARGUMENT}."
    if problem is None:
        try:
            compile_change(rule.change)
        except ConditionError as failed:
            problem = f"The change can't be read: {failed}."
    if problem is not None:
        raise ProtocolError("invalid_edit_rule", problem)


def dry_run_edit_rule(
    rule: EditRuleDefinition, history: RunHistory, check_limit: Callable[[], None] = lambda: None
) -> EditRuleOutcome:
    """The edits that an edit rule would have made in a recorded run of any program.

    If the rule fails, the dry run ends.

    Args:
        rule: The rule.
        history: The run.
        check_limit: Called after each row; an error that it raises ends the dry run.

    Raises:
        ProtocolError: The rule is invalid, as for `check_edit_rule`.
    """
    check_edit_rule(rule)
    engine = EditRuleEngine(history.run.program, [replace(rule, program="*", enabled=True)])
    path = parse_pointer(rule.path)
    edits: list[RuleEdit] = []
    rows = total = 0
    error: str | None = None
    for point in _list_editable(history):
        rows += 1
        made = engine.apply(make_rule_point(point), point.data, lambda _: None)
        if made.error is not None:
            error = made.error
            break
        if made.edit is not None:
            total += 1
            before, after = _show(path, point.data), _show(path, made.edit)
            edits += [RuleEdit(seq=point.seq, before=before, after=after)]
            del edits[_MAX_NAMED:]
        check_limit()
    return EditRuleOutcome(
        run=history.run.id, rows=rows, edits=tuple(edits), total=total, error=error
    )


def can_be_edited(point: HaltPoint) -> bool:
    """Whether rules may edit a halt point: a call that failed has no result to edit."""
    return point.kind in PAIRED_EVENT_KINDS and point.failure is None


def make_rule_point(point: HaltPoint) -> RulePoint:
    """A recorded halt point as rules match it."""
    return RulePoint(point.kind, point.side, point.name, point.label)


def _list_editable(history: RunHistory) -> Iterator[HaltPoint]:
    return (point for point in history.halt_points if can_be_edited(point))


def _show(path: tuple[str, ...], data: str) -> str:
    found: Any = find_value(path, data)
    text = "" if found is None else str(found, "utf-8")
    return text if len(text) <= _MAX_SHOWN_CHARS else text[: _MAX_SHOWN_CHARS - 1] + "…"
