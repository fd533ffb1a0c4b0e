"""The file in which a running Core publishes its address, beside Jupyter's own runtime files."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import secrets
import time
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Final

from jupyter_core.paths import jupyter_runtime_dir

from .._version import __version__
from .tokens import NO_TOKENS, CoreTokens, read_tokens, write_private_file

_PREFIX: Final = "agentstepper-"


@dataclass(frozen=True)
class CoreEndpoint:
    """A Core's URL, and the token to send to it.

    Args:
        url: A WebSocket URL.
        token: The token to send; None sends none.
    """

    url: str
    token: str | None = None


@dataclass(frozen=True)
class CoreInfo:
    """Information that a running Core publishes about itself.

    Args:
        pid: The id of the Core's process.
        url: The WebSocket URL for agents.
        ui_url: The WebSocket URL for UIs, where it has a port for them.
        data_dir: The data folder, which has the Core's tokens.
        name: The Core's name for people, in lists.
        base_url: The Jupyter server's base URL.
        root_dir: The folder that this server shows.
        version: The version of this package in the Core's process.
        started: The time of the Core's start, in POSIX seconds.
        certificate: The file with the Core's TLS certificate; "" where it has none.
        tokens: The Core's tokens, from its data folder; the file doesn't have them.
    """

    pid: int
    url: str
    ui_url: str = ""
    data_dir: str = ""
    name: str = ""
    base_url: str = ""
    root_dir: str = ""
    version: str = ""
    started: float = 0.0
    certificate: str = ""
    tokens: CoreTokens = NO_TOKENS

    @property
    def endpoint(self) -> CoreEndpoint:
        """The Core's endpoint for agents."""
        return CoreEndpoint(self.url, self.tokens.agent or None)


#: The fields that a runtime file has: no token.
_KEYS: Final = tuple(each.name for each in fields(CoreInfo) if each.name != "tokens")


def list_announced_cores() -> Iterator[CoreInfo]:
    """Give this user's running Cores. The files of dead ones are removed on the way."""
    for path in _list_info_files():
        found = _read(path)
        if found is None:
            continue
        if _is_alive(found.pid):
            yield found
        else:
            with contextlib.suppress(OSError):
                path.unlink()


def write_core_info(
    *,
    url: str,
    data_dir: Path | None,
    ui_url: str = "",
    name: str = "",
    base_url: str = "",
    root_dir: str = "",
    version: str = __version__,
    pid: int | None = None,
    started: float | None = None,
    certificate: str = "",
) -> Path:
    """Publish this process's Core to programs of this user; the file is removed when the process exits.

    Args:
        url: The WebSocket URL for agents.
        data_dir: The data folder, which has the Core's tokens; None: there is none.
        ui_url: The WebSocket URL for UIs.
        name: The Core's name for people, in lists.
        base_url: The Jupyter server's base URL.
        root_dir: The folder that this server shows.
        version: The version of this package.
        pid: The id of the Core's process; None: this process.
        started: The time of the Core's start, in POSIX seconds; None: now.
        certificate: The file with the Core's TLS certificate; "" where it has none.

    Returns:
        The file, readable by this user alone. `remove_core_info` removes it earlier.
    """
    content = CoreInfo(
        pid=os.getpid() if pid is None else pid,
        url=url,
        ui_url=ui_url,
        data_dir="" if data_dir is None else str(data_dir.absolute()),
        name=name,
        base_url=base_url,
        root_dir=root_dir,
        version=version,
        started=time.time() if started is None else started,
        certificate=certificate and str(Path(certificate).absolute()),
    )
    folder = _runtime_dir()
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    path = folder / f"{_PREFIX}{content.pid}.json"
    # Written aside and moved into place: a reader never meets half a file.
    draft = path.with_suffix(f".{secrets.token_hex(4)}.tmp")
    write_private_file(draft, json.dumps(_document(content), indent=2) + "\n")
    draft.replace(path)
    atexit.register(_remove_own, path, os.getpid())
    return path


def remove_core_info(path: Path) -> None:
    """Take a runtime file away. It may be gone already."""
    path.unlink(missing_ok=True)


def _remove_own(path: Path, pid: int) -> None:
    """Remove this process's own file; in a forked child, the file belongs to the parent."""
    if pid == os.getpid():
        remove_core_info(path)


def _list_info_files() -> list[Path]:
    try:
        return sorted(_runtime_dir().glob(f"{_PREFIX}*.json"))
    except OSError:  # this user may not enter the folder
        return []


def _read(path: Path) -> CoreInfo | None:
    """Read a runtime file; None where it isn't one of ours, or is damaged."""
    try:
        if path.stat().st_uid != os.getuid():
            return None
        document: Any = json.loads(path.read_text())
        found = CoreInfo(**{key: document[key] for key in _KEYS if key in document})
    except (OSError, ValueError, TypeError):
        return None
    if type(found.pid) is not int or not all(type(each) is str for each in _texts(found)):
        return None
    return replace(found, tokens=read_tokens(Path(found.data_dir))) if found.data_dir else found


def _document(content: CoreInfo) -> dict[str, Any]:
    document = {key: getattr(content, key) for key in _KEYS}
    if not content.certificate:
        del document["certificate"]
    return document


def _texts(found: CoreInfo) -> tuple[Any, ...]:
    return found.url, found.ui_url, found.data_dir, found.certificate


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (OSError, OverflowError):  # gone, or by now another user's
        return False
    return True


def _runtime_dir() -> Path:
    return Path(jupyter_runtime_dir())
