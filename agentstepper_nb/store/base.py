"""The interface of a Core's store."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple, Protocol

from msgspec.structs import replace

from ..protocol.data_model import Commit, Event, HaltPoint, RowNote
from ..protocol.records import AgentCredentials, Record, RunHistory
from ..protocol.run_queries import SearchHit
from ..protocol.store_info import StoreInfo

#: Seconds after which recorded data is synced, if no caller has requested it before.
MAX_SYNC_DELAY_S: Final = 0.01


#: Is shown a row.
RowConsumer = Callable[[HaltPoint | Event], None]
#: Whether a halt point's contents are needed.
ContentPredicate = Callable[[HaltPoint], bool]


def do_nothing() -> None:
    """Do nothing: the default callback."""


def strip_contents(commit: Commit) -> Commit:
    """Return a commit without the contents of changed files."""
    return replace(commit, changes=tuple(replace(change, body=None) for change in commit.changes))


class RowPage(NamedTuple):
    """Consecutive rows of a run, and the commits at them."""

    rows: tuple[HaltPoint | Event, ...]  # by seq: halt points and debug messages
    #: In their order, without contents: the commits of the rows' events, and those made while one of the
    #: rows was the last.
    commits: tuple[Commit, ...]


class CommitPage(NamedTuple):
    """Commits of a run that follow each other."""

    commits: tuple[Commit, ...]  # oldest first, without contents
    before: (
        int | None
    )  # the number of the first, by which those before it are asked for; None: none are


class Store(Protocol):
    """Stores records, in order, and reads runs.

    Called on the Core's event loop. Writing never blocks it: `append` calls back on that loop, and
    callbacks of one kind are called in the order of the `append` calls.

    *Recorded* data survives the process, even if it is killed; *durable* data survives the machine.
    """

    #: Called on the loop with the store's state when writing begins to fail, and when it works again.
    on_write_trouble: Callable[[StoreInfo], None]

    @property
    def is_write_blocked(self) -> bool:
        """Whether writing fails at present, so that appended records wait."""

    def load(self) -> Iterable[Record]:
        """The records that a starting Core replays.

        For each ended run one `EndedRunLoaded`; for each live run `RunStarted` with its original header
        (its rows and commits counted anew), the records that lead to its present state, with its halt
        points and events as they are now, and `MessagesReceived` at the end.
        """

    def append(
        self,
        records: Sequence[Record],
        on_recorded: Callable[[], None] = do_nothing,
        *,
        durable: bool = False,
        on_synced: Callable[[], None] | None = None,
    ) -> None:
        """Store records, all of them or none.

        Args:
            records: Records of any number of runs, in the order of their creation.
            on_recorded: Called once the records are recorded; at once if writing takes no time, or with
                `Durability.RELAXED`.
            durable: Whether `on_recorded` is called only when the records are durable.
            on_synced: Called once the records are durable, at most `MAX_SYNC_DELAY_S` later.
        """

    def call_when_recorded(self, on_recorded: Callable[[], None]) -> None:
        """Call back after the callbacks of all earlier `append` calls, if the store can be written.

        If it can't be written now, or is closed, the callback doesn't wait: `is_write_blocked` and
        `on_write_trouble` report that state.
        """

    async def history(self, run: str) -> RunHistory:
        """Read a whole run, with all that was appended before. The run must exist.

        Raises:
            DamagedRunError: The stored run is damaged.
        """

    async def message(self, run: str, message: str) -> HaltPoint | Event | None:
        """A row's halt point or debug message. Errors as `history`."""

    async def commit(self, run: str, commit: str) -> Commit | None:
        """A commit with the contents of its files. Errors as `history`."""

    async def page(self, run: str, first: int, last: int) -> RowPage:
        """Read the rows with these numbers, as many as exist, without reading other rows.

        Args:
            run: The id of an existing run.
            first: The number of the first row; with 0, commits from before the first row are included.
            last: The number of the last row.

        Raises:
            DamagedRunError: One of the rows, or of their commits, is damaged or missing.
        """

    async def visit_rows(
        self, run: str, first: int, last: int, on_row: RowConsumer, needs_content: ContentPredicate
    ) -> tuple[Commit, ...]:
        """Visit the rows with these numbers one by one, so that few contents are in memory.

        Args:
            run: The id of an existing run.
            first: The number of the first row; with 0, commits from before the first row are returned.
            last: The number of the last row.
            on_row: Called with each row in any order, on any thread.
            needs_content: Whether the contents of a halt point are needed, called with the halt point
                with "" as contents. If they aren't needed, `on_row` may get "" as well.

        Returns:
            The commits of these rows' page. Errors as `page`.
        """

    async def find_seq(self, run: str, message: str) -> int | None:
        """Find a row's number; None if the run has no such row. Errors as `history`."""

    async def commits(self, run: str, before: int | None = None, limit: int = 200) -> CommitPage:
        """Read the last commits, or those before an earlier page; errors as `history`.

        Args:
            run: The id of an existing run.
            before: An earlier page's `before`: read older commits than on that page.
            limit: The most commits.
        """

    async def notes(self, run: str) -> tuple[RowNote, ...]:
        """Read the notes beside a run's rows. Errors as `history`."""

    async def search(self, query: str, run: str | None = None, limit: int = 100) -> list[SearchHit]:
        """Find text, newest first, in all that was appended before.

        Args:
            query: Words that must all occur, in any order; the last may be the beginning of a word.
                Words `"in quotes"` must stand side by side.
            run: The id of the only run to search; None: all runs.
            limit: The most hits.

        Raises:
            ProtocolError: `invalid_search`: the query has no word, or a quote isn't closed.
        """

    async def agent_credentials(self, run: str) -> AgentCredentials | None:
        """Read the credentials of an existing run's agent; None for imported and version 1 runs.

        Errors as `history`.
        """

    async def find_model_summary(self, key: str) -> str | None:
        """Find the text of an earlier `SummarySaved` with this key, which a model has made."""

    async def info(self) -> StoreInfo:
        """Report the store's kind, location and size."""

    def close(self) -> None:
        """Write and sync the waiting records, and close the store. Blocks; idempotent."""
