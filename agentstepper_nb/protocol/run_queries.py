"""Version 2 between a view and the Core: a run, open or read, windows on what is long (0013), search."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from .data_model import Commit, RowNote, Run, TimelineRow
from .field_types import Count, ScopePath
from .lanes import Lane

#: The text of a person's search.
Query = Annotated[str, Meta(max_length=1000)]

#: The most hits that a search is to give.
Limit = Annotated[int, Meta(ge=1, le=500)]

# ---- view to Core -----------------------------------------------------------------------------------


class OpenRun(Struct, frozen=True, kw_only=True):
    """Answered by `RunOpened`, with its last rows; from then on the run's last rows are pushed."""

    run: str


class CloseRun(Struct, frozen=True, kw_only=True):
    """Ends what `OpenRun` began."""

    run: str


class ReadRun(Struct, frozen=True, kw_only=True):
    """Answered by `RunOpened` once, with all rows and commits; nothing is pushed for it."""

    run: str


class ListRuns(Struct, frozen=True, kw_only=True):
    """Answered by `RunsListed`: the headers of the runs before one that is known."""

    before: str
    limit: Annotated[int, Meta(ge=1, le=2000)] = 2000


class GetRows(Struct, frozen=True, kw_only=True):
    """Answered by `RowsPage`: of an opened run or another, nothing is pushed for it."""

    run: str
    first: Count = 1  # seqs, both included
    last: Count = 200
    around: str | None = None  # a row's id: then as many around it, whatever `first` says


class FindRows(Struct, frozen=True, kw_only=True):
    """Answered by `RowsFound`: the rows that a timeline filtered by a text and by agents shows."""

    run: str
    text: Query
    #: The lanes of those agents, the main one too; absent: all. Rows that wait are shown of each.
    lanes: Annotated[tuple[ScopePath, ...], Meta(max_length=1000)] | UnsetType = UNSET


class GetCommits(Struct, frozen=True, kw_only=True):
    """Answered by `CommitsPage`."""

    run: str
    before: Count | None = None  # older than the commit with this number in the run; null: the last
    limit: Annotated[int, Meta(ge=1, le=500)] = 200


class SearchRuns(Struct, frozen=True, kw_only=True):
    """Look for words in all that is kept of all runs; answered by `SearchResults`."""

    query: Query
    run: str | None = None  # in this one alone
    limit: Limit = 100


# ---- Core to view -----------------------------------------------------------------------------------


class RunOpened(Struct, frozen=True, kw_only=True):
    """Answers `OpenRun`."""

    run: Run
    rows: tuple[TimelineRow, ...]  # by seq: the last page, or all
    commits: tuple[Commit, ...]  # that stand at these rows; changes without contents
    notes: tuple[RowNote, ...]


class RunsListed(Struct, frozen=True, kw_only=True):
    """Answers `ListRuns`."""

    runs: tuple[Run, ...]  # oldest first
    more: Count  # older ones


class RowsPage(Struct, frozen=True, kw_only=True):
    """Answers `GetRows`."""

    run: str
    rows: tuple[TimelineRow, ...]  # by seq
    commits: tuple[Commit, ...]  # that stand at these rows; changes without contents


class RowsFound(Struct, frozen=True, kw_only=True):
    """Answers `FindRows`."""

    run: str
    seqs: tuple[int, ...]  # rising; the last ten thousand
    total: Count
    lanes: tuple[Lane, ...] | UnsetType = UNSET  # all of the run, the first first; absent: no agent


class CommitsPage(Struct, frozen=True, kw_only=True):
    """Answers `GetCommits`."""

    run: str
    commits: tuple[Commit, ...]  # oldest first; changes without contents
    before: (
        Count | None
    )  # the number of the first, to ask for those before it; null: there are none


class SearchHitPlace(StrEnum):
    """The kind of text in which a search found a hit."""

    ROW = "row"
    COMMIT = "commit"
    NOTE = "note"
    RUN = "run"  # its name, program or tags


class SearchHit(Struct, frozen=True, kw_only=True):
    """A text that contains all words of a search."""

    run: str
    place: SearchHitPlace
    id: str | None = None  # the row's (a note's too) or the commit's
    #: A piece of the text around them: plain, found, plain, found, … and so on, in turns.
    snippet: tuple[str, ...] = ()


class SearchResults(Struct, frozen=True, kw_only=True):
    """Answers `SearchRuns`."""

    hits: tuple[SearchHit, ...]  # newest first
    more: bool  # whether there are more than these
