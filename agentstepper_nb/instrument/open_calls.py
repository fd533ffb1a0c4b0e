"""The tool calls in progress, so that a call that passes two seams is one event.

A framework with a tool on an MCP server makes the call, and the MCP client makes it again.
"""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from ..sdk.run_events import OpenEvent, find_innermost_event


@dataclass(frozen=True)
class _OpenCall:
    event: OpenEvent
    name: str
    args: Any


_open: ContextVar[tuple[_OpenCall, ...]] = ContextVar("agentstepper_open_calls", default=())


def record_open_call(event: OpenEvent, name: str, args: Any) -> None:
    """Record that a call is in progress, in this context.

    Args:
        event: The call's event, which ends with the call.
        name: The tool's name.
        args: The tool's arguments.
    """
    calls = (call for call in _open.get() if not call.event.ended)
    _open.set((*calls, _OpenCall(event, name, args)))


def is_inside_same_call(run: str, name: str, args: Any) -> bool:
    """Whether a framework's event is this call already: the innermost one, and of the same tool.

    Args:
        run: The run's id.
        name: The tool's name at the inner seam. A framework may have put a server's name before it:
            then the arguments say whether it is the same call.
        args: The tool's arguments at the inner seam.
    """
    event = find_innermost_event(run)
    call = next((call for call in _open.get() if call.event is event), None)
    if call is None:
        return False
    return call.name == name or (call.name.endswith(name) and call.args == args)
