"""The debugger's run that shows a session."""

from __future__ import annotations

from pathlib import Path

from ..errors import AgentStepperError, AgentStopped, WorkspaceError
from ..sdk.aclient import AsyncAgentStepper
from ..sdk.door import ambient
from ..sdk.pumps import in_thread


class NoDebuggerError(AgentStepperError):
    """There is none to be had; the text says why."""


async def open_run(
    name: str, workspace: Path | None, *, step: bool, notice: str = ""
) -> AsyncAgentStepper:
    """Open a run in the debugger that is found here.

    Args:
        name: What the agent is called there.
        workspace: The folder whose changes are shown, if that can be done.
        step: Whether it begins stepping; else it goes on until a stop or an approval halts it.
        notice: What a person must know of the whole run.

    Raises:
        NoDebuggerError: There is none, or there are several, or it refuses.
    """
    try:
        try:
            return await _connect(name, workspace, step, notice)
        except WorkspaceError:  # what can't be watched can be worked in
            return await _connect(name, None, step, notice)
    except (AgentStepperError, OSError) as error:
        raise NoDebuggerError(str(error)) from None


async def join_run(dbg: AsyncAgentStepper, name: str, workspace: Path) -> AsyncAgentStepper:
    """Take part in a run that is somebody else's, and stays theirs; arguments and errors as `open_run`.

    Args:
        dbg: Theirs.
        name: What the agent is called there.
        workspace: The folder; where they watch it, its changes are told once.
    """
    with ambient(dbg):
        return await open_run(
            name, workspace if dbg._watched(workspace) is None else None, step=False
        )


async def run_name(dbg: AsyncAgentStepper) -> str | None:
    """What the debugger calls a run, as `Run #3 of code`; None where it doesn't say."""
    timeline = await in_thread(dbg._timeline)
    return None if timeline is None else timeline.run.name


async def end_stopped(dbg: AsyncAgentStepper) -> None:
    """End a run in which Stop was pressed, and say that it ends by that."""
    await dbg.__aexit__(AgentStopped, AgentStopped("The person pressed Stop."), None)


async def _connect(name: str, workspace: Path | None, step: bool, notice: str) -> AsyncAgentStepper:
    return await AsyncAgentStepper.connect(
        name,
        agent_workspace_path=workspace,
        stop_on_entry=False,
        mode="step" if step else "continue",
        notice=notice,
    )
