"""The kinds of events, and the two sides of an event."""

from __future__ import annotations

from enum import StrEnum


class EventKind(StrEnum):
    """The kind of an event."""

    PROGRAM_STARTED = "program_started"
    LLM_QUERY = "llm_query"
    TOOL_INVOCATION = "tool_invocation"
    CUSTOM = "custom"  # of a type that an agent named: its event's name is `field_types.EVENT_NAME`
    DEBUG_MESSAGE = "debug_message"
    PROGRAM_FINISHED = "program_finished"


#: Kinds whose events have a begin and an end halt point; the others have one at most.
PAIRED_EVENT_KINDS = frozenset({EventKind.LLM_QUERY, EventKind.TOOL_INVOCATION, EventKind.CUSTOM})


class EventSide(StrEnum):
    """The side of an event that a halt point stands on."""

    BEGIN = "begin"
    END = "end"
