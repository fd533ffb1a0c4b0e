"""The folder that the coding agent may touch, and nothing outside it."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol


class Workspace(Protocol):
    """A folder, and the only door to its files. Paths are relative to it, with `/`."""

    @property
    def root(self) -> Path:
        """The folder, with all links resolved."""

    def resolve_path(self, relative: str) -> Path | None:
        """Where a path leads; None where that is unsafe."""

    def is_path_safe(self, full: str) -> bool:
        """Whether an absolute path is inside, links resolved."""

    def read_bytes(self, relative: str) -> bytes:
        """A file's contents. Raises OSError, also for a path that is unsafe."""

    def read_text(self, relative: str) -> str:
        """A UTF-8 file's contents. Raises OSError, or UnicodeError."""

    def write_bytes(self, relative: str, data: bytes) -> None:
        """Write a file, whole or not at all, with the folders it needs; raises OSError."""
