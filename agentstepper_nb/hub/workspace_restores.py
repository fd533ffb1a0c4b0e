"""Files that forks restored in place in workspaces of this machine, and putting them back."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import UNSET

from ..core.summaries import extract_first_line
from ..errors import CommandError, WorkspaceError
from ..protocol.data_model import Run
from ..protocol.fork_trees import FilesPutBack, PutBack, RestoredFolder
from .run_service import RunService
from .views import ViewSession

if TYPE_CHECKING:
    from ..replay.restore_journal import RestoreJournal

NO_TOKEN: Final = (
    "This server takes everybody without a token or a password, so that no files are put back from "
    "here. Start the server with a token, or run agentstepper put-back on its machine."
)
IMPORTED: Final = (
    "The run was imported, so that its files aren't this machine's. Put them back on the machine where "
    "its agent ran."
)
NO_WORKSPACE: Final = "The run had no workspace, so that there is nothing to put back."


async def list_restored(hub: RunService, runs: Sequence[Run]) -> tuple[RestoredFolder, ...]:
    """List the workspaces of the given runs in which files are restored for a run of their tree.

    Args:
        hub: The Core's service.
        runs: Runs of one tree.
    """
    host = hub.agent_liveness.machine[0]
    workers = {run.workspace: run for run in runs if run.workspace and run.host == host}
    found = await asyncio.to_thread(_find_restores, hub, list(workers))
    of_tree = {run.id for run in runs} | {run.forked_from.run for run in runs if run.forked_from}
    return tuple(
        RestoredFolder(
            folder=folder,
            restore=journal.id,
            run=workers[folder].id,
            recorded_run=journal.run,
            row=journal.row,
            is_done=journal.is_done,
        )
        for folder, journal in found.items()
        if journal.run in of_tree
    )


async def put_back(hub: RunService, view: ViewSession, command: PutBack) -> FilesPutBack:
    """Restore a run's workspace to its state before a fork restored files in it.

    Args:
        hub: The Core's service.
        view: The requesting view, whose login may control.
        command: The person's request.

    Raises:
        CommandError: `unknown_run`, `cannot_put_back`.
        DamagedRunError: The stored run is damaged.
    """
    run = hub.run(command.run)
    if not view.rights.has_login:
        raise CommandError("cannot_put_back", NO_TOKEN, run.id)
    await hub.wait_recorded()
    is_imported = await hub.store.agent_credentials(run.id) is None
    refusal = IMPORTED if is_imported else _explain_refusal(hub, run)
    if refusal:
        raise CommandError("cannot_put_back", refusal, run.id)
    restore = None if command.restore is UNSET else command.restore
    try:
        report = await asyncio.to_thread(_put_back, Path(run.workspace or ""), restore)
    except WorkspaceError as error:
        raise CommandError("cannot_put_back", str(error), run.id) from None
    hub.log.info("files put back for run %s: %s", run.id, extract_first_line(report))
    return FilesPutBack(report=report)


def _explain_refusal(hub: RunService, run: Run) -> str:
    """Explain why a run's files can't be put back here; "" if they can."""
    if run.workspace is None:
        return NO_WORKSPACE
    if run.host != hub.agent_liveness.machine[0]:
        machine = run.host or "unknown"
        return (
            f"The agent of run {run.id} ran on another machine, {machine}. Run agentstepper put-back "
            f"{run.workspace} there."
        )
    return explain_busy_folder(hub, run)


def explain_busy_folder(hub: RunService, run: Run) -> str:
    """Explain which live agent blocks writing in a run's workspace by working there; "" if none."""
    place = run.workspace, run.host
    working = (each for each in hub.runs() if each.live and (each.workspace, each.host) == place)
    busy = next(working, None)
    if busy is None:
        return ""
    return (
        f"Run {extract_first_line(busy.name)} still works in {run.workspace}, so that its files stay as "
        "they are. Stop the run, or let it end, and try again."
    )


# ---- on threads -------------------------------------------------------------------------------------


def _find_restores(hub: RunService, folders: Sequence[str]) -> Mapping[str, RestoreJournal]:
    from ..replay.restore import find_restore

    found = {}
    for folder in folders:
        try:
            journal = find_restore(Path(folder))
        except WorkspaceError as error:
            hub.log.warning("%s", error)
            continue
        if journal is not None:
            found[folder] = journal
    return found


def _put_back(folder: Path, restore: str | None) -> str:
    from ..replay.restore import put_back as put_back_files

    return str(put_back_files(folder, restore=restore))
