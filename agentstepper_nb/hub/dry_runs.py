"""Trying breakpoints on runs that are recorded."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from fnmatch import fnmatchcase
from typing import Final, NamedTuple

from ..core.breakpoints import check_breakpoint
from ..core.breakpoints import dry_run as core_dry_run
from ..errors import CommandError, DamagedRunError, ProtocolError
from ..protocol.breakpoint_rules import BreakpointRule, DryRunOutcome
from ..protocol.data_model import Run
from .run_service import RunService

#: On so many runs a breakpoint is tried where none is named.
MAX_RUNS: Final = 20
#: Seconds that a dry run on one run may take.
DRY_RUN_TIMEOUT_S: Final = 30.0


class RunDryRun(NamedTuple):
    """A run, and where the breakpoint would have hit in it."""

    run: Run
    outcome: DryRunOutcome


async def dry_run(
    hub: RunService,
    breakpoint: BreakpointRule,
    run: str | None = None,
    is_wanted: Callable[[], bool] = lambda: True,
) -> list[RunDryRun]:
    """Where a breakpoint, set or not, would have hit.

    Args:
        hub: Whose runs.
        breakpoint: The breakpoint.
        run: The run's id; None: the last runs of agents that the breakpoint is for, newest first,
            without those that can't be read.
        is_wanted: Whether the answer is still waited for.

    Raises:
        ProtocolError: `invalid_stop`; also where to try it takes too long.
        CommandError: `unknown_run`; `superseded`: the answer isn't wanted any more.
        DamagedRunError: What is kept of the run is hurt.
    """
    check_breakpoint(breakpoint)
    if run is not None:
        return [await _try(hub, breakpoint, run, is_wanted)]
    outcomes = []
    fitting = (
        each.id for each in reversed(hub.runs()) if fnmatchcase(each.program, breakpoint.program)
    )
    for _, id in zip(range(MAX_RUNS), fitting, strict=False):
        try:
            outcomes.append(await _try(hub, breakpoint, id, is_wanted))
        except CommandError as error:
            if error.code != "unknown_run":  # deleted meanwhile
                raise
        except DamagedRunError as error:
            hub.log.warning("%s", error)
    return outcomes


def _raise_if_superseded(is_wanted: Callable[[], bool]) -> None:
    if not is_wanted():
        raise CommandError(
            "superseded", "A newer dry run replaced this one. Wait for the answer to the newer one."
        )


class _DryRunLimit:
    """What lets a dry run's thread go on, row by row: a thread can't be cancelled.

    Args:
        is_wanted: Whether the answer is still waited for.
    """

    def __init__(self, is_wanted: Callable[[], bool]) -> None:
        self.is_cancelled = False
        self._is_wanted = is_wanted
        self._deadline = time.monotonic() + DRY_RUN_TIMEOUT_S

    def check(self) -> None:
        """Raise where the dry run is to end. Called on its thread."""
        _raise_if_superseded(lambda: not self.is_cancelled and self._is_wanted())
        if time.monotonic() > self._deadline:
            raise ProtocolError(
                "invalid_stop",
                f"A dry run of this breakpoint takes longer than {DRY_RUN_TIMEOUT_S:.0f} "
                "seconds on one run. Simplify the breakpoint's condition.",
            )


async def _try(
    hub: RunService, breakpoint: BreakpointRule, run: str, is_wanted: Callable[[], bool]
) -> RunDryRun:
    # One after the other: each has a whole run in memory, and a thread busy.
    async with hub.dry_run_lock:
        _raise_if_superseded(is_wanted)
        history = await hub.history(run)
        limit = _DryRunLimit(is_wanted)
        try:
            # On a thread: a long run takes seconds, in which agents and people would wait.
            result = await asyncio.to_thread(core_dry_run, breakpoint, history, limit.check)
        finally:
            limit.is_cancelled = True
        return RunDryRun(history.run, result)


def find_run_id(hub: RunService, name: str) -> str:
    """The id of a run that is named as people name one: by id, by name, or by its program's last run.

    Raises:
        CommandError: `unknown_run`.
    """
    if hub.find(name) is not None:
        return name
    runs = list(reversed(hub.runs()))
    for run in (*(each for each in runs if each.name == name), *runs):
        if name in (run.name, run.program):
            return run.id
    return hub.run(name).id
