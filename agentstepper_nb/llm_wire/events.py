"""The events of a model's streamed answer and of the agent's tool calls, independent of the API."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from ..protocol.data_model import Usage


class TextDelta(Struct, frozen=True, tag=True, tag_field="eventType"):
    """A piece of the model's text."""

    text: str


class ToolCallStarted(Struct, frozen=True, tag=True, tag_field="eventType"):
    """The model begins to write a tool call."""

    call_id: str
    name: str


class ToolCallArgsDelta(Struct, frozen=True, tag=True, tag_field="eventType"):
    """A piece of a call's arguments: JSON text."""

    call_id: str
    fragment: str


class ToolCallReady(Struct, frozen=True, tag=True, tag_field="eventType"):
    """A call is complete: its arguments have come whole. They may be malformed JSON."""

    call_id: str
    name: str
    args_json: str


class ToolResultEvent(Struct, frozen=True, tag=True, tag_field="eventType"):
    """A tool call was carried out, or refused: said by the agent, not by a provider."""

    call_id: str
    result: Any
    """A `coding.ToolResult`."""


class ResponseCompleted(Struct, frozen=True, tag=True, tag_field="eventType"):
    """The answer is over, always the last event of a provider's stream, unless it is cancelled.

    `reason` is `stop`, `tool_calls`, `length`, `content_filter` or `error`; a stream that was cut
    without an end is an error, with a `TraceEvent("error", …)` before.
    """

    reason: str
    usage: Usage | None = None


class TraceEvent(Struct, frozen=True, tag=True, tag_field="eventType"):
    """An event for debugging: `error`, `parse_error` (an unreadable chunk; the stream continues),
    `unknown`, or `reasoning`, a piece of the model's reasoning.
    """

    kind: str
    data: Any = None


AgentEvent = (
    TextDelta
    | ToolCallStarted
    | ToolCallArgsDelta
    | ToolCallReady
    | ToolResultEvent
    | ResponseCompleted
    | TraceEvent
)
