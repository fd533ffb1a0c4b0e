"""The tools of the coding agent."""

from __future__ import annotations

from .apply_patch import ApplyPatch
from .file_edits import EditFile, WriteFile
from .git import GitDiff, GitStatus
from .git_commit import GitCommit
from .list_files import ListFiles
from .read_file import ReadFile, ShowImage
from .registry import ToolRegistry, add_installed
from .run_command import RunCommand
from .search import Search

__all__ = ["ToolRegistry", "default_tools"]


def default_tools(*, shell: bool | None = None, images: bool = False) -> ToolRegistry:
    """The tools that a session has where nobody says otherwise: ours, then those of other packages.

    Args:
        shell: Whether a shell reads the commands of `run_command`; None: it does.
        images: Whether pictures can be shown to a person, so that there is `show_image`.
    """
    registry = ToolRegistry()
    for tool in (
        ListFiles(),
        ReadFile(),
        Search(),
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
    add_installed(registry)
    return registry
