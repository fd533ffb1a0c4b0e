"""The file by which a running Core tells of itself, beside Jupyter's own."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import secrets
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from jupyter_core.paths import jupyter_runtime_dir

from .._version import __version__
from .tokens import write_private

_PREFIX: Final = "agentstepper-"


@dataclass(frozen=True)
class Endpoint:
    """Where agents reach a Core.

    Args:
        url: A WebSocket URL.
        token: What the Core asks agents for, where it does.
    """

    url: str
    token: str | None = None


@dataclass(frozen=True)
class RuntimeFile:
    """What a running Core says about itself.

    Args:
        pid: Its process.
        url: The WebSocket URL for agents.
        token: The agents' token.
        control_token: By which its stops and prices are set, where the agents' token doesn't do.
        name: What a person calls it, for lists.
        base_url: The Jupyter server's base URL.
        root_dir: The folder that server shows.
        version: The version of this package there.
        started: When it started, POSIX seconds.
        worker_token: The workers' token, where it takes workers.
    """

    pid: int
    url: str
    token: str | None = None
    control_token: str | None = None
    name: str = ""
    base_url: str = ""
    root_dir: str = ""
    version: str = ""
    started: float = 0.0
    worker_token: str | None = None

    @property
    def endpoint(self) -> Endpoint:
        """Where agents reach it."""
        return Endpoint(self.url, self.token)


def running_servers() -> Iterator[RuntimeFile]:
    """Give this user's running Cores. The files of dead ones are removed on the way."""
    for path in sorted(_runtime_dir().glob(f"{_PREFIX}*.json")):
        found = _read(path)
        if found is None:
            continue
        if _is_alive(found.pid):
            yield found
        else:
            with contextlib.suppress(OSError):
                path.unlink()


def write_runtime_file(
    *,
    url: str,
    token: str | None,
    control_token: str | None = None,
    name: str = "",
    base_url: str = "",
    root_dir: str = "",
    version: str = __version__,
    pid: int | None = None,
    started: float | None = None,
    worker_token: str | None = None,
) -> Path:
    """Tell agents of this user where this process's Core is; removed when the process exits.

    Args:
        url: The WebSocket URL for agents.
        token: The agents' token.
        control_token: By which its stops and prices are set, where the agents' token doesn't do.
        name: What a person calls it, for lists.
        base_url: The Jupyter server's base URL.
        root_dir: The folder that server shows.
        version: The version of this package.
        pid: The process; this one where none is given.
        started: When it started, POSIX seconds; now where none is given.
        worker_token: The workers' token, where it takes workers.

    Returns:
        The file, readable by this user alone. `remove_runtime_file` takes it away earlier.
    """
    content = RuntimeFile(
        pid=os.getpid() if pid is None else pid,
        url=url,
        token=token,
        control_token=control_token,
        name=name,
        base_url=base_url,
        root_dir=root_dir,
        version=version,
        started=time.time() if started is None else started,
        worker_token=worker_token,
    )
    folder = _runtime_dir()
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    path = folder / f"{_PREFIX}{content.pid}.json"
    # Written aside and moved into place: a reader never meets half a file.
    draft = path.with_suffix(f".{secrets.token_hex(4)}.tmp")
    write_private(draft, json.dumps(asdict(content), indent=2) + "\n")
    draft.replace(path)
    atexit.register(_remove_own, path, os.getpid())
    return path


def remove_runtime_file(path: Path) -> None:
    """Take a runtime file away. It may be gone already."""
    path.unlink(missing_ok=True)


def _remove_own(path: Path, pid: int) -> None:
    """Not in a forked child: the file speaks of the parent."""
    if pid == os.getpid():
        remove_runtime_file(path)


def _read(path: Path) -> RuntimeFile | None:
    """Read a runtime file; None where it isn't one of ours, or is damaged."""
    try:
        if path.stat().st_uid != os.getuid():
            return None
        document: Any = json.loads(path.read_text())
        known = {key: document[key] for key in RuntimeFile.__dataclass_fields__ if key in document}
        found = RuntimeFile(**known)
    except (OSError, ValueError, TypeError):
        return None
    return found if type(document["pid"]) is int and type(document["url"]) is str else None


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (OSError, OverflowError):  # gone, or by now another user's
        return False
    return True


def _runtime_dir() -> Path:
    return Path(jupyter_runtime_dir())
