"""The order in which the Core's URL and the token that the Core requires are looked up."""

from __future__ import annotations

import os
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Final

from ..errors import DiscoveryError
from .addresses import (
    is_same_url,
    make_host_url,
    to_agents_url,
    to_runtime_url,
    to_websocket_url,
    to_worker_url,
)
from .core_info import CoreEndpoint, CoreInfo, list_announced_cores
from .port_probe import is_listening
from .process_ancestry import list_ancestors
from .process_cores import list_process_cores

URL_VARIABLE: Final = "AGENTSTEPPER_URL"
#: The agent token.
AGENT_TOKEN_VARIABLE: Final = "AGENTSTEPPER_TOKEN"
#: Set by a person, for the Core that the URL names, where no data folder tells its control token.
CONTROL_TOKEN_VARIABLE: Final = "AGENTSTEPPER_CONTROL_TOKEN"
#: Environment variables of the Core's URL for workers, and of the worker token.
WORKER_URL_VARIABLE: Final = "AGENTSTEPPER_WORKER_URL"
WORKER_TOKEN_VARIABLE: Final = "AGENTSTEPPER_WORKER_TOKEN"
#: Environment variable of the runs' name, in place of the program's own name.
PROGRAM_NAME_VARIABLE: Final = "AGENTSTEPPER_NAME"

_NO_CORE: Final = (
    "No AgentStepper Core for background agents is running. Start `agentstepper serve`, "
    "or JupyterLab with agentstepper_nb installed beside the server; or pass url= and "
    "token= of a Core."
)


def discover(url: str | None = None, token: str | None = None) -> CoreEndpoint:
    """Find the Core's endpoint for agents.

    Args:
        url: The Core's address, if the caller knows it.
        token: The agent token, where the caller knows it.

    Raises:
        DiscoveryError: No Core runs, or several do.
    """
    chosen = url or os.environ.get(URL_VARIABLE)
    if chosen:
        return _find_agents_endpoint(to_websocket_url(chosen), token)
    found = _choose_server(list(list_announced_cores()))
    return CoreEndpoint(found.url, token or found.tokens.agent or None)


def make_endpoint(address: str | None, port: int | None, token: str | None = None) -> CoreEndpoint:
    """The Core at an address and port, as `agentstepper serve` and the original take agents."""
    return _find_agents_endpoint(make_host_url(address, port), token)


def discover_control_endpoint() -> CoreEndpoint:
    """The Core that `discover` finds, with the control token in the agent token's place where known.

    Raises:
        DiscoveryError: There is none, or there are several.
    """
    found = discover()
    return CoreEndpoint(found.url, _find_control_token(found.url) or found.token)


def find_own_core() -> CoreEndpoint | None:
    """The Core that belongs to this process, as a kernel's Jupyter server's does to the kernel.

    Returns:
        What the environment names, or the Core of the server that this process descends from; None
        where there is neither, whatever else of this user is running.
    """
    if os.environ.get(URL_VARIABLE):
        return discover()
    found = _find_ancestor_core(list(list_announced_cores()))
    return None if found is None else found.endpoint


def find_worker_endpoint(url: str | None = None, token: str | None = None) -> CoreEndpoint:
    """Find the endpoint for this process as a worker: the given one, else that of the environment, else
    the one running Core that accepts workers.

    Args:
        url: The Core's address for workers, or for agents.
        token: The worker token; None: the one in the Core's data folder.

    Raises:
        DiscoveryError: No Core accepts workers, or several do.
    """
    # Taken out of the environment: what a worker starts is no worker.
    inherited = os.environ.pop(WORKER_TOKEN_VARIABLE, None)
    chosen = url or os.environ.get(WORKER_URL_VARIABLE) or os.environ.get(URL_VARIABLE)
    if chosen:
        return _make_worker_endpoint(to_worker_url(to_websocket_url(chosen)), token or inherited)
    found = _choose_server(
        [each for each in list_announced_cores() if each.tokens.worker], _NO_CORE
    )
    return CoreEndpoint(to_worker_url(found.url), token or found.tokens.worker or None)


def find_runtime_endpoint(url: str | None = None, token: str | None = None) -> CoreEndpoint:
    """Find the endpoint for programs that control background agents: the URL and the control token.

    Args:
        url: The Core's address for these programs, or for agents; None: `discover` finds the Core.
        token: The control token; None: the one in the Core's data folder.

    Raises:
        DiscoveryError: No Core runs, or several do.
    """
    chosen = url or os.environ.get(URL_VARIABLE)
    if chosen:
        agents = to_agents_url(to_websocket_url(chosen))
        core = _find_core(agents)
        at = to_runtime_url(to_websocket_url(chosen) if core is None else core.url)
        return CoreEndpoint(at, token or _find_control_token(agents))
    found = _choose_server(list(list_announced_cores()), _NO_CORE)
    return CoreEndpoint(to_runtime_url(found.url), token or found.tokens.control or None)


