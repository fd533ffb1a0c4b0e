"""Where the Core is, and the token its agents need.

A Core that runs inside a Jupyter server leaves a runtime file beside Jupyter's own; agents read it.
`discover` looks in this order: what the caller says, the environment, the runtime file of the server
whose kernel this is, the only running server of this user. Several are listed, never guessed among.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import json
import os
import re
import secrets
import subprocess
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from jupyter_core.paths import jupyter_data_dir, jupyter_runtime_dir

from ._version import __version__
from .errors import DiscoveryError

URL_VARIABLE: Final = "AGENTSTEPPER_URL"
TOKEN_VARIABLE: Final = "AGENTSTEPPER_TOKEN"
#: Set by a person, for the Core that the URL names, where no runtime file tells its control token.
CONTROL_VARIABLE: Final = "AGENTSTEPPER_CONTROL_TOKEN"
#: Where the Core takes workers, and the token that it asks them for.
WORKER_URL_VARIABLE: Final = "AGENTSTEPPER_WORKER_URL"
WORKER_TOKEN_VARIABLE: Final = "AGENTSTEPPER_WORKER_TOKEN"
#: What runs are called, in place of the name that the program gives itself.
NAME_VARIABLE: Final = "AGENTSTEPPER_NAME"
#: The port that `agentstepper serve` takes agents on unless told otherwise.
DEFAULT_PORT: Final = 8765

_PREFIX: Final = "agentstepper-"
#: The files in a data folder that keep the agents' token and the control token.
TOKEN_FILE: Final = "agent-token"
CONTROL_FILE: Final = "control-token"
#: What may stand in a header: of a damaged file something else may come.
_SENDABLE: Final = re.compile(r"[!-~]+")


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


# ---- finding ----------------------------------------------------------------------------------------


def discover(url: str | None = None, token: str | None = None) -> Endpoint:
    """Find the Core.

    Args:
        url: Its address, where the caller knows it.
        token: The token to use, where the caller knows it.

    Raises:
        DiscoveryError: There is none, or there are several.
    """
    given = os.environ.get(URL_VARIABLE)
    chosen = url or given
    if chosen:
        chosen = websocket_url(chosen)
        return Endpoint(chosen, token or _token_for(chosen, given))
    found = _chosen_server(list(running_servers()))
    return Endpoint(found.url, token or found.token)


def discover_control() -> Endpoint:
    """The Core that `discover` finds, with the control token in the place of the agents' where known.

    Raises:
        DiscoveryError: There is none, or there are several.
    """
    found = discover()
    return Endpoint(found.url, _control_token_for(found.url) or found.token)


def own_core() -> Endpoint | None:
    """The Core that belongs to this process, as a kernel's Jupyter server's does to the kernel.

    Returns:
        What the environment names, or the Core of the server that this process descends from; None
        where there is neither, whatever else of this user is running.
    """
    if os.environ.get(URL_VARIABLE):
        return discover()
    found = _ancestral(list(running_servers()))
    return None if found is None else found.endpoint


def worker_endpoint() -> Endpoint:
    """Where this process serves as a worker: what the environment names, else the one Jupyter server.

    Raises:
        DiscoveryError: There is none, or there are several.
    """
    url = os.environ.get(WORKER_URL_VARIABLE)
    if url:
        # Taken out of the environment: what a worker starts is no worker.
        return Endpoint(websocket_url(url), os.environ.pop(WORKER_TOKEN_VARIABLE, None))
    found = _chosen_server([each for each in running_servers() if each.worker_token])
    return Endpoint(worker_url(found.url), found.worker_token)


def worker_url(agents: str) -> str:
    """Where a Jupyter server takes workers.

    Args:
        agents: Where it takes agents.
    """
    return agents.removesuffix("agent") + "worker"


def endpoint(address: str | None, port: int | None, token: str | None = None) -> Endpoint:
    """The Core at an address and port, as `agentstepper serve` and the original take agents."""
    host = address or "localhost"
    if ":" in host and not host.startswith("["):
        host = f"[{host}]"
    url = f"ws://{host}:{DEFAULT_PORT if port is None else port}"
    return Endpoint(url, token or _token_for(url, os.environ.get(URL_VARIABLE)))


def websocket_url(url: str) -> str:
    """The WebSocket form of a URL: `http` becomes `ws`, `https` becomes `wss`."""
    scheme, separator, rest = url.partition("://")
    return {"http": "ws", "https": "wss"}.get(scheme, scheme) + separator + rest


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


def _token_for(url: str, given: str | None) -> str | None:
    """The token that belongs to a URL: one that was set for another Core is not sent to this one."""
    token = os.environ.get(TOKEN_VARIABLE)
    if token and (not given or websocket_url(given) == url):
        return token
    return next((server.token for server in running_servers() if server.url == url), None)


def _control_token_for(url: str) -> str | None:
    """The control token that belongs to a URL, with the same care."""
    for server in running_servers():
        if server.url == url and server.control_token:
            return server.control_token
    given = os.environ.get(URL_VARIABLE)
    return os.environ.get(CONTROL_VARIABLE) if given and websocket_url(given) == url else None


def _chosen_server(servers: list[RuntimeFile]) -> RuntimeFile:
    if not servers:
        raise DiscoveryError(
            "No AgentStepper Core is running. Start one with `agentstepper serve` and pass "
            f"address= and port=, set {URL_VARIABLE}, or run this in JupyterLab with agentstepper_nb "
            "installed beside the server. In any other notebook, run `%agentstepper --kernel` first."
        )
    own = _ancestral(servers)
    if own is not None:
        return own
    if len(servers) == 1:
        return servers[0]
    listed = "\n".join(f"  {s.url}  {s.name or s.root_dir} (pid {s.pid})" for s in servers)
    raise DiscoveryError(
        f"Several AgentStepper Cores are running:\n{listed}\nSay which one is meant: pass url=, or set "
        f"{URL_VARIABLE}."
    )


def _ancestral(servers: list[RuntimeFile]) -> RuntimeFile | None:
    """The Core of the nearest process that this one descends from."""
    by_pid = {server.pid: server for server in servers}
    return next((by_pid[pid] for pid in _ancestors() if pid in by_pid), None)


def _ancestors() -> Iterator[int]:
    """Give the server that a kernel names as its parent, then this process's own ancestors."""
    named = os.environ.get("JPY_PARENT_PID", "")
    if named.isdecimal():
        yield int(named)
    pid = os.getppid()
    while pid > 1:
        yield pid
        pid = _parent(pid)


def _parent(pid: int) -> int:
    """The parent of a process; 0 where it can't be told."""
    if Path("/proc/self/stat").exists():
        try:
            # The name before may hold spaces and brackets; the state and the parent come after it.
            after = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2]
            return int(after.split()[1])
        except (OSError, ValueError, IndexError):
            return 0
    try:
        command = ["ps", "-o", "ppid=", "-p", str(pid)]
        return int(subprocess.run(command, capture_output=True, text=True, check=False).stdout)
    except (OSError, ValueError):
        return 0


# ---- runtime files, written by hosts ----------------------------------------------------------------


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
    _write_private(draft, json.dumps(asdict(content), indent=2) + "\n")
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


# ---- the data folder --------------------------------------------------------------------------------


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
            _write_private(draft, token + "\n")
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


def _write_private(path: Path, text: str) -> None:
    """Write a new file that only this user can read."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
