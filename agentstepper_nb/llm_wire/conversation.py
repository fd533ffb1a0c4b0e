"""The data model of a conversation with an LLM, independent of the API.

The codecs of this package (`chat_completions`, `responses`, `messages`) convert requests to each API's
format, and each API's streams to the events of `events`.
"""

from __future__ import annotations

from typing import Any, Final, Literal

from msgspec import Struct

from .. import typed_json


class ToolCall(Struct, frozen=True, kw_only=True):
    """A tool call of a model."""

    call_id: str
    name: str
    args_json: str
    """The arguments as the model's JSON text, which may be malformed."""


class UserMessage(Struct, frozen=True, kw_only=True, tag="user", tag_field="role"):
    """A message of the user."""

    content: str


class AssistantMessage(Struct, frozen=True, kw_only=True, tag="assistant", tag_field="role"):
    """A message of the model: text, tool calls or both."""

    content: str = ""
    tool_calls: tuple[ToolCall, ...] = ()


class ToolResultMessage(Struct, frozen=True, kw_only=True, tag="tool", tag_field="role"):
    """The result of a tool call."""

    call_id: str
    content: str
    """The result for the model: JSON, or text."""
    ok: bool = True


ChatMessage = UserMessage | AssistantMessage | ToolResultMessage


class ToolSpec(Struct, frozen=True, kw_only=True):
    """The description of a tool for a model."""

    name: str
    description: str
    input_schema: dict[str, Any]
    """The JSON Schema of the tool's arguments, an object."""


class ModelRequest(Struct, frozen=True, kw_only=True):
    """A request to a model."""

    model: str
    messages: tuple[ChatMessage, ...]
    tools: tuple[ToolSpec, ...] = ()
    system: str | None = None
    max_tokens: int | None = None
    """The most tokens of the answer; None: the API's limit, or the codec's if the API requires one."""
    temperature: float | None = None
    tool_choice: Literal["auto", "none", "required"] | str | None = None
    """Any other text is the name of the tool that the model must call."""


#: The content of a message: a text, or a tuple of parts; text parts have a `text`.
Content = str | tuple[dict[str, Any], ...] | None


def join_text(content: Content, separator: str = "") -> str:
    """Join the text of a content. Parts without text are skipped."""
    if content is None or isinstance(content, str):
        return content or ""
    return separator.join(part["text"] for part in content if isinstance(part.get("text"), str))


_MARKS: Final = {True: "[ok]\n", False: "[failed]\n"}


class _Outcome(Struct):
    ok: bool = True


def encode_tool_outcome(content: str, ok: bool) -> str:
    """Encode a tool's result with its success, for the model and for `decode_tool_outcome`.

    A result that has its success, such as `{"ok": false, …}`, and a successful result are unchanged.
    """
    marked = content.startswith(tuple(_MARKS.values()))
    return content if not marked and _says_ok(content) is ok else _MARKS[ok] + content


def decode_tool_outcome(content: str) -> tuple[str, bool]:
    """Decode the result of `encode_tool_outcome`: the content, and whether the call succeeded."""
    for ok, mark in _MARKS.items():
        if content.startswith(mark):
            return content.removeprefix(mark), ok
    return content, _says_ok(content)


def _says_ok(content: str) -> bool:
    try:
        return typed_json.decode(content, _Outcome).ok
    except (ValueError, RecursionError):  # no such object: it says nothing
        return True
