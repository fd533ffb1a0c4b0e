"""What a person has granted a session beyond its mode."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from msgspec import Struct


class Grant(Struct, frozen=True, kw_only=True):
    """What a person grants with one answer.

    Args:
        kind: The network; writing to `folders`; or, without a sandbox, programs that run the project's
            own code: builds and tests.
        folders: The folders, absolute and without links.
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
    """What a session's commands may do without asking again. It ends with the session.

    Args:
        network: Whether commands may use the network from the start.
        writable: Folders outside of the workspace that commands may change from the start.
    """

    def __init__(self, *, network: bool = False, writable: tuple[Path, ...] = ()) -> None:
        self.network = network
        self.project_code = False
        self._writable = list(writable)

    @property
    def writable(self) -> tuple[Path, ...]:
        """Folders outside of the workspace that commands may change."""
        return tuple(self._writable)

    def add(self, grant: Grant) -> None:
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
