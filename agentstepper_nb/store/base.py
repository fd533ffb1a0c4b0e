"""What a Core asks of its store."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple, Protocol

from msgspec.structs import replace

from ..protocol.data_model import Commit, Event, HaltPoint, RowNote
from ..protocol.records import AgentCredentials, Record, RunHistory
from ..protocol.run_queries import SearchHit
from ..protocol.store_info import StoreInfo

#: Seconds after which what is recorded is synced as well, where nobody asked for it before.
MAX_SYNC_DELAY_S: Final = 0.01


#: Is shown a row.
RowConsumer = Callable[[HaltPoint | Event], None]
#: Whether a halt point's contents are needed.
ContentPredicate = Callable[[HaltPoint], bool]


def do_nothing() -> None:
    """Called back where nobody wants to know."""


def strip_contents(commit: Commit) -> Commit:
    """A commit whose changes don't carry the contents of files."""
    return replace(commit, changes=tuple(replace(change, body=None) for change in commit.changes))


class RowPage(NamedTuple):
    """Rows of a run that follow each other, and what stands at them."""

    rows: tuple[HaltPoint | Event, ...]  # by seq: halt points and debug messages
    #: In their order, without contents: those of the rows' events, and those that came while one of the
    #: rows was the last.
    commits: tuple[Commit, ...]


class CommitPage(NamedTuple):
    """Commits of a run that follow each other."""

    commits: tuple[Commit, ...]  # oldest first, without contents
    before: (
        int | None
    )  # the number of the first, by which those before it are asked for; None: none are


class Store(Protocol):
    """Keeps records, in order, and gives back what a person asks to see.

    Called on the Core's event loop. Writing never blocks it: `append` calls back on that loop, and
    callbacks of one kind come in the order of the calls.

    *Recorded* survives the process, even where it is killed; *durable* survives the machine.
    """

    #: Called on the loop with how it stands where it can't keep all that comes, and where it can again.
    on_write_trouble: Callable[[StoreInfo], None]

    @property
    def is_write_blocked(self) -> bool:
        """Whether nothing can be written for the moment, so that what is appended waits."""

    def load(self) -> Iterable[Record]:
        """What a Core that starts replays.

        For each run that ended earlier one `EndedRunLoaded`; for each that was live `RunStarted` with
        its header as it was (its rows and commits counted anew) and the records that lead to where it
        stood, as its halt points and events now are, and `MessagesReceived` at the end.
        """

    def append(
        self,
        records: Sequence[Record],
        on_recorded: Callable[[], None] = do_nothing,
        *,
        durable: bool = False,
        on_synced: Callable[[], None] | None = None,
    ) -> None:
        """Keep records, all of them or none.

        Args:
            records: In the order they became true; of any number of runs.
            on_recorded: Called once they are recorded; at once, where keeping takes no time or nobody
                waits for it (`Durability.RELAXED`).
            durable: Whether `on_recorded` is to wait until they are durable.
            on_synced: Called once they are durable, which is at most `MAX_SYNC_DELAY_S` later.
        """

    def call_when_recorded(self, on_recorded: Callable[[], None]) -> None:
        """Call back after all calls of what was appended before, where anything can be written.

        Where nothing can right now, it isn't waited for: `is_write_blocked` and `on_write_trouble`
        tell so.
        """

    async def history(self, run: str) -> RunHistory:
        """One run, whole, with all that was appended before. The run exists.

        Raises:
            DamagedRunError: What is kept of it is hurt.
        """

    async def message(self, run: str, message: str) -> HaltPoint | Event | None:
        """A row's halt point or debug message. Errors as `history`."""

    async def commit(self, run: str, commit: str) -> Commit | None:
        """A commit with the contents of its files. Errors as `history`."""

    async def page(self, run: str, first: int, last: int) -> RowPage:
        """The rows with these numbers, as many as there are, read without the others.

        Args:
            run: The run, which exists.
            first: The number of the first; with 0, commits from before the first are among them.
            last: The number of the last.

        Raises:
            DamagedRunError: One of them, or of what stands at them, is hurt or missing.
        """

    async def visit_rows(
        self, run: str, first: int, last: int, on_row: RowConsumer, needs_content: ContentPredicate
    ) -> tuple[Commit, ...]:
        """Show the rows with these numbers one by one, so that not all of their contents are held.

        Args:
            run: The run, which exists.
            first: The number of the first; with 0, commits from before the first are given.
            last: The number of the last.
            on_row: Called with each of them in any order, on any thread.
            needs_content: Whether the contents of a halt point are needed, asked with "" in their
                place: where they aren't, `on_row` may get "" as well.

        Returns:
            The commits of their page. Errors as `page`.
        """

    async def find_seq(self, run: str, message: str) -> int | None:
        """The number of a row; None where the run has no such row. Errors as `history`."""

    async def commits(self, run: str, before: int | None = None, limit: int = 200) -> CommitPage:
        """The last commits, or those before one of them; errors as `history`.

        Args:
            run: The run, which exists.
            before: What a page said before: older ones than on that page.
            limit: The most that is given.
        """

    async def notes(self, run: str) -> tuple[RowNote, ...]:
        """What is written beside a run's rows. Errors as `history`."""

    async def search(self, query: str, run: str | None = None, limit: int = 100) -> list[SearchHit]:
        """Where words stand, newest first, in all that was appended before.

        Args:
            query: Words, all of which have to be there, in any order; the last may be a beginning.
                `"in quotes"` they stand side by side.
            run: Look in this run alone.
            limit: The most that is given.

        Raises:
            ProtocolError: `invalid_search`: no word in it, or a quote that isn't closed.
        """

    async def agent_credentials(self, run: str) -> AgentCredentials | None:
        """What its Core alone knows of a run that exists; None of imported ones and of version 1's.

        Errors as `history`.
        """

    async def find_model_summary(self, key: str) -> str | None:
        """What a model once made of the same: the text of a `SummarySaved` with this key."""

    async def info(self) -> StoreInfo:
        """How and where it keeps runs, with its size."""

    def close(self) -> None:
        """Write and sync what is still to be written and let go. Blocks; idempotent."""
