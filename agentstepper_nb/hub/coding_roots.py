"""The folders that the coding agent may work in: one check for every way by which it is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..errors import CommandError, ProtocolError


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
        folder = self.inside(path, field)
        if not folder.is_dir():
            raise ProtocolError("invalid_message", f"{_name(field)}: {folder} is no folder.", field)
        return folder

    def has(self, path: str) -> bool:
        """Whether a path lies in one of the roots, if anything does. Reads the file system."""
        try:
            found = Path(path).resolve()
            return any(
                found.is_relative_to(Path(root).expanduser().resolve()) for root in self._roots
            )
        except (OSError, ValueError, RuntimeError):
            return False

    def inside(self, path: str, field: str | None = None, more: Sequence[str] = ()) -> Path:
        """What a path names that lies in one of the roots, with all links resolved.

        Reads the file system.

        Args:
            path: The path.
            field: What of the request it is, where that is to be told.
            more: Further roots.

        Raises:
            CommandError: `outside_roots`: it lies in none of them.
            ProtocolError: `invalid_message`: the system knows no such path.
        """
        try:
            roots = [Path(root).expanduser().resolve() for root in (*self._roots, *more)]
            found = (roots[0] / Path(path).expanduser()).resolve()
            is_inside = any(found.is_relative_to(root) for root in roots)
            if is_inside:
                found.lstat()
        except (OSError, ValueError, RuntimeError) as error:
            raise ProtocolError("invalid_message", f"{_name(field)}: {error}.", field) from None
        if not is_inside:
            raise CommandError(
                "outside_roots",
                f"{found} is in none of the folders that the coding agent is let into: choose one "
                f"below {roots[0]}, or name its folder in c.AgentStepperExtension.coding_roots.",
                field=field,
            )
        return found


def _name(field: str | None) -> str:
    return field or "workspacePath"
