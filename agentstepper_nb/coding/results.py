"""What a tool call came to: for the model to read, and for a person to edit; and a call's arguments."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ..llm_wire.conversation import ToolResultMessage


class ToolResult(Struct, frozen=True, kw_only=True):
    """What a call came to. Tools return failures; they never raise."""

    ok: bool
    data: Any = None
    error: str | None = None
    diagnostics: dict[str, Any] | None = None

    @classmethod
    def success(cls, data: Any = None) -> ToolResult:
        """The call did what was asked."""
        return cls(ok=True, data=data)

    @classmethod
    def failure(cls, error: str, **diagnostics: Any) -> ToolResult:
        """The call didn't; `error` tells the model what to do about it."""
        return cls(ok=False, error=error, diagnostics=diagnostics or None)


def result_message(call_id: str, result: ToolResult) -> ToolResultMessage:
    """The message that tells the model of a result; the same result gives the same message."""
    return ToolResultMessage(call_id=call_id, content=content(result), ok=result.ok)


def content(result: ToolResult) -> str:
    """A result as the model reads it: its data where there is nothing else to say, text as it is."""
    if result.ok and not result.diagnostics:
        return result.data if isinstance(result.data, str) else _json(result.data)
    return _json(as_json(result))


def plain(result: ToolResult) -> ToolResult:
    """A result as it is after a way through JSON; a failure where JSON can't carry it."""
    try:
        return msgspec.json.decode(msgspec.json.encode(result), type=ToolResult)
    except (TypeError, ValueError, OverflowError, RecursionError, msgspec.MsgspecError) as error:
        return ToolResult.failure(f"The result can't be put into JSON: {error}.")


def as_json(result: ToolResult) -> dict[str, Any]:
    """A result as a person sees it in the debugger: what says nothing is left out."""
    fields: dict[str, Any] = msgspec.to_builtins(result)
    return {name: value for name, value in fields.items() if value is not None}


def from_json(value: Any) -> ToolResult:
    """The result that a person gave or edited: any other shape is the data of a success."""
    try:
        return msgspec.convert(value, ToolResult)
    except msgspec.ValidationError:
        return ToolResult.success(value)


def noted(result: ToolResult, **notes: Any) -> ToolResult:
    """A result with more to say about it to the model."""
    return replace(result, diagnostics={**(result.diagnostics or {}), **notes})


def arguments(args_json: str) -> Any:
    """A call's arguments; as the model wrote them where that is no JSON."""
    try:
        return msgspec.json.decode(args_json or "{}")  # for none many write nothing
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return args_json


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
