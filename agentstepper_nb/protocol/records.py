"""The stored records: one record for each fact, in the order in which the facts occurred.

A Core's state is a fold over the records, so that a restart applies them again.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import dropwhile

from msgspec import UNSET, Struct, UnsetType

from .breakpoint_rules import BreakpointRule, Price
from .data_model import AnswerKind, Commit, Event, Failure, HaltPoint, RowNote, Run
from .edit_rules import EditRuleDefinition
from .field_types import HashKey
from .start_methods import StartMethod


class RunHistory(Struct, frozen=True, kw_only=True, rename={"halt_points": "breakpoints"}):
    """One whole run, as an export contains it."""

    run: Run
    events: tuple[Event, ...] = ()
    halt_points: tuple[HaltPoint, ...] = ()  # by seq
    commits: tuple[Commit, ...] = ()
    notes: tuple[RowNote, ...] = ()


def drop_unchanged_commits(commits: Iterable[Commit]) -> tuple[Commit, ...]:
    """A run's commits from the first change on, as `Run.commits` counts them.

    Args:
        commits: The run's commits, oldest first.
    """
    return tuple(dropwhile(lambda each: not each.snapshot and not each.changes, commits))


class AgentCredentials(Struct, frozen=True, kw_only=True, rename={"can_reconnect": "returns"}):
    """A run's data that only its Core has: its agent's credentials to reconnect, its start method."""

    secret: str  # the hex SHA-256 of the secret in its hello
    boot: str = ""  # its machine's boot id, where it has one
    can_reconnect: bool = True  # whether it comes back at all
    #: In hex: the key of the run's hashes, which no export has. None: an older Core began the run.
    hash_key: HashKey | None = None
    #: The run's start method; only of agents on the Core's machine. Exports omit this field.
    start: StartMethod | UnsetType = UNSET
    #: Start time of the agent's process in clock ticks since boot; only of agents on the Core's machine.
    process_start_ticks: int | UnsetType = UNSET


class RunStarted(Struct, frozen=True, tag="run_started", kw_only=True):
    """A run began."""

    run: Run
    agent_credentials: AgentCredentials | None = None  # None: its agent can't come back (version 1)


class EndedRunLoaded(Struct, frozen=True, tag="run_found", kw_only=True):
    """A run that ended earlier, whose contents stay in the store: only `Store.load` gives these."""

    run: Run


class MessagesReceived(Struct, frozen=True, tag="heard", kw_only=True):
    """The run's agent was heard up to this number of its messages; recorded with what they brought."""

    run: str
    n: int


class RunHeaderSaved(Struct, frozen=True, tag="run_changed", kw_only=True):
    """A run's state changed: the header replaces the one before."""

    run: Run


class RunRenamed(Struct, frozen=True, tag="run_renamed", kw_only=True):
    """A run got another name: the header replaces the one before."""

    run: Run


class RunTagged(Struct, frozen=True, tag="run_tagged", kw_only=True):
    """A run got other tags: the header replaces the one before."""

    run: Run


class ImportedRunSaved(Struct, frozen=True, tag="run_imported", kw_only=True):
    """A run came in whole, from a file."""

    history: RunHistory


class RunDeleted(Struct, frozen=True, tag="run_deleted", kw_only=True):
    """A run and all it held is gone."""

    run: str


class EventSaved(Struct, frozen=True, tag="event", kw_only=True):
    """An event began or ended: it replaces the one before."""

    event: Event


class HaltPointSaved(
    Struct, frozen=True, tag="breakpoint", kw_only=True, rename={"halt_point": "breakpoint"}
):
    """A halt point was reached."""

    halt_point: HaltPoint


class HaltPointEdited(
    Struct, frozen=True, tag="edited", kw_only=True, rename={"halt_point": "breakpoint"}
):
    """A pending halt point's edit was set, replaced or taken back (`edit` None).

    A sentence that it had is gone: it was about what stood there before.
    """

    run: str
    halt_point: str
    revision: int
    edit: str | None
    sticky: bool | UnsetType = UNSET  # as `HaltPoint.sticky`
    guides: tuple[str, ...] | UnsetType = UNSET  # as `HaltPoint.guides`
    edit_rules: tuple[str, ...] | UnsetType = UNSET  # as `HaltPoint.edit_rules`


class HaltPointAnswered(
    Struct, frozen=True, tag="answered", kw_only=True, rename={"halt_point": "breakpoint"}
):
    """A halt point no longer waits."""

    run: str
    halt_point: str
    answer: AnswerKind
    at: float
    reason: str | None = None  # of a denial
    always: bool = False  # of an approval: also from now on
    supplied: str | UnsetType = UNSET  # as `HaltPoint.supplied`
    raised: Failure | UnsetType = UNSET  # as `HaltPoint.raised`


class CommitSaved(Struct, frozen=True, tag="commit", kw_only=True):
    """A commit of the workspace arrived."""

    commit: Commit


class NoteSaved(Struct, frozen=True, tag="note", kw_only=True):
    """A person wrote beside a row: it replaces the note there; without text it takes it away."""

    note: RowNote


class SummarySaved(Struct, frozen=True, tag="sentence", kw_only=True):
    """A model put a halt point or a commit into one sentence."""

    run: str
    id: str  # the halt point's or the commit's
    key: str  # of what was asked and whom: the same isn't asked again
    text: str


class BreakpointSaved(Struct, frozen=True, tag="stop", kw_only=True, rename={"breakpoint": "stop"}):
    """A stop was set: it replaces the one of the same id."""

    breakpoint: BreakpointRule


class BreakpointDeleted(
    Struct, frozen=True, tag="stop_deleted", kw_only=True, rename={"breakpoint": "stop"}
):
    """A breakpoint is gone."""

    breakpoint: str


class EditRuleSaved(Struct, frozen=True, tag="edit_rule", kw_only=True):
    """An edit rule was set: it replaces the one of the same id."""

    rule: EditRuleDefinition


class EditRuleDeleted(Struct, frozen=True, tag="edit_rule_deleted", kw_only=True):
    """An edit rule is gone."""

    rule: str


class PricesSet(Struct, frozen=True, tag="prices", kw_only=True):
    """The prices of all models, which replace the earlier prices."""

    prices: tuple[Price, ...]


Record = (
    RunStarted
    | EndedRunLoaded
    | MessagesReceived
    | RunHeaderSaved
    | RunRenamed
    | RunTagged
    | ImportedRunSaved
    | RunDeleted
    | EventSaved
    | HaltPointSaved
    | HaltPointEdited
    | HaltPointAnswered
    | CommitSaved
    | NoteSaved
    | SummarySaved
    | BreakpointSaved
    | BreakpointDeleted
    | EditRuleSaved
    | EditRuleDeleted
    | PricesSet
)
