"""Lets agents find this server: by the environment of its kernels, and by a file for other programs."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from jupyter_server.serverapp import ServerApp
from jupyter_server.utils import url_path_join

from .. import discover
from .._version import __version__

#: Addresses that mean "wherever I can be reached", and so also the loopback.
_WILDCARD_HOSTS = {"", "*", "0.0.0.0", "::", "localhost"}


def find_agent_url(server: ServerApp) -> str | None:
    """Find the URL for agents on this machine; None where only a UNIX socket listens."""
    if server.sock:
        return None
    scheme = "wss" if server.certfile else "ws"
    path = url_path_join(server.base_url, "agentstepper", "agent")
    return f"{scheme}://{_host(server.ip)}:{server.port}{path}"


def _host(ip: str) -> str:
    if ip in _WILDCARD_HOSTS:
        return "127.0.0.1"
    return f"[{ip}]" if ":" in ip else ip


@contextmanager
def announce_server(server: ServerApp, url: str, token: str, data_dir: Path) -> Iterator[Path]:
    """Let agents and workers find the Core at `url` while this context is open.

    Only the agent token is put into the environment, which every agent inherits.

    Args:
        server: The server.
        url: The Core's address for agents.
        token: The agent token.
        data_dir: The folder that stores the tokens.
    """
    file = discover.write_core_info(
        url=url,
        data_dir=data_dir,
        name=f"Jupyter server in {server.root_dir}",
        base_url=server.base_url,
        root_dir=server.root_dir,
        version=__version__,
        certificate=server.certfile,
    )
    # For kernels that the server starts, and what they start.
    inherited = {discover.URL_VARIABLE: url, discover.AGENT_TOKEN_VARIABLE: token}
    variables = {**inherited, discover.CONTROL_TOKEN_VARIABLE: None}
    before = {name: os.environ.get(name) for name in variables}
    _set_environment(variables)
    try:
        yield file
    finally:
        discover.remove_core_info(file)
        _set_environment(before)


def _set_environment(variables: Mapping[str, str | None]) -> None:
    """Set environment variables; variables with the value None are removed."""
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
