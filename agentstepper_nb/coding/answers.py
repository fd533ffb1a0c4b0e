"""A model's answer, put together from its events."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from ..errors import ModelError
from ..llm_wire.conversation import AssistantMessage, ToolCall
from ..llm_wire.events import AgentEvent, ResponseCompleted, TextDelta, ToolCallReady, TraceEvent
from ..protocol.values import Usage

_UNKNOWN = "The model's answer failed, and nothing says why."
_CUT = "The model's answer ended before it was complete."


class Answer(Struct, frozen=True, kw_only=True):
    """What a model answered."""

    message: AssistantMessage
    reason: str
    usage: Usage | None = None


class Gathering:
    """Gathers one answer; `answer` gives it once its events are over."""

    def __init__(self) -> None:
        self._text: list[str] = []
        self._calls: list[ToolCall] = []
        self._completed: ResponseCompleted | None = None
        self._error: Any = None

    def take(self, event: AgentEvent) -> AgentEvent:
        """Take an event in.

        Returns:
            The event, as it is to be told: a call whose id was used before gets one of its own.
        """
        match event:
            case TextDelta(text):
                self._text.append(text)
            case ToolCallReady(name=name, args_json=args_json):
                event = ToolCallReady(self._free(event.call_id), name, args_json)
                self._calls.append(
                    ToolCall(call_id=event.call_id, name=clean(name), args_json=clean(args_json))
                )
            case TraceEvent(kind="error", data=data):
                self._error = data
            case ResponseCompleted():
                self._completed = event
        return event

    def answer(self) -> Answer:
        """The answer.

        Raises:
            ModelError: There is none, or only the beginning of one.
        """
        if self._completed is None or self._completed.reason == "error":
            raise self._failure()
        message = AssistantMessage(
            content=clean("".join(self._text)), tool_calls=tuple(self._calls)
        )
        return Answer(message=message, reason=self._completed.reason, usage=self._completed.usage)

    def _failure(self) -> ModelError:
        if isinstance(self._error, dict):
            kind, text = self._error.get("kind"), self._error.get("message")
            return ModelError(str(kind or "invalid"), str(text or _UNKNOWN))
        if self._error is not None:
            return ModelError("invalid", str(self._error))
        return ModelError("invalid", _CUT if self._completed is None else _UNKNOWN)

    def _free(self, call_id: str) -> str:
        """An id that no other call of this answer has: small models repeat theirs, or give none."""
        taken = {call.call_id for call in self._calls}
        free, number = call_id or "call", 2
        while free in taken:
            free, number = f"{call_id or 'call'}_{number}", number + 1
        return free


def clean(text: str) -> str:
    """A text that can be written as UTF-8: half characters become question marks."""
    return text.encode("utf-8", "replace").decode()


def total(one: Usage | None, other: Usage | None) -> Usage | None:
    """What two answers cost together, as far as it is known."""
    if one is None or other is None:
        return one or other
    return Usage(
        input_tokens=_sum(one.input_tokens, other.input_tokens),
        output_tokens=_sum(one.output_tokens, other.output_tokens),
        cost=_sum(one.cost, other.cost),
        estimated=one.estimated or other.estimated,
    )


def _sum(one: Any, other: Any) -> Any:
    return one if other is None else other if one is None else one + other