def find_running_core() -> CoreInfo | None:
    """The announced info of the Core that `discover` finds; None: no Core runs, or none announces it.

    Raises:
        DiscoveryError: Several Cores run.
    """
    env_url = os.environ.get(URL_VARIABLE)
    if env_url:
        return _find_core(to_websocket_url(env_url))
    servers = list(list_announced_cores())
    return _choose_server(servers) if servers else None


def find_view_endpoint(url: str, token: str | None = None) -> CoreEndpoint:
    """Return the endpoint of a view: the URL, and the control token.

    Args:
        url: The Core's URL for UIs.
        token: The control token; that of the Core's data folder, or of the environment, where there is
            none.
    """
    for core in _list_cores():
        if core.ui_url and is_same_url(core.ui_url, url):
            return CoreEndpoint(core.ui_url, token or core.tokens.control or None)
    return CoreEndpoint(url, token or os.environ.get(CONTROL_TOKEN_VARIABLE))


def find_folder_endpoint(folder: Path) -> CoreEndpoint | None:
    """The running Core that has a data folder, as programs reach it that control; None where none has.

    Args:
        folder: The data folder.
    """
    for core in _list_cores():
        if core.data_dir and _is_same_folder(Path(core.data_dir), folder):
            return CoreEndpoint(core.url, core.tokens.control or None)
    return None


def _is_same_folder(one: Path, other: Path) -> bool:
    with suppress(OSError):
        return one.samefile(other)
    return False


# ---- the tokens of an address -----------------------------------------------------------------------
# A token goes to the address that its Core is known by: where 127.0.0.1 is a Core's, the same port of
# ::1 may be another user's.


def _find_agents_endpoint(url: str, token: str | None) -> CoreEndpoint:
    """A Core at an address. A token that was set for another Core is not sent to this one."""
    env_url = os.environ.get(URL_VARIABLE)
    if not env_url or is_same_url(env_url, url):
        token = token or os.environ.get(AGENT_TOKEN_VARIABLE)
    core = _find_core(url)
    if core is None:
        return CoreEndpoint(url, token or None)
    return CoreEndpoint(core.url, token or core.tokens.agent or None)


def _make_worker_endpoint(url: str, token: str | None) -> CoreEndpoint:
    core = _find_core(to_agents_url(url))
    if core is None:
        return CoreEndpoint(url, token)
    return CoreEndpoint(to_worker_url(core.url), token or core.tokens.worker or None)


def _find_control_token(url: str) -> str | None:
    core = _find_core(url)
    if core is not None and core.tokens.control:
        return core.tokens.control
    env_url = os.environ.get(URL_VARIABLE)
    return os.environ.get(CONTROL_TOKEN_VARIABLE) if env_url and is_same_url(env_url, url) else None


def _find_core(url: str) -> CoreInfo | None:
    """The running Core that takes agents there."""
    return next((each for each in _list_cores() if is_same_url(each.url, url)), None)


def _list_cores() -> list[CoreInfo]:
    """The Cores of this process, which may be announced nowhere, and those of this user."""
    return [*list_process_cores(), *list_announced_cores()]


# ---- the Core that is meant -------------------------------------------------------------------------


def _choose_server(servers: list[CoreInfo], none: str = "") -> CoreInfo:
    """Choose the only running server.

    Args:
        servers: The running servers.
        none: The error's text where none runs, in place of the text for agents.
    """
    if not servers:
        raise DiscoveryError(
            none
            or "No AgentStepper Core is running. Start one with `agentstepper serve` and pass "
            f"address= and port=, set {URL_VARIABLE}, or run this in JupyterLab with agentstepper_nb "
            "installed beside the server. In any other notebook, run `%agentstepper --kernel` first."
        )
    own = _find_ancestor_core(servers)
    if own is not None:
        return own
    if len(servers) > 1:  # a file that a killed Core left counts for nothing
        servers = [each for each in servers if is_listening(each.url)] or servers
    if len(servers) == 1:
        return servers[0]
    listed = "\n".join(f"  {each.url}  {_describe_server(each)}" for each in servers)
    raise DiscoveryError(
        f"Several AgentStepper Cores are running:\n{listed}\nChoose one by url= or "
        f"{URL_VARIABLE}; or stop the others by `kill PID`."
    )


def _describe_server(server: CoreInfo) -> str:
    """A Core in words by which a person knows it."""
    since = datetime.fromtimestamp(server.started).strftime("%Y-%m-%d %H:%M:%S")
    folder_note = f", runs in {server.data_dir}" if server.data_dir else ""
    return f"{server.name or server.root_dir} (pid {server.pid}, since {since}{folder_note})"


def _find_ancestor_core(servers: list[CoreInfo]) -> CoreInfo | None:
    """The Core of the nearest process that this one descends from."""
    by_pid = {server.pid: server for server in servers}
    return next((by_pid[pid] for pid in list_ancestors() if pid in by_pid), None)
