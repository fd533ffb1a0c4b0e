"""The state of all runs, as a fold over the records that are stored.

Nothing here decides anything: `apply` moves the state by one record, and a Core that starts again
replays its store's records to stand where the one before stood.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from ..protocol.breakpoint_rules import BreakpointRule, Price
from ..protocol.data_model import (
    AnswerKind,
    BreakpointHits,
    Commit,
    Event,
    EventKind,
    EventSide,
    HaltPoint,
    Run,
    RunState,
)
from ..protocol.edit_rules import EditRuleDefinition
from ..protocol.effects import EffectCounts, EffectReport, MarkSeverity
from ..protocol.header_limits import truncate_header
from ..protocol.records import (
    AgentCredentials,
    BreakpointDeleted,
    BreakpointSaved,
    CommitSaved,
    EditRuleDeleted,
    EditRuleSaved,
    EndedRunLoaded,
    EventSaved,
    HaltPointAnswered,
    HaltPointEdited,
    HaltPointSaved,
    ImportedRunSaved,
    MessagesReceived,
    NoteSaved,
    PricesSet,
    Record,
    RunDeleted,
    RunHeaderSaved,
    RunRenamed,
    RunStarted,
    RunTagged,
    SummarySaved,
)
from .run_usage import add_usage, find_sample_usage

#: Into how many parts they are put, so that none grows long.
_PART_COUNT: Final = 256


class CompactIdSet:
    """A set that stores eight bytes per id, a hash of the id: a set of texts takes 150.

    Of a hundred thousand ids, two have the same hash once in ten thousand million runs.

    Args:
        ids: The ids in the set.
    """

    __slots__ = ("_parts",)

    def __init__(self, ids: Iterable[str] = ()) -> None:
        self._parts: dict[int, array[int]] = {}  # each in order
        for id in ids:
            self.add(id)

    def add(self, id: str) -> None:
        """Put an id in."""
        number = hash(id)
        part = self._parts.get(number % _PART_COUNT)
        if part is None:
            part = self._parts[number % _PART_COUNT] = array("q")
        at = bisect_left(part, number)
        if at == len(part) or part[at] != number:
            part.insert(at, number)

    def __contains__(self, id: str) -> bool:
        number = hash(id)
        part = self._parts.get(number % _PART_COUNT)
        if part is None:
            return False
        at = bisect_left(part, number)
        return at < len(part) and part[at] == number

    def __len__(self) -> int:
        return sum(map(len, self._parts.values()))

    def __eq__(self, other: object) -> bool:
        return self._parts == other._parts if isinstance(other, CompactIdSet) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # as a set

    def __repr__(self) -> str:
        return f"<{len(self)} ids>"


#: Breakpoints of which a run's header has hits: those that agents name beyond it are on their rows
#: alone.
_MAX_HITS: Final = 1000
#: Ended runs that are remembered as halted at their end.
_MAX_HALTED: Final = 1000


class LastRow(NamedTuple):
    """A run's last action; `timeline_rows.describe_row` describes it where the run breaks off."""

    kind: EventKind
    side: EventSide | None  # None for a debug message
    name: str | None
    seq: int


@dataclass
class EventStatus:
    """An event that may still get halt points."""

    event: Event
    resumed_at: float | None = None  # when its begin was answered, by the Core's clock
    has_begun: bool = False  # its begin halt point came


@dataclass
class RunStatus:
    """The debugger's state of one run."""

    run: Run
    open_events: dict[str, EventStatus] = field(default_factory=dict)
    ended: CompactIdSet = field(
        default_factory=CompactIdSet
    )  # events; as the next two: while the run lives
    rows: CompactIdSet = field(default_factory=CompactIdSet)  # halt points and debug messages
    commits: CompactIdSet = field(default_factory=CompactIdSet)
    #: Snapshots since the last commit that the agent asked for, which will cover them.
    snapshots_since_commit: int = 0
    pending: dict[str, HaltPoint] = field(default_factory=dict)  # oldest first
    agent_credentials: AgentCredentials | None = (
        None  # by what its agent is known; None: it can't come back
    )
    last_received: int = 0  # the number of its agent's last message
    last_row: LastRow | None = None

    def find_open_event(self, event_id: str) -> Event | None:
        """An event that may still get halt points; None where it has ended, or never began."""
        opened = self.open_events.get(event_id)
        return None if opened is None else opened.event


