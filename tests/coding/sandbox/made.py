"""Sandboxes for tests, with what they are given."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentstepper_nb.coding.sandbox import Access, ResourceLimits, Sandbox
from agentstepper_nb.coding.sandbox.bubblewrap import Bubblewrap, bubblewrap_programs
from agentstepper_nb.coding.sandbox.landlock import Landlock
from agentstepper_nb.coding.sandbox.launch import Unconfined
from agentstepper_nb.coding.sandbox.launcher import landlock


def sandbox_named(name: str, limits: ResourceLimits | None = None) -> Sandbox:
    """A sandbox by its name; a test is skipped where this machine can't have it."""
    if name == "bubblewrap" and not bubblewrap_programs():
        pytest.skip("bubblewrap isn't installed")
    if name == "landlock" and not landlock.abi():
        pytest.skip("this kernel has no Landlock")
    match name:
        case "bubblewrap":
            return Bubblewrap(bubblewrap_programs()[0], limits or ResourceLimits())
        case "landlock":
            return Landlock(limits)
        case _:
            return Unconfined(limits)


def access_to(workspace: Path, **changes: Any) -> Access:
    """Access to a workspace, with home and temporary folder beside it."""
    home, temporary = workspace.parent / "home", workspace.parent / "tmp"
    for each in (home, temporary):
        each.mkdir(exist_ok=True, mode=0o700)
    return Access(workspace=workspace, home=home, temporary=temporary, **changes)
