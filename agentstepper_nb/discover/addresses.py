"""The addresses of a Core: one for agents, and others beside it for workers, clients and chats."""

from __future__ import annotations

from typing import Final
from urllib.parse import SplitResult, urlsplit, urlunsplit

#: The default port on which `agentstepper serve` accepts agents.
DEFAULT_PORT: Final = 8765

_PORTS: Final = {"ws": 80, "wss": 443}
_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})


def to_websocket_url(url: str) -> str:
    """The WebSocket form of a URL: `http` becomes `ws`, `https` becomes `wss`."""
    scheme, separator, rest = url.partition("://")
    return {"http": "ws", "https": "wss"}.get(scheme, scheme) + separator + rest


def make_host_url(address: str | None, port: int | None, scheme: str = "ws") -> str:
    """The URL of a Core at an address and port, as `agentstepper serve` and the original take agents.

    Args:
        address: The host; None: this machine.
        port: The port; None: the default one.
        scheme: `ws`, or `wss` where the Core speaks TLS.
    """
    host = address or "localhost"
    if ":" in host and not host.startswith("["):
        host = f"[{host}]"
    return f"{scheme}://{host}:{DEFAULT_PORT if port is None else port}"


def to_worker_url(agents_url: str) -> str:
    """Return a Core's URL for workers.

    Args:
        agents_url: The Core's URL for agents.
    """
    return _replace_path(agents_url, "worker")


def to_runtime_url(agents_url: str) -> str:
    """Return a Core's URL for programs that control background agents.

    Args:
        agents_url: The Core's URL for agents.
    """
    return _replace_path(agents_url, "runtime")


def make_chat_url(core_url: str, chat_id: str) -> str:
    """Return the URL at which clients reach a chat.

    Args:
        core_url: The Core's URL for agents or workers.
        chat_id: The id of the chat at the Core.
    """
    return _replace_path(core_url, f"chat/{chat_id}")


def to_agents_url(url: str) -> str:
    """Return a Core's URL for agents, given its URL for agents, workers or control programs."""
    parts = urlsplit(url)
    path = parts.path.removesuffix("/worker").removesuffix("/runtime")
    return urlunsplit(
        parts._replace(path=f"{path}/agent" if path.endswith("/agentstepper") else path)
    )


def is_same_url(left: str, right: str) -> bool:
    """Whether two URLs share one address: `localhost` is `127.0.0.1` and `::1`, and `http` is `ws`."""
    return left == right or _normalize(left) == _normalize(right)


def _normalize(url: str) -> tuple[str, ...]:
    try:
        parts = urlsplit(to_websocket_url(url))
        return parts.scheme, _host(parts), str(_port(parts)), parts.path.rstrip("/"), parts.query
    except ValueError:  # no address at all
        return (url,)


def _host(parts: SplitResult) -> str:
    host = parts.hostname or ""
    return "localhost" if host in _LOOPBACK else host


def _port(parts: SplitResult) -> int | None:
    return parts.port or _PORTS.get(parts.scheme)


def _replace_path(core_url: str, name: str) -> str:
    """Another address of the Core of an address for agents or workers; one of that name stays."""
    parts = urlsplit(core_url)
    if parts.path.endswith(f"/{name}"):
        return core_url
    path = parts.path.removesuffix("/worker").removesuffix("/agent").removesuffix("/")
    return urlunsplit(parts._replace(path=f"{path}/{name}"))
