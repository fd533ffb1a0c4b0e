"""The agents that the interpreter can talk to, each imported when it is first asked for.

`connector` makes one of a function or of an installed connector's name; `connectors` lists those.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .coding import CodingAgent
    from .endpoint import Endpoint
    from .function import FunctionAgent
    from .queue import QueueSession
    from .registry import connector, connectors

__all__ = [
    "CodingAgent",
    "Endpoint",
    "FunctionAgent",
    "QueueSession",
    "connector",
    "connectors",
]

_HOMES = {
    "CodingAgent": ".coding",
    "Endpoint": ".endpoint",
    "FunctionAgent": ".function",
    "QueueSession": ".queue",
    "connector": ".registry",
    "connectors": ".registry",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name], __name__), name)
