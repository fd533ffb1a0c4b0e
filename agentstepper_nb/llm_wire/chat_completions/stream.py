"""The chunks of a streamed chat completion, as events; a completion in one piece, too.

Servers of this API differ: chunks without an index, an id or a `[DONE]`, `stop` where there are
calls, names that are repeated, arguments that are objects. All these are understood.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import msgspec
from msgspec import Struct

from ...protocol.data_model import Usage as Cost
from ..answer_stream import (
    AnswerStream,
    PartialToolCall,
    make_error_data,
    make_reasoning_events,
    make_text_events,
)
from ..conversation import Content, join_text
from ..events import AgentEvent, TraceEvent

_DONE: Final = "[DONE]"

_REASONS: Final = {
    "stop": "stop",
    "length": "length",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "content_filter",
}
#: An answer that ended so has no call that is sure to be whole: the API doesn't say where one ends.
_CUT_SHORT: Final = {"length", "content_filter"}


class _Function(Struct):
    name: str | None = None
    arguments: str | dict[str, Any] | None = None


class _CallPiece(Struct):
    index: int | None = None
    id: str | None = None
    function: _Function | None = None


class _Delta(Struct):
    content: Content = None
    refusal: str | None = None
    # What a model thinks, as some servers call it and others.
    reasoning_content: Any = None
    reasoning: Any = None
    tool_calls: tuple[_CallPiece, ...] | None = None


class _Choice(Struct):
    index: int = 0
    delta: _Delta | None = None
    message: _Delta | None = None  # of a completion in one piece
    finish_reason: str | None = None


class _Usage(Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class _Error(Struct):
    message: str = ""
    code: Any = None
    type: Any = None


class _Chunk(Struct):
    choices: tuple[_Choice, ...] | None = None
    usage: _Usage | None = None
    error: _Error | str | None = None


_chunks = msgspec.json.Decoder(_Chunk)


class _Call(PartialToolCall):
    """A call of which at first not even the name may be there."""

    def __init__(self, call_id: str, key: int) -> None:
        super().__init__(call_id, "")
        self.key = key
        self._before_name = ""

    def add(self, function: _Function) -> Iterator[AgentEvent]:
        """Add a piece of the call."""
        if function.name and not self.name:
            self.name = function.name
            yield self.make_started_event()
        arguments = function.arguments or ""
        if not isinstance(arguments, str):
            arguments = msgspec.json.encode(arguments).decode()
        if self.name:
            yield from self.append(self._before_name + arguments)
            self._before_name = ""
        else:
            self._before_name += arguments


class ChatCompletionStream(AnswerStream):
    """A streamed chat completion; see `AnswerStream`.

    Args:
        new_id: Gives an id to the call of a number, where the server gives none.
    """

    def __init__(self, new_id: Callable[[int], str] = "call_{}".format) -> None:
        super().__init__()
        self._new_id = new_id
        self._calls: list[_Call] = []
        self._reason: str | None = None
        self._usage: Cost | None = None

    def _read(self, data: str) -> Iterator[AgentEvent]:
        if data.strip() == _DONE:
            yield from self._done()
            return
        chunk = _chunks.decode(data)
        if chunk.choices is None and chunk.usage is None and chunk.error is None:
            yield TraceEvent("unknown", msgspec.json.decode(data))
            return
        yield from self._choice(next((c for c in chunk.choices or () if c.index == 0), None))
        if chunk.usage is not None:
            self._usage = Cost(
                input_tokens=chunk.usage.prompt_tokens, output_tokens=chunk.usage.completion_tokens
            )
        if chunk.error is not None:
            yield from self._fail(_make_error_event(chunk.error))

    def _choice(self, choice: _Choice | None) -> Iterator[AgentEvent]:
        if choice is None:
            return
        yield from self._read_delta(choice.delta or choice.message or _Delta())
        if choice.finish_reason and self._reason is None:
            yield from self._finish(choice.finish_reason)

    def _read_delta(self, delta: _Delta) -> Iterator[AgentEvent]:
        yield from make_reasoning_events(delta.reasoning_content or delta.reasoning)
        yield from make_text_events(join_text(delta.content))
        yield from make_text_events(delta.refusal)
        for piece in delta.tool_calls or ():
            yield from self._call(piece).add(piece.function or _Function())

    def _call(self, piece: _CallPiece) -> _Call:
        """The call that a piece belongs to: told by its index, or a new id, or the one before it."""
        if piece.index is not None:
            key = piece.index
            known = next((call for call in self._calls if call.key == key), None)
        else:
            key = len(self._calls)
            last = self._calls[-1] if self._calls else None
            known = last if last and piece.id in (None, "", last.call_id) else None
        if known is None:
            known = _Call(piece.id or self._new_id(len(self._calls)), key)
            self._calls.append(known)
        return known

    def _finish(self, word: str) -> Iterator[AgentEvent]:
        called = [call for call in self._calls if call.name]
        self._reason = _REASONS.get(word)
        if self._reason is None:
            yield TraceEvent("unknown", {"finish_reason": word})
        if self._reason in _CUT_SHORT:
            return
        self._reason = "tool_calls" if called else "stop"
        for call in called:
            yield call.make_ready_event()

    def _done(self) -> Iterator[AgentEvent]:
        """The server says that it is done, though maybe never why."""
        if self._reason is None:
            yield from self._finish("stop")
        yield self._complete(self._reason or "stop", self._usage)

    def _end(self, error_data: dict[str, Any]) -> Iterator[AgentEvent]:
        """Whole all the same once the reason is known: some servers say no `[DONE]`."""
        return self._fail(error_data) if self._reason is None else self._done()


def _make_error_event(error: _Error | str) -> dict[str, Any]:
    if isinstance(error, str):
        return make_error_data(error)
    code = error.code if isinstance(error.code, str) else error.type
    return make_error_data(error.message, code)
