"""The folders that the coding agent may work in: one check for every way by which it is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from msgspec.structs import replace

from ..errors import CommandError, ProtocolError
from ..protocol.runtime_wire import CreateAgent

#: The background agent whose config names a workspace.
_MONIKER: Final = "coding"


class CodingRoots:
    """The folders that workspaces may lie in.

    Args:
        roots: Their paths; a relative workspace lies in the first.
    """

    def __init__(self, roots: Sequence[str]) -> None:
        self._roots = roots

    def allow(self, path: str, field: str | None = None) -> Path:
        """The folder that a path names, where the coding agent may work in it, with all links resolved.

        Reads the file system.

        Args:
            path: The path.
            field: What of the request it is, where that is to be told.

        Raises:
            CommandError: `outside_roots`: it lies in none of the roots.
            ProtocolError: `invalid_message`: it is no folder.
        """
        try:
            roots = [Path(root).expanduser().resolve() for root in self._roots]
            folder = (roots[0] / Path(path).expanduser()).resolve()
            is_inside = any(folder.is_relative_to(root) for root in roots)
            is_folder = is_inside and folder.is_dir()
        except (OSError, ValueError, RuntimeError) as error:
            raise ProtocolError("invalid_message", f"{_name(field)}: {error}.", field) from None
        if not is_inside:
            raise CommandError(
                "outside_roots",
                f"{folder} is in none of the folders that the coding agent is let into: choose one "
                f"below {roots[0]}, or name its folder in c.AgentStepperExtension.coding_roots.",
                field=field,
            )
        if not is_folder:
            raise ProtocolError("invalid_message", f"{_name(field)}: {folder} is no folder.", field)
        return folder

    def check_agent(self, agent: CreateAgent) -> CreateAgent:
        """A background agent to be created, its workspace allowed where it is a coding agent.

        A config without a workspace is refused by the worker, which knows what else it must say. Errors
        as `allow`.
        """
        config: Any = agent.config
        if agent.moniker != _MONIKER or not isinstance(config, dict):
            return agent
        workspace = config.get("workspace")
        if not isinstance(workspace, str) or not workspace:
            return agent
        folder = self.allow(workspace, "payload.config.workspace")
        return replace(agent, config={**config, "workspace": str(folder)})


def _name(field: str | None) -> str:
    return field or "workspacePath"