@dataclass
class RunStates:
    """All runs' headers, the open events and pending halt points of the live ones, breakpoints and
    prices.
    """

    status: dict[str, RunStatus] = field(default_factory=dict)  # oldest first
    live: dict[str, None] = field(default_factory=dict)  # what halted or started last comes last
    #: Runs that are halted, or were when they ended; of the latter a restart knows nothing.
    halted: dict[str, None] = field(default_factory=dict, compare=False)
    breakpoints: dict[str, BreakpointRule] = field(
        default_factory=dict
    )  # in the order in which they were made
    prices: tuple[Price, ...] = ()
    edit_rules: dict[str, EditRuleDefinition] = field(default_factory=dict)  # likewise

    @property
    def active(self) -> str | None:
        """The live run that halted or started last."""
        return next(reversed(self.live), None)

    def restore(self, records: Iterable[Record]) -> None:
        """Rebuild the state from stored records, in their order: older Cores stored longer texts."""
        for record in records:
            if isinstance(record, RunHeaderSaved):
                record = replace(record, run=truncate_header(record.run))
            self.apply(record)

    def apply(self, record: Record) -> HaltPoint | None:
        """Move the state by one record, and return the halt point it is about, as it then stands."""
        return RECORD_HANDLERS[type(record)](self, record)

    # ---- runs ---------------------------------------------------------------------------------------

    def _start(self, record: RunStarted) -> None:
        run = record.run
        # What is counted is counted by the records that follow.
        usage = find_sample_usage(run)
        begun = replace(
            truncate_header(run), rows=0, commits=0, usage=usage, hits=(), effects=UNSET
        )
        self.status[run.id] = RunStatus(begun, agent_credentials=record.agent_credentials)
        self.live[run.id] = None

    def _add_ended(self, record: EndedRunLoaded) -> None:
        self.status[record.run.id] = RunStatus(truncate_header(record.run))

    def _add_imported(self, record: ImportedRunSaved) -> None:
        run = record.history.run
        self.status[run.id] = RunStatus(truncate_header(run))

    def _delete(self, record: RunDeleted) -> None:
        del self.status[record.run]
        self.halted.pop(record.run, None)

    def _set_labels(self, record: RunRenamed | RunTagged) -> None:
        self.status[record.run.id].run = truncate_header(record.run)

    def _set_last_received(self, record: MessagesReceived) -> None:
        self.status[record.run].last_received = record.n

    def _set_header(self, record: RunHeaderSaved) -> None:
        run = record.run
        self.status[run.id].run = run
        if run.state is RunState.HALTED:
            self.live.pop(run.id, None)
            self.live[run.id] = None
        elif run.state is RunState.IDLE:  # it has ended
            self.live.pop(run.id, None)
            if len(self.halted) > _MAX_HALTED + len(self.live):
                self.halted.pop(next(run for run in self.halted if run not in self.live))
            self.status[run.id] = RunStatus(run)

    # ---- what a run has -----------------------------------------------------------------------------

    def _add_event(self, record: EventSaved) -> None:
        event = record.event
        status = self.status[event.run]
        if event.ended_at is None:
            status.open_events[event.id] = EventStatus(event)
            return
        status.open_events.pop(event.id, None)
        status.ended.add(event.id)
        if event.kind is EventKind.DEBUG_MESSAGE:
            status.rows.add(event.id)
            status.last_row = LastRow(event.kind, None, event.name, event.seq)
            status.run = replace(status.run, rows=event.seq)

    def _add_halt_point(self, record: HaltPointSaved) -> HaltPoint:
        halt_point = record.halt_point
        status = self.status[halt_point.run]
        status.rows.add(halt_point.id)
        status.last_row = LastRow(halt_point.kind, halt_point.side, halt_point.name, halt_point.seq)
        usage = status.run.usage
        if halt_point.usage is not None:
            usage = add_usage(usage, halt_point.usage)
        hits = _add_hits(status.run.hits, halt_point) if halt_point.breakpoints else status.run.hits
        effects = status.run.effects
        if halt_point.effects is not UNSET:
            effects = _count_effects(effects, halt_point.effects, halt_point.seq)
        status.run = replace(
            status.run, rows=halt_point.seq, usage=usage, hits=hits, effects=effects
        )
        opened = status.open_events.get(halt_point.event)
        if opened:
            opened.has_begun = True
            opened.resumed_at = halt_point.answered_at
        if halt_point.answer is None:
            status.pending[halt_point.id] = halt_point
            self.halted[halt_point.run] = None
        return halt_point

    def _edit(self, record: HaltPointEdited) -> HaltPoint:
        pending = self.status[record.run].pending
        edited = replace(
            pending[record.halt_point],
            revision=record.revision,
            edit=record.edit,
            sticky=record.sticky,
            guides=record.guides,
            edit_rules=record.edit_rules,
            model_summary=None,  # it was about what stood there before
        )
        pending[record.halt_point] = edited
        return edited

    def _answer(self, record: HaltPointAnswered) -> HaltPoint:
        status = self.status[record.run]
        answered = status.pending.pop(record.halt_point)
        if not status.pending and record.answer is not AnswerKind.WITHDRAWN:
            self.halted.pop(record.run, None)
        opened = status.open_events.get(answered.event)
        if opened:
            opened.resumed_at = record.at
        return replace(
            answered,
            answer=record.answer,
            answered_at=record.at,
            reason=record.reason,
            always=record.always,
            supplied=record.supplied,
            raised=record.raised,
        )

    def _set_sentence(self, record: SummarySaved) -> HaltPoint | None:
        pending = self.status[record.run].pending
        if record.id not in pending:
            return None
        summarized = pending[record.id] = replace(pending[record.id], model_summary=record.text)
        return summarized

    def _add_commit(self, record: CommitSaved) -> None:
        status = self.status[record.commit.run]
        status.commits.add(record.commit.id)
        _count(status, record.commit)

    def _ignore_note(self, record: NoteSaved) -> None:
        """Do nothing: the store has the note, and readers of the run get it from there."""

    # ---- breakpoints and prices ----------------------------------------------------------------------

    def _set_breakpoint(self, record: BreakpointSaved) -> None:
        self.breakpoints[record.breakpoint.id] = record.breakpoint

    def _delete_breakpoint(self, record: BreakpointDeleted) -> None:
        self.breakpoints.pop(record.breakpoint, None)

    def _set_prices(self, record: PricesSet) -> None:
        self.prices = record.prices

    def _set_edit_rule(self, record: EditRuleSaved) -> None:
        self.edit_rules[record.rule.id] = record.rule

    def _delete_edit_rule(self, record: EditRuleDeleted) -> None:
        self.edit_rules.pop(record.rule, None)


