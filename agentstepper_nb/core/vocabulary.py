"""What extensions add to the debugger's words: event types of their own, and summaries."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from ..protocol.values import Actor, AgentState, Breakpoint

#: Gives one line on a breakpoint, or None to leave it to the next. It is called often: each time that a
#: row is told.
Summarizer = Callable[[Breakpoint], str | None]


@dataclass(frozen=True)
class EventType:
    """How a custom event is told.

    Args:
        actor: Whom the agent turns to at its begin, and who answers at its end.
        state: What the agent does in between.
    """

    actor: Actor = Actor.TOOLS
    state: AgentState = AgentState.TOOL_EXECUTING


_UNREGISTERED: Final = EventType()


def _silent(_: Breakpoint) -> str | None:
    return None


@dataclass(frozen=True)
class Vocabulary:
    """The words of one Core.

    Args:
        event_types: How events of these types are told; all others as a tool's.
        summarize: Asked before a summary is made by rule.
    """

    event_types: Mapping[str, EventType] = field(default_factory=dict)
    summarize: Summarizer = _silent

    def event_type(self, breakpoint: Breakpoint) -> EventType:
        """How a custom event is told."""
        return self.event_types.get(breakpoint.name or "", _UNREGISTERED)


#: The words of a Core without extensions.
PLAIN: Final = Vocabulary()
