"""What a Core asks of its store."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, Protocol

from ..protocol.records import Record, RunHistory
from ..protocol.values import Breakpoint, Commit, Event, Hit, StoreInfo

#: Seconds after which what is recorded is synced as well, where nobody asked for it before.
SYNC_WITHIN: Final = 0.01


def nothing() -> None:
    """Called back where nobody wants to know."""


class Store(Protocol):
    """Keeps records, in order, and gives back what a person asks to see.

    Called on the Core's event loop. Writing never blocks it: `append` calls back on that loop, and
    callbacks of one kind come in the order of the calls.

    *Recorded* survives the process, even where it is killed; *durable* survives the machine.
    """

    #: Called on the loop with how it stands where it can't keep all that comes, and where it can again.
    on_trouble: Callable[[StoreInfo], None]

    @property
    def stuck(self) -> bool:
        """Whether nothing can be written for the moment, so that what is appended waits."""

    def load(self) -> Iterable[Record]:
        """What a Core that starts replays.

        For each run that ended earlier one `RunFound`; for each that was live `RunStarted` with the
        header as it was (its rows and commits counted anew) and the records that lead to where it
        stood, as its breakpoints and events now are, and `AgentHeard` at the end.
        """

    def append(
        self,
        records: Sequence[Record],
        done: Callable[[], None] = nothing,
        *,
        durable: bool = False,
        synced: Callable[[], None] | None = None,
    ) -> None:
        """Keep records, all of them or none.

        Args:
            records: In the order they became true; of any number of runs.
            done: Called once they are recorded; at once, where keeping takes no time or nobody waits
                for it (`Durability.RELAXED`).
            durable: Whether `done` is to wait until they are durable.
            synced: Called once they are durable, which is at most `SYNC_WITHIN` later.
        """

    def settled(self, done: Callable[[], None]) -> None:
        """Call back after all calls of what was appended before, where anything can be written.

        Where nothing can right now, it isn't waited for: `stuck` and `on_trouble` tell so.
        """

    async def history(self, run: str) -> RunHistory:
        """One run, whole, with all that was appended before. The run exists.

        Raises:
            DamagedRunError: What is kept of it is hurt.
        """

    async def message(self, run: str, message: str) -> Breakpoint | Event | None:
        """A row's breakpoint or debug message. Errors as `history`."""

    async def commit(self, run: str, commit: str) -> Commit | None:
        """A commit with the contents of its files. Errors as `history`."""

    async def search(self, query: str, run: str | None = None, limit: int = 100) -> list[Hit]:
        """Where words stand, newest first, in all that was appended before.

        Args:
            query: Words, all of which have to be there, in any order; the last may be a beginning.
                `"in quotes"` they stand side by side.
            run: Look in this run alone.
            limit: The most that is given.

        Raises:
            ProtocolError: `invalid_search`: no word in it, or a quote that isn't closed.
        """

    async def sentence(self, key: str) -> str | None:
        """What a model once made of the same: the text of a `SentenceMade` with this key."""

    async def info(self) -> StoreInfo:
        """How and where it keeps runs, with its size."""

    def close(self) -> None:
        """Write and sync what is still to be written and let go. Blocks; idempotent."""
