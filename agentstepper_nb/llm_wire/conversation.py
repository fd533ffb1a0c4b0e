"""A conversation with a model, in words that are the same for every API.

The codecs of this package (`chat`, `responses`, `messages`) turn these into what each API calls them,
and its streams into the events of `events`.
"""

from __future__ import annotations

from typing import Any, Final, Literal

import msgspec
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


#: A text, or parts of which those with a `text` are the words.
Content = str | tuple[dict[str, Any], ...] | None


def join_text(content: Content, separator: str = "") -> str:
    """The words of a content; parts without words are left out."""
    if content is None or isinstance(content, str):
        return content or ""
    return separator.join(part["text"] for part in content if isinstance(part.get("text"), str))


_MARKS: Final = {True: "[ok]\n", False: "[failed]\n"}


class _Outcome(Struct):
    ok: bool = True


def encode_tool_outcome(content: str, ok: bool) -> str:
    """Give a result as it is sent, so that the model and `decode_tool_outcome` know how the call went.

    What says so itself, as `{"ok": false, …}` does, is sent as it is; so is all that went well.
    """
    marked = content.startswith(tuple(_MARKS.values()))
    return content if not marked and _says_ok(content) is ok else _MARKS[ok] + content


def decode_tool_outcome(content: str) -> tuple[str, bool]:
    """Take apart again what `encode_tool_outcome` gave: the content, and whether the call went well."""
    for ok, mark in _MARKS.items():
        if content.startswith(mark):
            return content.removeprefix(mark), ok
    return content, _says_ok(content)


def _says_ok(content: str) -> bool:
    try:
        return msgspec.json.decode(content, type=_Outcome).ok
    except (ValueError, RecursionError):  # no such object: it says nothing
        return True
