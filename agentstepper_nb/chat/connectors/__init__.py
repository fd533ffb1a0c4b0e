"""The agents that come with the chat, each imported when it is first asked for.

Imports what `chat` may.
Begin reading in `registry`: `make_connector` makes a connector of a function or of an installed
name.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .background_agent import BackgroundAgent
    from .coding_agent import CodingAgent
    from .endpoint_agent import EndpointAgent
    from .function_agent import FunctionAgent
    from .registry import list_connectors, make_connector

__all__ = [
    "BackgroundAgent",
    "CodingAgent",
    "EndpointAgent",
    "FunctionAgent",
    "list_connectors",
    "make_connector",
]

_HOMES = {
    "CodingAgent": ".coding_agent",
    "EndpointAgent": ".endpoint_agent",
    "FunctionAgent": ".function_agent",
    "BackgroundAgent": ".background_agent",
    "make_connector": ".registry",
    "list_connectors": ".registry",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name], __name__), name)
