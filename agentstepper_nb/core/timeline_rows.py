"""A halt point or a debug message as one line of the timeline, and what extensions add to its words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from msgspec import UNSET

from ..protocol.data_model import (
    Actor,
    AgentActivity,
    Event,
    EventKind,
    EventOutcome,
    EventSide,
    HaltPoint,
    TimelineRow,
)
from ..protocol.header_limits import count_utf8_bytes, truncate_failure
from .effects import EffectChecks
from .run_state import LastRow
from .summaries import (
    Summarizer,
    extract_beside_calls,
    extract_first_line,
    flatten_json,
    summarize,
)


@dataclass(frozen=True)
class EventTypeInfo:
    """The display of a custom event's type.

    Args:
        actor: The receiver at the event's begin, and the sender at its end.
        activity: The agent's activity while the event is open.
    """

    actor: Actor = Actor.TOOLS
    activity: AgentActivity = AgentActivity.TOOL_EXECUTING


_UNREGISTERED: Final = EventTypeInfo()


def _silent(_: HaltPoint) -> str | None:
    return None


@dataclass(frozen=True)
class EventTypeRegistry:
    """The custom events, summaries and effect checks of one Core.

    Args:
        event_types: The display of events of these types; all others are shown as a tool's.
        summarize: Called before a summary is made by rule.
        effect_checks: The checks of a tool's claim against its effect.
    """

    event_types: Mapping[str, EventTypeInfo] = field(default_factory=dict)
    summarize: Summarizer = _silent
    effect_checks: EffectChecks = field(default_factory=EffectChecks)

    def event_type(self, halt_point: HaltPoint) -> EventTypeInfo:
        """The display of a custom event's type."""
        return self.event_types.get(halt_point.name or "", _UNREGISTERED)


#: The words of a Core without extensions.
EMPTY_REGISTRY: Final = EventTypeRegistry()


_ACTORS: Final[dict[tuple[EventKind, EventSide], tuple[Actor, Actor]]] = {
    (EventKind.PROGRAM_STARTED, EventSide.BEGIN): (Actor.SYSTEM, Actor.AGENT),
    (EventKind.LLM_QUERY, EventSide.BEGIN): (Actor.AGENT, Actor.LLM),
    (EventKind.LLM_QUERY, EventSide.END): (Actor.LLM, Actor.AGENT),
    (EventKind.TOOL_INVOCATION, EventSide.BEGIN): (Actor.AGENT, Actor.TOOLS),
    (EventKind.TOOL_INVOCATION, EventSide.END): (Actor.TOOLS, Actor.AGENT),
    (EventKind.PROGRAM_FINISHED, EventSide.BEGIN): (Actor.AGENT, Actor.SYSTEM),
}


def make_row(
    halt_point: HaltPoint, event_registry: EventTypeRegistry = EMPTY_REGISTRY
) -> TimelineRow:
    """The row of a halt point.

    Args:
        halt_point: The halt point.
        event_registry: The custom events, summaries and checks of extensions.
    """
    source, target = _actors(halt_point, event_registry)
    return TimelineRow(
        id=halt_point.id,
        seq=halt_point.seq,
        event=halt_point.event,
        kind=halt_point.kind,
        side=halt_point.side,
        source=source,
        target=target,
        summary=summarize(halt_point, event_registry.summarize),
        at=halt_point.at,
        size=count_utf8_bytes(halt_point.data),
        name=halt_point.name,
        depth=halt_point.depth,
        scope=halt_point.scope or UNSET,
        label=halt_point.label or UNSET,
        location=halt_point.location,
        pending=halt_point.answer is None,
        revision=halt_point.revision,
        edited=halt_point.edit is not None,
        answer=halt_point.answer,
        outcome=EventOutcome.OK if halt_point.is_replaced else halt_point.outcome,
        failure=None if halt_point.failure is None else truncate_failure(halt_point.failure),
        usage=halt_point.usage,
        duration=halt_point.duration,
        breakpoints=halt_point.breakpoints,
        breakpoint_error=halt_point.breakpoint_error,
        approval=halt_point.approval is not None,
        reason=None if halt_point.reason is None else extract_first_line(halt_point.reason),
        effects=halt_point.effects,
        said=extract_beside_calls(halt_point) or UNSET,
        guided=True if halt_point.guides else UNSET,
        edit_rules=halt_point.edit_rules or UNSET,
        replay=halt_point.replay,
    )


def _actors(halt_point: HaltPoint, event_registry: EventTypeRegistry) -> tuple[Actor, Actor]:
    if halt_point.kind is not EventKind.CUSTOM:
        return _ACTORS[halt_point.kind, halt_point.side]
    other = event_registry.event_type(halt_point).actor
    return (Actor.AGENT, other) if halt_point.side is EventSide.BEGIN else (other, Actor.AGENT)


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
        scope=event.scope or UNSET,
        label=event.label or UNSET,
        location=event.location,
    )


_ROW_NAMES: Final[dict[tuple[EventKind, EventSide | None], str]] = {
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
_MAX_NAME_CHARS: Final = 80


def describe_row(item: HaltPoint | LastRow) -> str:
    """Describe a row's event and number: “tool call run_tests (row 12)”."""
    return f"{name_row(item)} (row {item.seq})"


def name_row(item: HaltPoint | LastRow) -> str:
    """Describe a row's event: “tool call run_tests”."""
    words = _ROW_NAMES[item.kind, item.side]
    name = extract_first_line(item.name[:_MAX_NAME_CHARS]) if item.name else ""
    return f"{words} {name}" if name else words
