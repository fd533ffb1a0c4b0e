"""Confines the agent's commands with the operating system's sandboxes.

Imports what `coding` may.
Begin reading in `backend_selection`: chooses a sandbox; `launch` starts a command in a sandbox.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Final, Literal

from msgspec import Struct

#: The sandbox of a session; `auto` is the best that works on this machine.
SandboxChoice = Literal["auto", "bubblewrap", "landlock", "seatbelt", "none"]

GIB: Final = 1024**3


class SandboxMode(StrEnum):
    """The access of commands and tools without approval; the names are those of Codex CLI."""

    READ_ONLY = "read-only"
    WORKSPACE_WRITE = "workspace-write"
    DANGER_FULL_ACCESS = "danger-full-access"


class SandboxAccess(Struct, frozen=True, kw_only=True):
    """The access of one command. Paths are absolute, with symbolic links resolved.

    Args:
        workspace: The folder that the agent works in.
        home: The session's private home folder, which is the command's HOME.
        temporary_folder: The session's own temporary folder, which is the command's `/tmp` or TMPDIR.
        is_workspace_writable: Whether the command may change the workspace; `.git`'s hooks and config
            stay read-only.
        has_network: Whether the command may use the network.
        readable: Folders and files that are visible, besides those that programs need.
        writable: Folders outside of the workspace that the command may change.
        hidden: Folders that are absent, whatever else is granted: Jupyter's runtime and data folders,
            the session's own files.
        unreadable: Files of the workspace that a `deny` rule makes unreadable: absent or empty.
        read_only: Files of the workspace that a `deny` rule makes read-only: the command can read, but
            not write, replace, rename or delete them.
    """

    workspace: Path
    home: Path
    temporary_folder: Path
    is_workspace_writable: bool = True
    has_network: bool = False
    readable: tuple[Path, ...] = ()
    writable: tuple[Path, ...] = ()
    hidden: tuple[Path, ...] = ()
    unreadable: tuple[Path, ...] = ()
    read_only: tuple[Path, ...] = ()

    @property
    def writable_folders(self) -> tuple[Path, ...]:
        """The folders that the command may change, the session's own aside."""
        inside = (self.workspace,) if self.is_workspace_writable else ()
        return (*inside, *self.writable)


class ResourceLimits(Struct, frozen=True, kw_only=True):
    """The resource limits of one command with all its child processes. None: no limit."""

    memory_bytes: int | None = 4 * GIB
    processes: int | None = 512


class CommandLaunch(Struct, frozen=True, kw_only=True):
    """The arguments of `create_subprocess_exec` that start a command."""

    argv: tuple[str, ...]
    env: dict[str, str]
    pass_fds: tuple[int, ...] = ()


class AccessGrant(Struct, frozen=True, kw_only=True):
    """The access that a person grants with one answer.

    Args:
        kind: The network; writing to `folders`; or, without a sandbox, programs that run the project's
            own code: builds and tests.
        folders: The absolute paths of the folders, with symbolic links resolved.
    """

    kind: Literal["network", "writable", "project_code"]
    folders: tuple[Path, ...] = ()

    def __str__(self) -> str:
        """The grant in words, as the end of "allow …"."""
        match self.kind:
            case "network":
                return "the network in this session"
            case "writable":
                folders = ", ".join(f"`{folder}`" for folder in self.folders)
                return f"changes in {folders} in this session"
            case "project_code":
                return "builds and tests in this session"


class SessionGrants:
    """The access that a session's commands have without further approval. Grants end with the session.

    Args:
        network: Whether commands may use the network from the start.
        writable: Folders outside of the workspace that commands may write from the start.
    """

    def __init__(self, *, network: bool = False, writable: tuple[Path, ...] = ()) -> None:
        self.network = network
        self.project_code = False
        self._writable = list(writable)

    @property
    def writable(self) -> tuple[Path, ...]:
        """Folders outside of the workspace that commands may change."""
        return tuple(self._writable)

    def add(self, grant: AccessGrant) -> None:
        """Grant something for the rest of the session."""
        match grant.kind:
            case "network":
                self.network = True
            case "project_code":
                self.project_code = True
            case "writable":
                self._writable += [each for each in grant.folders if each not in self._writable]

    def is_writable(self, folder: Path) -> bool:
        """Whether commands may change a folder, or a folder above it."""
        return any(folder.is_relative_to(each) for each in self._writable)
