"""A breakpoint or a debug message as one line of the timeline, and what extensions add to its words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from ..protocol.header_bounds import bounded_failure
from ..protocol.values import (
    Actor,
    AgentState,
    Breakpoint,
    Event,
    EventKind,
    Outcome,
    Row,
    Side,
    utf8_bytes,
)
from .fold import LastRow
from .summaries import Summarizer, one_line, plain, summarize


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


_ACTORS: Final[dict[tuple[EventKind, Side], tuple[Actor, Actor]]] = {
    (EventKind.PROGRAM_STARTED, Side.BEGIN): (Actor.SYSTEM, Actor.AGENT),
    (EventKind.LLM_QUERY, Side.BEGIN): (Actor.AGENT, Actor.LLM),
    (EventKind.LLM_QUERY, Side.END): (Actor.LLM, Actor.AGENT),
    (EventKind.TOOL_INVOCATION, Side.BEGIN): (Actor.AGENT, Actor.TOOLS),
    (EventKind.TOOL_INVOCATION, Side.END): (Actor.TOOLS, Actor.AGENT),
    (EventKind.PROGRAM_FINISHED, Side.BEGIN): (Actor.AGENT, Actor.SYSTEM),
}


def row(breakpoint: Breakpoint, vocabulary: Vocabulary = PLAIN) -> Row:
    """The row of a breakpoint.

    Args:
        breakpoint: The breakpoint.
        vocabulary: What extensions add to the debugger's words.
    """
    source, target = _actors(breakpoint, vocabulary)
    return Row(
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
        outcome=Outcome.OK if breakpoint.is_replaced else breakpoint.outcome,
        failure=None if breakpoint.failure is None else bounded_failure(breakpoint.failure),
        usage=breakpoint.usage,
        duration=breakpoint.duration,
        stops=breakpoint.stops,
        stop_error=breakpoint.stop_error,
        approval=breakpoint.approval is not None,
        reason=None if breakpoint.reason is None else one_line(breakpoint.reason),
    )


def _actors(breakpoint: Breakpoint, vocabulary: Vocabulary) -> tuple[Actor, Actor]:
    if breakpoint.kind is not EventKind.CUSTOM:
        return _ACTORS[breakpoint.kind, breakpoint.side]
    other = vocabulary.event_type(breakpoint).actor
    return (Actor.AGENT, other) if breakpoint.side is Side.BEGIN else (other, Actor.AGENT)


def debug_row(event: Event) -> Row:
    """The row of a debug message."""
    data = event.data or "null"
    return Row(
        id=event.id,
        seq=event.seq,
        event=event.id,
        kind=event.kind,
        side=None,
        source=Actor.AGENT,
        target=Actor.SYSTEM,
        summary=plain(data),
        at=event.at,
        size=utf8_bytes(data),
        depth=event.depth,
    )


_SPOKEN: Final[dict[tuple[EventKind, Side | None], str]] = {
    (EventKind.PROGRAM_STARTED, Side.BEGIN): "program started",
    (EventKind.LLM_QUERY, Side.BEGIN): "LLM query",
    (EventKind.LLM_QUERY, Side.END): "LLM answer",
    (EventKind.TOOL_INVOCATION, Side.BEGIN): "tool call",
    (EventKind.TOOL_INVOCATION, Side.END): "tool result",
    (EventKind.CUSTOM, Side.BEGIN): "begin of",
    (EventKind.CUSTOM, Side.END): "end of",
    (EventKind.DEBUG_MESSAGE, None): "debug message",
    (EventKind.PROGRAM_FINISHED, Side.BEGIN): "program finished",
}
#: Characters of a name that are shown with it.
_NAME: Final = 80


def row_in_words(spoken: Breakpoint | LastRow) -> str:
    """What happened and where: “tool call run_tests (row 12)”."""
    words = _SPOKEN[spoken.kind, spoken.side]
    name = one_line(spoken.name[:_NAME]) if spoken.name else ""
    return f"{words} {name} (row {spoken.seq})" if name else f"{words} (row {spoken.seq})"
