"""Where the Core is, and the token that it asks for: the order in which that is looked for."""

from __future__ import annotations

import os
from typing import Final

from ..errors import DiscoveryError
from .ancestry import ancestors
from .runtime_files import Endpoint, RuntimeFile, running_servers

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

_NO_CORE: Final = (
    "No AgentStepper Core for agents of their own is running. Start `agentstepper serve`, or JupyterLab "
    "with agentstepper_nb installed beside the server; or say where one is: pass url= and token=."
)


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


def worker_endpoint(url: str | None = None, token: str | None = None) -> Endpoint:
    """Where this process serves as a worker: what is given, else what the environment names, else the
    one running Core that takes workers.

    Args:
        url: Where the Core takes workers, or agents.
        token: The workers' token; that of the runtime file where there is none.

    Raises:
        DiscoveryError: There is none, or there are several.
    """
    # Taken out of the environment: what a worker starts is no worker.
    inherited = os.environ.pop(WORKER_TOKEN_VARIABLE, None)
    chosen = url or os.environ.get(WORKER_URL_VARIABLE)
    if chosen:
        chosen = worker_url(websocket_url(chosen))
        return Endpoint(chosen, token or inherited or _worker_token_for(chosen))
    found = _chosen_server([each for each in running_servers() if each.worker_token], _NO_CORE)
    return Endpoint(worker_url(found.url), token or found.worker_token)


def worker_url(agents: str) -> str:
    """Where a Core takes workers.

    Args:
        agents: Where it takes agents.
    """
    return _beside(agents, "worker")


def agents_url(door: str) -> str:
    """Where the Core takes agents that takes workers, or who controls its agents, at that door."""
    core = door.removesuffix("/worker").removesuffix("/runtime")
    return f"{core}/agent" if core.endswith("/agentstepper") else core


def runtime_endpoint(url: str | None = None, token: str | None = None) -> Endpoint:
    """Where programs control the agents that run on their own, and the token by which they may.

    Args:
        url: Where the Core takes them, or agents; else the Core that `discover` finds.
        token: The control token; that of the runtime file where there is none.

    Raises:
        DiscoveryError: There is none, or there are several.
    """
    chosen = url or os.environ.get(URL_VARIABLE)
    if chosen:
        chosen = websocket_url(chosen)
        return Endpoint(runtime_url(chosen), token or _best_token_for(agents_url(chosen)))
    found = _chosen_server(list(running_servers()), _NO_CORE)
    return Endpoint(runtime_url(found.url), token or found.control_token or found.token)


def runtime_url(agents: str) -> str:
    """Where a Core takes who controls the agents that run on their own.

    Args:
        agents: Where it takes agents.
    """
    return _beside(agents, "runtime")


def chat_url(door: str, id: str) -> str:
    """Where clients come to a chat.

    Args:
        door: Where the Core takes agents, or workers.
        id: What the chat's process calls its way in.
    """
    return _beside(door.removesuffix("/worker"), f"chat/{id}")


def _beside(agents: str, name: str) -> str:
    """The address of another door of the Core that takes agents there; that of the door stays."""
    if agents.endswith(f"/{name}"):
        return agents
    return f"{agents.removesuffix('agent').removesuffix('/')}/{name}"


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


def _worker_token_for(url: str) -> str | None:
    """The workers' token of the running Core that takes workers there."""
    servers = running_servers()
    return next((each.worker_token for each in servers if worker_url(each.url) == url), None)


def _best_token_for(agents: str) -> str | None:
    """The control token that belongs to a URL, else the agents', which does on a Core with one token."""
    return _control_token_for(agents) or _token_for(agents, os.environ.get(URL_VARIABLE))


def _chosen_server(servers: list[RuntimeFile], none: str = "") -> RuntimeFile:
    """The server that is meant, among those that run.

    Args:
        servers: Those.
        none: What is said where there is none, in the place of what is said to agents.
    """
    if not servers:
        raise DiscoveryError(
            none
            or "No AgentStepper Core is running. Start one with `agentstepper serve` and pass "
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
    return next((by_pid[pid] for pid in ancestors() if pid in by_pid), None)
