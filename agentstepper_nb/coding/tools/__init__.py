"""The tools of the coding agent, and the registry that a session has them in.

Imports what `coding` may.
Begin reading in `read_file`: a small tool; `run_command` is the largest.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from typing import Final

from ...entry_point_loader import EntryPointLoader
from ...llm_wire.conversation import ToolSpec
from ..tool import Tool
from .apply_patch import ApplyPatch
from .file_edits import EditFile, WriteFile
from .git_tools import GitCommit, GitDiff, GitStatus
from .list_files import ListFiles
from .read_file import ReadFile, ShowImage
from .run_command import RunCommand
from .search import SearchFiles

#: The entry points of installed tools; each names a tool, or what makes one when called without
#: arguments: its class.
ENTRY_POINT_GROUP: Final = "agentstepper_nb.tools"

_log = logging.getLogger("agentstepper_nb.coding")
# What all APIs take.
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")
_PARTS: Final = ("name", "description", "policy", "input_schema", "execute")


class ToolRegistry:
    """Tools by name, in the order they were registered."""

    def __init__(self) -> None:
        self._tools: dict[str, Tool] = {}

    def register(self, tool: Tool) -> None:
        """Add a tool.

        Args:
            tool: The tool.

        Raises:
            TypeError: It is none.
            ValueError: Its name is no word, or is taken.
        """
        missing = [part for part in _PARTS if not hasattr(tool, part)]
        if missing:
            raise TypeError(f"{tool!r} isn't a tool: it has no {', '.join(missing)}.")
        if not _NAME.fullmatch(tool.name):
            raise ValueError(
                f"{tool.name!r} isn't a valid tool name: use letters, digits and underscores."
            )
        if tool.name in self._tools:
            raise ValueError(f"A tool called {tool.name} already exists: rename one of the two.")
        self._tools[tool.name] = tool

    def get(self, name: str) -> Tool | None:
        """Return the tool of a name; None: there is no such tool."""
        return self._tools.get(name)

    def specs(self) -> tuple[ToolSpec, ...]:
        """Return the tools' descriptions for the model."""
        return tuple(
            ToolSpec(name=tool.name, description=tool.description, input_schema=tool.input_schema)
            for tool in self
        )

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools.values())

    def __len__(self) -> int:
        return len(self._tools)


def register_installed_tools(registry: ToolRegistry) -> None:
    """Add the tools that installed packages name. One that can't be used is logged and left out."""

    def register(_: str, named: Tool | type[Tool]) -> None:
        registry.register(named() if isinstance(named, type) else named)

    EntryPointLoader[Tool | type[Tool]](ENTRY_POINT_GROUP, "tool").load_each(register, _log)


def make_default_tools(*, shell: bool | None = None, images: bool = False) -> ToolRegistry:
    """Make the default tools of a session: the built-in tools, then those of other packages.

    Args:
        shell: Whether a shell runs the commands of `run_command`; None: True.
        images: Whether a person can be shown pictures; adds the tool `show_image`.
    """
    registry = ToolRegistry()
    for tool in (
        ListFiles(),
        ReadFile(),
        SearchFiles(),
        EditFile(),
        WriteFile(),
        ApplyPatch(),
        RunCommand() if shell is None else RunCommand(shell=shell),
        GitStatus(),
        GitDiff(),
        GitCommit(),
    ):
        registry.register(tool)
    if images:
        registry.register(ShowImage())
    register_installed_tools(registry)
    return registry
