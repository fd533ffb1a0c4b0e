"""A breakpoint or a debug message as one line of the timeline, and what extensions add to its words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from ..protocol.header_bounds import cut_failure
from ..protocol.values import (
    Actor,
    AgentActivity,
    Breakpoint,
    Event,
    EventKind,
    EventOutcome,
    EventSide,
    TimelineRow,
    count_utf8_bytes,
)
from .run_state import LastRow
from .summaries import Summarizer, extract_first_line, flatten_json, summarize


@dataclass(frozen=True)
class EventTypeInfo:
    """How a custom event is told.

    Args:
        actor: Whom the agent turns to at its begin, and who answers at its end.
        state: What the agent does in between.
    """

    actor: Actor = Actor.TOOLS
    state: AgentActivity = AgentActivity.TOOL_EXECUTING


_UNREGISTERED: Final = EventTypeInfo()


def _silent(_: Breakpoint) -> str | None:
    return None


@dataclass(frozen=True)
class EventTypeRegistry:
    """The words of one Core.

    Args:
        event_types: How events of these types are told; all others as a tool's.
        summarize: Asked before a summary is made by rule.
    """

    event_types: Mapping[str, EventTypeInfo] = field(default_factory=dict)
    summarize: Summarizer = _silent

    def event_type(self, breakpoint: Breakpoint) -> EventTypeInfo:
        """How a custom event is told."""
        return self.event_types.get(breakpoint.name or "", _UNREGISTERED)


#: The words of a Core without extensions.
PLAIN: Final = EventTypeRegistry()


_ACTORS: Final[dict[tuple[EventKind, EventSide], tuple[Actor, Actor]]] = {
    (EventKind.PROGRAM_STARTED, EventSide.BEGIN): (Actor.SYSTEM, Actor.AGENT),
    (EventKind.LLM_QUERY, EventSide.BEGIN): (Actor.AGENT, Actor.LLM),
    (EventKind.LLM_QUERY, EventSide.END): (Actor.LLM, Actor.AGENT),
    (EventKind.TOOL_INVOCATION, EventSide.BEGIN): (Actor.AGENT, Actor.TOOLS),
    (EventKind.TOOL_INVOCATION, EventSide.END): (Actor.TOOLS, Actor.AGENT),
    (EventKind.PROGRAM_FINISHED, EventSide.BEGIN): (Actor.AGENT, Actor.SYSTEM),
}


def make_row(breakpoint: Breakpoint, vocabulary: EventTypeRegistry = PLAIN) -> TimelineRow:
    """The row of a breakpoint.

    Args:
        breakpoint: The breakpoint.
        vocabulary: What extensions add to the debugger's words.
    """
    source, target = _actors(breakpoint, vocabulary)
    return TimelineRow(
        id=breakpoint.id,
        seq=breakpoint.seq,
        event=breakpoint.event,
        kind=breakpoint.kind,
        side=breakpoint.side,
        source=source,
        target=target,
        summary=summarize(breakpoint, vocabulary.summarize),
        at=breakpoint.at,
        size=breakpoint.size_bytes,
        name=breakpoint.name,
        depth=breakpoint.depth,
        pending=breakpoint.answer is None,
        revision=breakpoint.revision,
        edited=breakpoint.edit is not None,
        answer=breakpoint.answer,
        outcome=EventOutcome.OK if breakpoint.is_replaced else breakpoint.outcome,
        failure=None if breakpoint.failure is None else cut_failure(breakpoint.failure),
        usage=breakpoint.usage,
        duration=breakpoint.duration,
        stops=breakpoint.stops,
        stop_error=breakpoint.stop_error,
        approval=breakpoint.approval is not None,
        reason=None if breakpoint.reason is None else extract_first_line(breakpoint.reason),
    )


def _actors(breakpoint: Breakpoint, vocabulary: EventTypeRegistry) -> tuple[Actor, Actor]:
    if breakpoint.kind is not EventKind.CUSTOM:
        return _ACTORS[breakpoint.kind, breakpoint.side]
    other = vocabulary.event_type(breakpoint).actor
    return (Actor.AGENT, other) if breakpoint.side is EventSide.BEGIN else (other, Actor.AGENT)


def make_debug_row(event: Event) -> TimelineRow:
    """The row of a debug message."""
    data = event.data or "null"
    return TimelineRow(
        id=event.id,
        seq=event.seq,
        event=event.id,
        kind=event.kind,
        side=None,
        source=Actor.AGENT,
        target=Actor.SYSTEM,
        summary=flatten_json(data),
        at=event.at,
        size=count_utf8_bytes(data),
        depth=event.depth,
    )


_SPOKEN: Final[dict[tuple[EventKind, EventSide | None], str]] = {
    (EventKind.PROGRAM_STARTED, EventSide.BEGIN): "program started",
    (EventKind.LLM_QUERY, EventSide.BEGIN): "LLM query",
    (EventKind.LLM_QUERY, EventSide.END): "LLM answer",
    (EventKind.TOOL_INVOCATION, EventSide.BEGIN): "tool call",
    (EventKind.TOOL_INVOCATION, EventSide.END): "tool result",
    (EventKind.CUSTOM, EventSide.BEGIN): "begin of",
    (EventKind.CUSTOM, EventSide.END): "end of",
    (EventKind.DEBUG_MESSAGE, None): "debug message",
    (EventKind.PROGRAM_FINISHED, EventSide.BEGIN): "program finished",
}
#: Characters of a name that are shown with it.
_NAME: Final = 80


def describe_row(spoken: Breakpoint | LastRow) -> str:
    """What happened and where: “tool call run_tests (row 12)”."""
    words = _SPOKEN[spoken.kind, spoken.side]
    name = extract_first_line(spoken.name[:_NAME]) if spoken.name else ""
    return f"{words} {name} (row {spoken.seq})" if name else f"{words} (row {spoken.seq})"
