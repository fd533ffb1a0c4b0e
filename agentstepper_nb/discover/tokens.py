"""The data folder, and the tokens that it keeps, readable by this user alone."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from jupyter_core.paths import jupyter_data_dir

#: The files in a data folder that keep the agents' token and the control token.
TOKEN_FILE: Final = "agent-token"
CONTROL_FILE: Final = "control-token"
#: What may stand in a header: of a damaged file something else may come.
_SENDABLE: Final = re.compile(r"[!-~]+")


def data_dir() -> Path:
    """Where runs, workspaces and the Core's tokens are kept unless told otherwise."""
    return Path(jupyter_data_dir()) / "agentstepper"


def load_or_create_token(folder: Path | None = None, file: str = TOKEN_FILE) -> str:
    """A token of a data folder. It outlives restarts, so that agents find back.

    Args:
        folder: The data folder; `data_dir()` where none is given.
        file: Which: `TOKEN_FILE` or `CONTROL_FILE`.
    """
    folder = data_dir() if folder is None else folder
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    with _locked(folder):  # of two that start at once, one makes it and both use it
        token = read_token(folder, file)
        if token is None:
            token = secrets.token_urlsafe(32)
            draft = folder / f"{file}.{secrets.token_hex(4)}.tmp"
            write_private(draft, token + "\n")
            draft.replace(folder / file)
    return token


def read_token(folder: Path | None = None, file: str = TOKEN_FILE) -> str | None:
    """A token of a data folder, where it has one.

    Args:
        folder: The data folder; `data_dir()` where none is given.
        file: Which: `TOKEN_FILE` or `CONTROL_FILE`.
    """
    try:
        token = ((data_dir() if folder is None else folder) / file).read_text().strip()
    except (FileNotFoundError, UnicodeDecodeError):  # a damaged one can't be sent
        return None
    return token if _SENDABLE.fullmatch(token) else None


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold a folder, against other processes and threads that do the same."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def write_private(path: Path, text: str) -> None:
    """Write a new file that only this user can read."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
