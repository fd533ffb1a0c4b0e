"""The searches for deciding events that views have started: one per run at a time, each a program."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from msgspec import UNSET
from msgspec.structs import replace

from ..core import RecordOutput
from ..errors import CommandError
from ..protocol import run_programs as wire
from ..protocol.records import RunDeleted, RunStarted
from ..protocol.run_programs import BisectPhase, BisectState
from .command_starter import CommandStarter
from .search_programs import KILL_TIMEOUT_S, ProgramEnd, SearchProgram

#: Searches that run at once, and finished searches that are remembered with their results.
MAX_RUNNING: Final = 4
MAX_REMEMBERED: Final = 100
_MAX_PROBES: Final = 100
_MAX_MESSAGE_CHARS: Final = 4000
_LIVE: Final = (BisectPhase.READING, BisectPhase.ASKING, BisectPhase.RUNNING)

SEARCHES_ALREADY: Final = "This run is searched already. Wait for the result, or cancel the search."
TOO_MANY: Final = (
    f"{MAX_RUNNING} searches for deciding events go on or wait for an answer, which is the most at "
    "once. Wait for one, or cancel it."
)
NO_SEARCH: Final = "No search of this run goes on. Start one."
NO_QUESTION: Final = "The search of this run asks nothing now. Look at its state."
CANCELLED: Final = "The search was cancelled."


class RunSearches:
    """The searches of one Core, in its memory. It lives on the Core's loop.

    Args:
        starter: Starts their programs.
        log: Gets a line of each start and end.
        kill_timeout_s: Seconds that a cancelled search has to end by itself.
    """

    def __init__(
        self, starter: CommandStarter, log: logging.Logger, kill_timeout_s: float = KILL_TIMEOUT_S
    ) -> None:
        self._starter, self._log = starter, log
        self._kill_timeout_s = kill_timeout_s
        self._searches: dict[
            str, _Search
        ] = {}  # by the good run; those that ended first come first
        self._last_revision = 0
        self._changed = asyncio.Event()  # of what is now; another comes with the next change
        self._is_closed = False

    def notify(self, output: RecordOutput) -> None:
        """Handle a record: a run began, perhaps a search's execution, or a run was deleted."""
        record = output.record
        if isinstance(record, RunDeleted):
            search = self._searches.get(record.run)
            if search is not None and search.state.phase not in _LIVE:
                del self._searches[record.run]
        elif isinstance(record, RunStarted) and record.run.forked_from:
            origin = record.run.forked_from
            search = self._searches.get(origin.run)
            is_cut = origin.row is UNSET and not origin.is_live
            if search is not None and search.state.phase is BisectPhase.RUNNING and is_cut:
                search.change(execution=record.run.id)

    async def close(self) -> None:
        """Wait for nothing more; the programs go on."""
        self._is_closed = True
        self._changed.set()

    def find(self, run: str) -> BisectState:
        """The state of a run's search, or the state "none"."""
        search = self._searches.get(run)
        return BisectState(run=run, revision=0) if search is None else search.state

    async def wait(self, run: str, seen: int) -> BisectState:
        """Wait for a run's search to have another revision than the one that was seen."""
        while (state := self.find(run)).revision == seen and not self._is_closed:
            await self._changed.wait()
        return state

    async def start(self, command: wire.StartBisect, folder: str) -> BisectState:
        """Start a search.

        Args:
            command: The person's request.
            folder: The working directory of the check.

        Raises:
            CommandError: `cannot_bisect`: this run is searched already, too many searches run, or the
                program can't start.
        """
        run = command.run
        before = self._searches.get(run)
        if before is not None and before.state.phase in _LIVE:
            raise CommandError("cannot_bisect", SEARCHES_ALREADY, run)
        if sum(each.state.phase in _LIVE for each in self._searches.values()) >= MAX_RUNNING:
            raise CommandError("cannot_bisect", TOO_MANY, run)
        search = self._add(command)
        runs = [run, *([] if command.bad is None else [command.bad])]
        words = [*runs, f"--check={command.check}", f"--repeat={command.repeat}"]
        # The search goes on, though the view that asked for it leaves.
        await asyncio.shield(self._start_program(search, words, folder))
        return search.state

    async def _start_program(self, search: _Search, words: list[str], folder: str) -> None:
        try:
            await search.program.start(words, folder)
        except OSError as error:
            run = search.state.run
            del self._searches[run]
            self._wake()
            message = f"No program starts: {error}."
            raise CommandError("cannot_bisect", message, run) from None

    def answer(self, run: str, *, goes_on: bool) -> BisectState:
        """Answer the question of a run's search.

        Raises:
            CommandError: `cannot_bisect`: it asks nothing.
        """
        search = self._searches.get(run)
        if search is None or search.state.phase is not BisectPhase.ASKING:
            raise CommandError("cannot_bisect", NO_QUESTION, run)
        search.is_declined = not goes_on
        search.program.answer(goes_on=goes_on)
        return search.change(phase=BisectPhase.RUNNING, question="")

    def cancel(self, run: str) -> BisectState:
        """Cancel a run's search.

        Raises:
            CommandError: `cannot_bisect`: no search of the run is in progress.
        """
        search = self._searches.get(run)
        if search is None or search.state.phase not in _LIVE:
            raise CommandError("cannot_bisect", NO_SEARCH, run)
        if search.state.is_cancelling:
            return search.state
        search.program.cancel()
        return search.change(is_cancelling=True)

    # ---- what its program tells -----------------------------------------------------------------------

    def _add(self, command: wire.StartBisect) -> _Search:
        run = command.run
        self._searches.pop(run, None)
        ended = [run for run, each in self._searches.items() if each.state.phase not in _LIVE]
        for each in ended[: max(0, len(self._searches) + 1 - MAX_REMEMBERED)]:
            del self._searches[each]
        state = BisectState(
            run=run,
            revision=0,
            phase=BisectPhase.READING,
            bad=command.bad,
            check=command.check,
            repeat=command.repeat,
        )
        self._searches[run] = search = _Search(state, self._number_change)
        search.program = SearchProgram(
            self._starter, self._log, search.on_report, search.on_end, self._kill_timeout_s
        )
        search.change()
        return search

    def _number_change(self) -> int:
        """The revision of a change, which happens now."""
        self._last_revision += 1
        self._wake()
        return self._last_revision

    def _wake(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()


class _Search:
    """One search: its state, and its program."""

    program: SearchProgram

    def __init__(self, state: BisectState, number_change: Callable[[], int]) -> None:
        self.state = state
        self._number_change = number_change
        self.is_declined = False
        self._result: wire.ResultReport | wire.FailureReport | None = None

    def change(self, **fields: object) -> BisectState:
        """Change the search's state."""
        self.state = replace(self.state, revision=self._number_change(), **fields)
        return self.state

    def on_report(self, report: wire.BisectReport) -> None:
        """Handle the program's report."""
        match report:
            case wire.QuestionReport(text=text, queries=queries):
                self.change(phase=BisectPhase.ASKING, question=text, queries=queries)
            case wire.ProbeReport(number=number, probe=probe):
                probes = (*self.state.probes[:number], probe)[:_MAX_PROBES]
                self.change(phase=BisectPhase.RUNNING, probes=probes, execution=None)
            case wire.ResultReport() | wire.FailureReport():
                self._result = report

    def on_end(self, end: ProgramEnd) -> None:
        """Handle the program's end: the search may be started again."""
        phase, message, row = self._conclude(end)
        self.change(
            phase=phase,
            question="",
            message=message[:_MAX_MESSAGE_CHARS],
            row=row,
            execution=None,
            is_cancelling=False,
        )

    def _conclude(self, end: ProgramEnd) -> tuple[BisectPhase, str, int | None]:
        result = self._result
        if isinstance(result, wire.ResultReport):
            if result.row is not None:
                return BisectPhase.FOUND, result.message, result.row
            phase = BisectPhase.CANCELLED if self.is_declined else BisectPhase.UNDECIDED
            return phase, result.message, None
        if self.state.is_cancelling:
            return BisectPhase.CANCELLED, CANCELLED, None
        if result is not None:
            return BisectPhase.FAILED, result.message, None
        said = end.output.removeprefix("agentstepper bisect: ") or "It printed nothing."
        message = f"The search ended with exit code {end.code} before it had a result: {said}"
        return BisectPhase.FAILED, message, None
