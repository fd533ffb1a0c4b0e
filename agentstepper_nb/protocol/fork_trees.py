"""The tree of runs that were started again from each other, and how files are put back."""

from __future__ import annotations

from msgspec import UNSET, Struct, UnsetType

from .data_model import Run
from .field_types import Count, Id, Positive
from .overview import RunOutcome


class ListForks(Struct, frozen=True, kw_only=True):
    """Answered by `ForkTree`."""

    run: Id


class ForkNode(Struct, frozen=True, kw_only=True):
    """One run of the tree. Its header names its parent, the row and the cost."""

    run: Run
    point: str = ""  # the row it is forked at, in words: "tool call look_up"; "": at none
    edit: str = ""  # what a person changed there, in one line; "": nothing, or not yet
    outcome: RunOutcome
    reason: str = ""  # why the run counts as given up
    changed_files: Count = 0


class RestoredFolder(Struct, frozen=True, kw_only=True):
    """A workspace in which a fork restored files in place, and that wasn't put back since."""

    folder: str
    restore: Id  # names the restore, the newest of its folder
    run: Id  # a run of the tree that worked on the folder
    recorded_run: Id  # the run whose files were restored
    row: Positive  # the row that they are of
    is_done: bool = (
        True  # False: it was interrupted, or goes on, so that the files are of two states
    )


class ForkTree(Struct, frozen=True, kw_only=True):
    """Answers `ListForks`: the runs of the tree that a run belongs to."""

    nodes: tuple[ForkNode, ...]  # each below its parent, siblings oldest first
    more: Count = 0  # further runs of the tree
    restored: tuple[RestoredFolder, ...] = ()


class PutBack(Struct, frozen=True, kw_only=True):
    """Make a workspace what it was before a fork restored files in it.

    Answered by `FilesPutBack`, or refused by `cannot_put_back`.
    """

    run: Id  # a run that worked on the workspace
    restore: Id | UnsetType = UNSET  # the restore that the person saw; UNSET: the newest


class FilesPutBack(Struct, frozen=True, kw_only=True):
    """Answers `PutBack`."""

    report: str  # what was written and deleted, for a person


ForkAnswer = ForkTree | FilesPutBack
#: The names of these in the envelope.
FORK_COMMANDS: dict[str, type[Struct]] = {"list_forks": ListForks, "put_back": PutBack}
FORK_ANSWERS: dict[str, type[Struct]] = {"forks": ForkTree, "files_put_back": FilesPutBack}
