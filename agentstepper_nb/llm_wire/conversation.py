"""A conversation with a model, in words that are the same for every API.

The codecs of this room (`chat`, `responses`, `messages`) turn these into what each API calls them, and
its streams into the events of `events`.
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct


class ToolCall(Struct, frozen=True, kw_only=True):
    """One call that a model asks for."""

    call_id: str
    name: str
    args_json: str
    """JSON, as the model wrote it: it may be malformed."""


class UserMessage(Struct, frozen=True, kw_only=True, tag="user", tag_field="role"):
    """What a person says."""

    content: str


class AssistantMessage(Struct, frozen=True, kw_only=True, tag="assistant", tag_field="role"):
    """What a model answered: text, tool calls or both."""

    content: str = ""
    tool_calls: tuple[ToolCall, ...] = ()


class ToolResultMessage(Struct, frozen=True, kw_only=True, tag="tool", tag_field="role"):
    """What a tool call came to."""

    call_id: str
    content: str
    """What the model reads: JSON, or text."""
    ok: bool = True


ChatMessage = UserMessage | AssistantMessage | ToolResultMessage


class ToolSpec(Struct, frozen=True, kw_only=True):
    """A tool as a model is told of it."""

    name: str
    description: str
    input_schema: dict[str, Any]
    """JSON Schema of an object."""


class ModelRequest(Struct, frozen=True, kw_only=True):
    """One question to a model."""

    model: str
    messages: tuple[ChatMessage, ...]
    tools: tuple[ToolSpec, ...] = ()
    system: str | None = None
    max_tokens: int | None = None
    """The longest answer; None: the API's own limit, and where it asks for one, the codec's."""
    temperature: float | None = None
    tool_choice: Literal["auto", "none", "required"] | str | None = None
    """Any other word is the one tool to call."""
