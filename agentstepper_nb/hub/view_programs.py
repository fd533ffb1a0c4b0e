"""Executes view commands for which the Core starts a program on recorded runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from msgspec import UNSET

from ..core.search_refusals import explain_no_export, explain_no_search
from ..errors import CommandError
from ..protocol import run_programs as wire
from ..protocol.run_programs import BisectState, ExportedTest, ExportTest
from ..protocol.start_methods import CommandStart, FunctionCall, FunctionStart, StartMethod
from .run_restarts import IN_MEMORY, NO_TOKEN
from .run_searches import NO_QUESTION, NO_SEARCH
from .run_service import RunService
from .views import ViewSession

SWITCHED_OFF: Final = (
    "Views have no code of theirs executed on this Core: it was started by `agentstepper serve "
    "--no-inspect` or with `c.AgentStepperExtension.inspect = False`. Use the command line."
)
STRANGE_ID: Final = (
    "The run's id {run} begins with a dash: a program would read it as an option. Use Python."
)
NO_FILE_NAME: Final = "{file} is no name of a file. Write a name without a folder, test_….py."


async def execute_bisect_command(
    hub: RunService, view: ViewSession, command: wire.BisectCommand
) -> BisectState:
    """Execute a view's command on the search of a run.

    Args:
        hub: The Core's service.
        view: The requesting view.
        command: The command. All but `GetBisect` need a login that may control.

    Raises:
        CommandError: `unknown_run`, `cannot_bisect`.
        DamagedRunError: The stored run is damaged.
    """
    run = hub.run(command.run)
    searches = hub.run_searches
    match command:
        case wire.StartBisect():
            return await _start(hub, view, command)
        case wire.GetBisect(seen=seen):
            if searches is None:
                return BisectState(run=run.id, revision=0)
            return searches.find(run.id) if seen is UNSET else await searches.wait(run.id, seen)
        case wire.AnswerBisect(goes_on=goes_on):
            if searches is None:
                raise CommandError("cannot_bisect", NO_QUESTION, run.id)
            return searches.answer(run.id, goes_on=goes_on)
        case wire.CancelBisect():
            if searches is None:
                raise CommandError("cannot_bisect", NO_SEARCH, run.id)
            return searches.cancel(run.id)


async def _start(hub: RunService, view: ViewSession, command: wire.StartBisect) -> BisectState:
    run = hub.run(command.run)
    runs = [run.id, *([] if command.bad is None else [hub.run(command.bad).id])]
    _check_may_start(hub, view, "cannot_bisect", runs)
    start = await _find_start(hub, run.id)
    refusal = explain_no_search(run, start, command, hub.agent_liveness.machine[0])
    if refusal is not None:
        raise CommandError("cannot_bisect", refusal, run.id)
    place = start.call if isinstance(start, FunctionStart) else start
    assert isinstance(place, CommandStart | FunctionCall)
    assert hub.run_searches is not None
    return await hub.run_searches.start(command, place.folder)


async def export_test(hub: RunService, view: ViewSession, command: ExportTest) -> ExportedTest:
    """Write the test of a run.

    Args:
        hub: The Core's service.
        view: The requesting view, whose login may control.
        command: The command.

    Raises:
        CommandError: `unknown_run`, `cannot_export_test`.
        DamagedRunError: The stored run is damaged.
    """
    run = hub.run(command.run)
    _check_may_start(hub, view, "cannot_export_test", [run.id])
    start = await _find_start(hub, run.id)
    refusal = explain_no_export(run, start, command, hub.agent_liveness.machine[0])
    if refusal is not None:
        raise CommandError("cannot_export_test", refusal, run.id)
    if command.file in (".", "..") or Path(command.file).name != command.file:
        message = NO_FILE_NAME.format(file=command.file)
        raise CommandError("cannot_export_test", message, run.id)
    assert isinstance(start, CommandStart)
    assert hub.test_exporter is not None
    return ExportedTest(path=await hub.test_exporter.write(command, start.folder))


def _check_may_start(hub: RunService, view: ViewSession, code: str, runs: Sequence[str]) -> None:
    """Check that a view may start a program on these runs.

    Args:
        hub: The Core's service.
        view: The requesting view, whose login may control.
        code: The error's code.
        runs: The ids that the program gets.

    Raises:
        CommandError: The view may not.
    """
    first = runs[0]
    if not view.rights.has_login:
        raise CommandError(code, NO_TOKEN, first)
    if not hub.allows_inspection:
        raise CommandError(code, SWITCHED_OFF, first)
    if hub.command_starter is None:
        raise CommandError(code, IN_MEMORY, first)
    for run in runs:
        if run.startswith("-"):  # agents choose their ids
            raise CommandError(code, STRANGE_ID.format(run=run), run)


async def _find_start(hub: RunService, run: str) -> StartMethod | None:
    """Find how a run was started; None if its Core doesn't know.

    Raises:
        DamagedRunError: The stored run is damaged.
    """
    await hub.wait_recorded()
    credentials = await hub.store.agent_credentials(run)
    return None if credentials is None else credentials.start or None
