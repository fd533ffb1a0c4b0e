"""The chat interpreter: sessions in which people and agents talk, each turn of which can be debugged.

A chat in a notebook or a program is `agentstepper_nb.Chat`. Here are the parts that agents, backends and
clients are made of, each imported when it is first asked for: an agent's `InterpreterABC`, `Turn` and
`HandOn`, what shows a chat, `Backend`, with `UserInput`, and the clients from outside, `ChatClient` and
`AsyncChatClient`. The pieces of answers are in `pieces`, the agents that come with it in `connectors`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .backend import Backend, UserInput
    from .connector import HandOn, InterpreterABC, Turn
    from .outside.blocking import ChatClient
    from .outside.client import AsyncChatClient

__all__ = [
    "AsyncChatClient",
    "Backend",
    "ChatClient",
    "HandOn",
    "InterpreterABC",
    "Turn",
    "UserInput",
]

_HOMES = {
    "AsyncChatClient": ".outside.client",
    "Backend": ".backend",
    "ChatClient": ".outside.blocking",
    "HandOn": ".connector",
    "InterpreterABC": ".connector",
    "Turn": ".connector",
    "UserInput": ".backend",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name], __name__), name)