#: The function that applies a record, by type: each type of `Record` has one.
RECORD_HANDLERS: Final[dict[type[Record], Callable[[RunStates, Any], HaltPoint | None]]] = {
    RunStarted: RunStates._start,
    EndedRunLoaded: RunStates._add_ended,
    ImportedRunSaved: RunStates._add_imported,
    RunDeleted: RunStates._delete,
    RunRenamed: RunStates._set_labels,
    RunTagged: RunStates._set_labels,
    RunHeaderSaved: RunStates._set_header,
    MessagesReceived: RunStates._set_last_received,
    EventSaved: RunStates._add_event,
    HaltPointSaved: RunStates._add_halt_point,
    HaltPointEdited: RunStates._edit,
    HaltPointAnswered: RunStates._answer,
    SummarySaved: RunStates._set_sentence,
    CommitSaved: RunStates._add_commit,
    NoteSaved: RunStates._ignore_note,
    BreakpointSaved: RunStates._set_breakpoint,
    BreakpointDeleted: RunStates._delete_breakpoint,
    PricesSet: RunStates._set_prices,
    EditRuleSaved: RunStates._set_edit_rule,
    EditRuleDeleted: RunStates._delete_edit_rule,
}


def _count_effects(
    so_far: EffectCounts | UnsetType, report: EffectReport, seq: int
) -> EffectCounts | UnsetType:
    """The marked rows of a run, with the row of this number."""
    if not report.marks:
        return so_far
    warns = any(mark.severity is MarkSeverity.WARNING for mark in report.marks)
    if so_far is UNSET:
        return EffectCounts(rows=1, warnings=int(warns), first=seq)
    is_first = warns and so_far.warnings == 0
    return EffectCounts(
        rows=so_far.rows + 1,
        warnings=so_far.warnings + int(warns),
        first=seq if is_first else so_far.first,
    )


def _add_hits(
    so_far: tuple[BreakpointHits, ...], halt_point: HaltPoint
) -> tuple[BreakpointHits, ...]:
    """Count the hits of breakpoints, this halt point included."""
    found = {each.breakpoint: each for each in so_far}
    for breakpoint in dict.fromkeys(halt_point.breakpoints):
        if breakpoint in found or len(found) < _MAX_HITS:
            count = found[breakpoint].count if breakpoint in found else 0
            found[breakpoint] = BreakpointHits(
                breakpoint=breakpoint, count=count + 1, last=halt_point.seq
            )
    return tuple(found.values())


def _count(status: RunStatus, commit: Commit) -> None:
    """Count a commit for `Run.commits`."""
    if status.run.commits == 0 and not commit.snapshot and not commit.changes:
        return
    covered = 0 if commit.snapshot else status.snapshots_since_commit
    status.snapshots_since_commit = status.snapshots_since_commit + 1 if commit.snapshot else 0
    status.run = replace(status.run, commits=status.run.commits + 1 - covered)
