"""What a Core asks of its store."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from ..protocol.records import Record, RunHistory
from ..protocol.values import Breakpoint, Commit, Event


class Store(Protocol):
    """Keeps records, in order, and gives back what a person asks to see.

    Called on the Core's event loop. Writing never blocks it: `append` calls back once the records are
    recorded, and callbacks come in the order of the calls.
    """

    def load(self) -> Iterable[Record]:
        """The records of runs kept from before, for a Core that starts."""

    def append(self, records: Sequence[Record], recorded: Callable[[], None]) -> None:
        """Keep records.

        Args:
            records: In the order they became true.
            recorded: Called once they are kept; at once, where keeping takes no time.
        """

    async def history(self, run: str) -> RunHistory:
        """One run, whole. The run exists."""

    async def message(self, run: str, message: str) -> Breakpoint | Event | None:
        """A row's breakpoint or debug message."""

    async def commit(self, run: str, commit: str) -> Commit | None:
        """A commit with the contents of its files."""

    def close(self) -> None:
        """Write what is still to be written and let go. Idempotent."""
