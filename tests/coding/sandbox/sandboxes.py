"""Sandboxes for tests, with what they are given."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from agentstepper_nb.coding.sandbox import CommandLaunch, ResourceLimits, SandboxAccess
from agentstepper_nb.coding.sandbox.bubblewrap import Bubblewrap, find_bubblewrap_programs
from agentstepper_nb.coding.sandbox.landlock import Landlock
from agentstepper_nb.coding.sandbox.launch import Sandbox, Unconfined
from agentstepper_nb.coding.sandbox.launcher import kernel


def make_sandbox(name: str, limits: ResourceLimits | None = None) -> Sandbox:
    """A sandbox by its name; a test is skipped where this machine can't have it."""
    if name == "bubblewrap" and not find_bubblewrap_programs():
        pytest.skip("bubblewrap isn't installed")
    if name == "landlock" and not kernel.find_landlock_abi():
        pytest.skip("this kernel has no Landlock")
    match name:
        case "bubblewrap":
            return Bubblewrap(find_bubblewrap_programs()[0], limits or ResourceLimits())
        case "landlock":
            return Landlock(limits)
        case _:
            return Unconfined(limits)


def access_to(workspace: Path, **changes: Any) -> SandboxAccess:
    """Access to a workspace, with home and temporary folder beside it."""
    home, temporary = workspace.parent / "home", workspace.parent / "tmp"
    for each in (home, temporary):
        each.mkdir(exist_ok=True, mode=0o700)
    return SandboxAccess(workspace=workspace, home=home, temporary_folder=temporary, **changes)


def run_in(
    sandbox: Sandbox,
    words: Sequence[str],
    access: SandboxAccess,
    argv: Callable[[CommandLaunch], Sequence[str]] = lambda launch: launch.argv,
) -> subprocess.CompletedProcess[str]:
    """Run a command in a sandbox, in the workspace; gives how it ended and what it printed."""
    with sandbox.prepare_command(words, access.workspace, access) as launch:
        return subprocess.run(
            argv(launch),
            cwd=access.workspace,
            env=launch.env,
            pass_fds=launch.pass_fds,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
