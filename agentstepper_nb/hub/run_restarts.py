"""Executes a view's request to start a run again."""

from __future__ import annotations

from typing import Final

from msgspec import UNSET

from ..core.start_methods import explain_no_command, make_option
from ..errors import CommandError
from ..protocol.data_model import Run
from ..protocol.start_methods import (
    CellStart,
    RunStartedAgain,
    StartAgain,
    StartMethod,
    WorkspaceMode,
)
from .run_service import RunService
from .views import ViewSession
from .workspace_restores import explain_busy_folder

NO_TOKEN: Final = (
    "This server takes everybody without a token or a password, so that nothing is started here. Start "
    "the server with a token."
)
IN_MEMORY: Final = (
    "This Core keeps its runs in memory, where no agent can read them. Start the Core with a data "
    "folder: agentstepper serve --data DIR, or JupyterLab with agentstepper_nb in its environment."
)
MASKED_CELL: Final = (
    "The cell had a secret, which was masked when it was recorded. Put the cell below this line: "
)
CELL_IN_PLACE: Final = (
    "A cell is forked in a fresh folder. To fork its agent in place, call fork_run(…, "
    'workspace="in_place") in the notebook.'
)


async def start_again(hub: RunService, view: ViewSession, command: StartAgain) -> RunStartedAgain:
    """Start a run's command, or return the notebook cell to run.

    Args:
        hub: The Core's service.
        view: The requesting view, whose login may control.
        command: The person's request.

    Raises:
        CommandError: `unknown_run`, `cannot_start_again`.
        DamagedRunError: The stored run is damaged.
    """
    run = hub.run(command.run)
    if not view.rights.has_login:
        raise CommandError("cannot_start_again", NO_TOKEN, run.id)
    await hub.wait_recorded()
    credentials = await hub.store.agent_credentials(run.id)
    start = None if credentials is None else credentials.start or None
    row = command.row or None
    is_live = row is None and not command.is_replay
    if row is not None and command.workspace is WorkspaceMode.IN_PLACE:
        _check_in_place(hub, run, start)
    if isinstance(start, CellStart) and (is_live or hub.command_starter is not None):
        return RunStartedAgain(
            cell=_make_cell(run, start, "" if is_live else make_option(run, row))
        )
    refusal = explain_no_command(run, start, row, hub.agent_liveness.machine[0])
    if refusal is not None and not isinstance(start, CellStart):
        raise CommandError("cannot_start_again", refusal, run.id)
    if hub.command_starter is None:
        raise CommandError("cannot_start_again", IN_MEMORY, run.id)
    options = (f"--rerun {run.id}" if is_live else make_option(run, row)).split()
    if row is not None and command.workspace:
        options += ("--workspace", command.workspace.value)
    begun = await hub.command_starter.start(run.id, options)
    return RunStartedAgain(run=begun or UNSET)


def _check_in_place(hub: RunService, run: Run, start: StartMethod | None) -> None:
    """Refuse to restore files under an agent that works on them, and for a cell."""
    refusal = CELL_IN_PLACE if isinstance(start, CellStart) else explain_busy_folder(hub, run)
    if refusal:
        raise CommandError("cannot_start_again", refusal, run.id)


def _make_cell(run: Run, start: CellStart, options: str) -> str:
    freezes = "--freeze" if start.freezes else ""
    line = " ".join(filter(None, ("%%step", start.line, freezes, options)))
    if start.is_masked:
        raise CommandError("cannot_start_again", MASKED_CELL + line, run.id)
    return f"{line}\n{start.source}"
