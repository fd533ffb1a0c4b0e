"""Chat sessions in which people and agents talk; the debugger records and steps each turn.

Imports `protocol`, `sdk`, `models`, `llm_wire`, `rpc`, `worker`, `runtime`, `discover`,
`line_file`.
Begin reading in `session`: one session and its turns; `connector` has the interface of agents,
`backend` the interface of chat displays.

A chat in a notebook or a program is `agentstepper_nb.Chat`. The names below are imported on first
use: `InterpreterABC`, `Turn` and `Handoff` for agents, `Backend` and `UserInput` for chat displays,
`ChatClient` and `AsyncChatClient` for clients in other processes, and `Interpreter` for a program
with an event loop of its own.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..protocol.chat import (
        MAX_MESSAGE_LENGTH,
        AgentName,
        AgentType,
        Message,
        MessageType,
        State,
    )
    from ..protocol.chat import MessageType as MessageTypeEnum
    from .allowed_paths import AllowedPaths
    from .backend import Backend, UserInput
    from .connector import Handoff, InterpreterABC, Turn
    from .interpreter import Interpreter
    from .memory import Memory
    from .remote.client import AsyncChatClient, ChatClient
    from .request_converter import MappingRule, RequestConverter
    from .streams import StreamWrapper

__all__ = [
    "MAX_MESSAGE_LENGTH",
    "AgentName",
    "AgentType",
    "AllowedPaths",
    "AsyncChatClient",
    "Backend",
    "ChatClient",
    "Handoff",
    "Interpreter",
    "InterpreterABC",
    "MappingRule",
    "Memory",
    "Message",
    "MessageType",
    "MessageTypeEnum",
    "RequestConverter",
    "State",
    "StreamWrapper",
    "Turn",
    "UserInput",
]

#: Where each name lives; all others of `__all__` are of the protocol.
_HOMES = {
    "AllowedPaths": ".allowed_paths",
    "AsyncChatClient": ".remote.client",
    "Backend": ".backend",
    "ChatClient": ".remote.client",
    "Handoff": ".connector",
    "Interpreter": ".interpreter",
    "InterpreterABC": ".connector",
    "MappingRule": ".request_converter",
    "Memory": ".memory",
    "RequestConverter": ".request_converter",
    "StreamWrapper": ".streams",
    "Turn": ".connector",
    "UserInput": ".backend",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    own = name.removesuffix("Enum")  # MessageTypeEnum is what others call it
    return getattr(import_module(_HOMES.get(name, "..protocol.chat"), __name__), own)
