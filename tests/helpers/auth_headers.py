"""The headers by which a test's peer gets into a Core: found as our own tools find them."""

from __future__ import annotations

from agentstepper_nb import discover
from agentstepper_nb.discover import CoreEndpoint


def bearer_headers(token: str | None) -> dict[str, str]:
    """The header that carries a token."""
    return {"Authorization": f"Bearer {token}"} if token else {}


def view_headers(url: str) -> dict[str, str]:
    """The headers of a UI that connects there."""
    return _headers(discover.find_view_endpoint(url))


def agent_headers(url: str) -> dict[str, str]:
    """The headers of an agent that connects there."""
    return _headers(discover.discover(url))


def _headers(endpoint: CoreEndpoint) -> dict[str, str]:
    return bearer_headers(endpoint.token)
