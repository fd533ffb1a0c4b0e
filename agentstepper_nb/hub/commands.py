"""What people tell a Core to do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence

from ..core import Debugger, Output
from ..errors import CommandError
from ..protocol.records import SentenceMade
from ..protocol.stops import Price, Stop
from ..protocol.values import Breakpoint, Commit, Event, EventKind, Note
from ..store import Store
from .edit_checks import EditChecks
from .peers import View


class Commands(ABC):
    """The half of the service that carries out commands; what each raises is the debugger's."""

    store: Store
    debugger: Debugger
    clock: Callable[[], float]

    @abstractmethod
    def perform(self, outputs: Sequence[Output], by: View | None = None) -> None:
        """Record outputs, then perform them."""

    def step(
        self,
        run_id: str,
        breakpoint: str | None = None,
        revision: int | None = None,
        edit: str | None = None,
    ) -> None:
        """As `Debugger.step`."""
        self.perform(self.debugger.step(run_id, self.clock(), breakpoint, revision, edit))

    def resume(
        self,
        run_id: str,
        breakpoint: str | None = None,
        revision: int | None = None,
        edit: str | None = None,
    ) -> None:
        """As `Debugger.resume`."""
        self.perform(self.debugger.resume(run_id, self.clock(), breakpoint, revision, edit))

    def approve(
        self,
        run_id: str,
        breakpoint: str,
        revision: int,
        edit: str | None = None,
        *,
        always: bool = False,
        confirmed: bool = False,
    ) -> None:
        """As `Debugger.approve`."""
        said = {"always": always, "confirmed": confirmed}
        now = self.clock()
        self.perform(self.debugger.approve(run_id, now, breakpoint, revision, edit, **said))

    def deny(self, run_id: str, breakpoint: str, revision: int, reason: str) -> None:
        """As `Debugger.deny`."""
        self.perform(self.debugger.deny(run_id, self.clock(), breakpoint, revision, reason))

    def halt(self, run_id: str) -> None:
        """As `Debugger.halt`."""
        self.perform(self.debugger.halt(run_id))

    def stop(self, run_id: str) -> None:
        """As `Debugger.stop`."""
        self.perform(self.debugger.stop(run_id, self.clock()))

    def edit(
        self, run_id: str, breakpoint: str, edit: str | None, revision: int | None = None
    ) -> None:
        """As `Debugger.edit`."""
        self.perform(self.debugger.edit(run_id, breakpoint, edit, revision))

    async def check_edit(
        self, run_id: str, breakpoint: str, edit: str, revision: int | None = None
    ) -> None:
        """Ask an agent whether it takes an edit, before it is set.

        Raises:
            CommandError: `unknown_run`, `stale`.
            ProtocolError: `invalid_edit`: it doesn't, or it is no edit.
        """
        checks = self._edit_checks(run_id)
        if self.debugger.is_new_edit(run_id, breakpoint, edit, revision) and checks is not None:
            await checks.ask(breakpoint, edit)

    def checks_edits(self, run_id: str) -> bool:
        """Whether a run's agent is there, and says of edits if it takes them."""
        return self._edit_checks(run_id) is not None

    @abstractmethod
    def _edit_checks(self, run_id: str) -> EditChecks | None:
        """What asks a run's agent about edits; None where it is away, or can't say."""

    def rename(self, run_id: str, name: str, by: View | None = None) -> None:
        """As `Debugger.rename`."""
        self.perform(self.debugger.rename(run_id, name), by)

    def tag(self, run_id: str, tags: Sequence[str]) -> None:
        """As `Debugger.tag`."""
        self.perform(self.debugger.tag(run_id, tags))

    def set_stop(self, stop: Stop) -> None:
        """As `Debugger.set_stop`."""
        self.perform(self.debugger.set_stop(stop))

    def delete_stop(self, stop_id: str) -> None:
        """As `Debugger.delete_stop`."""
        self.perform(self.debugger.delete_stop(stop_id))

    def set_prices(self, prices: Iterable[Price]) -> None:
        """As `Debugger.set_prices`."""
        self.perform(self.debugger.set_prices(prices))

    async def write_note(self, run_id: str, message: str, text: str) -> None:
        """Write beside a row, in place of what stands there; "" takes it away.

        Raises:
            CommandError: `unknown_run`, or `unknown_content`: the run has no such row.
        """
        await self.find_row(run_id, message)
        note = Note(run=run_id, message=message, text=text, at=self.clock())
        self.perform(self.debugger.write_note(note))

    async def put_sentence(self, made: SentenceMade) -> None:
        """Put a breakpoint or a commit into one sentence, which a model made.

        Raises:
            CommandError: `unknown_run`, or `unknown_content`: the run has no such thing.
        """
        self.debugger.run(made.run)
        about: Breakpoint | Commit | None = await self.store.commit(made.run, made.id)
        if about is None:
            found = await self.find_row(made.run, made.id)
            about = found if isinstance(found, Breakpoint) else None
        if about is None:
            raise _no_row(made.run)
        self.perform(self.debugger.put_sentence(made, about))

    async def find_row(self, run_id: str, message: str) -> Breakpoint | Event:
        """A row's breakpoint or debug message.

        Raises:
            CommandError: `unknown_run`, or `unknown_content`: the run has no such row.
            DamagedRunError: What is kept of the run is hurt.
        """
        self.debugger.run(run_id)
        try:
            found = await self.store.message(run_id, message)
        except Exception:
            self.debugger.run(run_id)  # deleted meanwhile
            raise
        if isinstance(found, Event) and found.kind is not EventKind.DEBUG_MESSAGE:
            found = None
        if found is None:
            raise _no_row(run_id)
        return found


def _no_row(run: str) -> CommandError:
    return CommandError("unknown_content", "This run has no such message: open the run again.", run)
