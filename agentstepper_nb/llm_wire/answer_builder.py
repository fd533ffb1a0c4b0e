"""A model's answer, put together from its events."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import Struct

from ..errors import ModelError
from ..protocol.data_model import Usage
from .conversation import AssistantMessage, ChatMessage, ToolCall
from .events import (
    AgentEvent,
    ResponseCompleted,
    TextDelta,
    ToolCallArgsDelta,
    ToolCallReady,
    ToolCallStarted,
    TraceEvent,
)

_UNKNOWN_FAILURE = "The model's answer failed without a reason. Try again."
_ANSWER_CUT_OFF = "The model's answer ended before it was complete. Try again."


class ModelAnswer(Struct, frozen=True, kw_only=True):
    """A model's complete answer."""

    message: AssistantMessage
    reason: str
    usage: Usage | None = None


class _CallInProgress:
    """A call's place in the answer, from its first event on."""

    def __init__(self, model_id: str, call_id: str) -> None:
        self.model_id = model_id  # its id, as the model has it
        self.call_id = call_id
        self.call: ToolCall | None = None  # once it is whole


class AnswerBuilder:
    """Collects the events of one answer; `answer` returns the complete answer.

    Args:
        messages: The conversation. Ids of its calls aren't used again.
    """

    def __init__(self, messages: Iterable[ChatMessage] = ()) -> None:
        self._text: list[str] = []
        self._ids = CallIds(messages)
        self._slots: list[_CallInProgress] = []
        self._completed: ResponseCompleted | None = None
        self._error: Any = None

    @property
    def has_error(self) -> bool:
        """Whether the model's service said what went wrong."""
        return self._error is not None

    def add(self, event: AgentEvent) -> AgentEvent:
        """Add an event.

        Returns:
            The event to pass on: a call whose id was used before has a new id, and lone surrogates are
            question marks.
        """
        match event:
            case TextDelta(text):
                event = TextDelta(replace_surrogates(text))
                self._text.append(event.text)
            case ToolCallStarted(call_id, name):
                event = ToolCallStarted(self._begin_call(call_id).call_id, replace_surrogates(name))
            case ToolCallArgsDelta(call_id, fragment):
                event = ToolCallArgsDelta(
                    self._find_open_call(call_id, last=True).call_id, replace_surrogates(fragment)
                )
            case ToolCallReady(call_id, name, args_json):
                slot = self._find_open_call(call_id)
                event = ToolCallReady(
                    slot.call_id, replace_surrogates(name), replace_surrogates(args_json)
                )
                slot.call = ToolCall(
                    call_id=slot.call_id, name=event.name, args_json=event.args_json
                )
            case TraceEvent(kind="error", data=data):
                self._error = data
            case ResponseCompleted():
                self._completed = event
        return event

    def answer(self) -> ModelAnswer:
        """The answer, with its calls in the order in which the model began them.

        Raises:
            ModelError: There is none, or only the beginning of one.
        """
        if self._completed is None or self._completed.reason == "error":
            raise self._failure()
        calls = tuple(slot.call for slot in self._slots if slot.call is not None)
        message = AssistantMessage(
            content=replace_surrogates("".join(self._text)), tool_calls=calls
        )
        return ModelAnswer(
            message=message, reason=self._completed.reason, usage=self._completed.usage
        )

    def _failure(self) -> ModelError:
        if isinstance(self._error, dict):
            kind, text = self._error.get("kind"), self._error.get("message")
            return ModelError(str(kind or "invalid"), str(text or _UNKNOWN_FAILURE))
        if self._error is not None:
            return ModelError("invalid", str(self._error))
        return ModelError(
            "invalid", _ANSWER_CUT_OFF if self._completed is None else _UNKNOWN_FAILURE
        )

    def _begin_call(self, model_id: str) -> _CallInProgress:
        slot = _CallInProgress(model_id, self._ids.reserve(replace_surrogates(model_id)))
        self._slots.append(slot)
        return slot

    def _find_open_call(self, model_id: str, *, last: bool = False) -> _CallInProgress:
        """The call that an event is about, of several with one id the first that isn't whole."""
        found = [slot for slot in self._slots if slot.model_id == model_id and slot.call is None]
        return (found[-1] if last else found[0]) if found else self._begin_call(model_id)


class CallIds:
    """Makes the ids of calls unique. Small models repeat ids or send none, which APIs refuse.

    Args:
        messages: The conversation. Ids of its calls aren't used again.
    """

    def __init__(self, messages: Iterable[ChatMessage]) -> None:
        self._used = {
            call.call_id
            for message in messages
            if isinstance(message, AssistantMessage)
            for call in message.tool_calls
        }

    def reserve(self, call_id: str) -> str:
        """An id that no other call has: this one, if it can be."""
        reserve, number = call_id or "call", 2
        while reserve in self._used:
            reserve, number = f"{call_id or 'call'}_{number}", number + 1
        self._used.add(reserve)
        return reserve


def replace_surrogates(text: str) -> str:
    """A text that can be written as UTF-8: half characters become question marks."""
    return text.encode("utf-8", "replace").decode()


def add_usages(left: Usage | None, right: Usage | None) -> Usage | None:
    """Add the token usage of two answers, as far as it is known."""
    if left is None or right is None:
        return left or right
    return Usage(
        input_tokens=_sum(left.input_tokens, right.input_tokens),
        output_tokens=_sum(left.output_tokens, right.output_tokens),
        cost=_sum(left.cost, right.cost),
        estimated=left.estimated or right.estimated,
    )


def _sum(one: Any, other: Any) -> Any:
    return one if other is None else other if one is None else one + other
