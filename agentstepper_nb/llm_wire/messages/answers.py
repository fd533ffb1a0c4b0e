"""Answers of Anthropic's Messages API, whole or streamed: written, and read as our events."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, get_args

import msgspec
from msgspec import Struct

from ...protocol.data_model import Usage as Cost
from .. import chat_completions, sse
from ..answer_stream import (
    AnswerStream,
    PartialToolCall,
    make_error_data,
    make_reasoning_events,
    make_text_events,
)
from ..events import AgentEvent, TraceEvent
from .request import decode_arguments, encode_arguments

#: Why an answer ended, in this API's words.
_STOP_REASONS: Final[dict[chat_completions.FinishReason, str]] = {
    "stop": "end_turn",
    "tool_calls": "tool_use",
    "length": "max_tokens",
    "content_filter": "refusal",
}


def encode_answer(completion: chat_completions.ChatCompletion) -> bytes:
    """Write a whole answer; arguments that are no object, malformed JSON say, are wrapped in one."""
    message = completion.choices[0].message
    said = [{"type": "text", "text": message.text}] if message.text else []
    calls = [_block(call, encode_arguments(call.function.arguments)) for call in message.calls]
    return msgspec.json.encode(_message(completion, [*said, *calls]))


def encode_events(completion: chat_completions.ChatCompletion) -> Iterator[bytes]:
    """Cut an answer into the events of a stream, each framed as it is sent."""
    for event in _events(completion):
        yield sse.encode_event(msgspec.json.encode(event), event["type"])


def encode_error(status: int, error: chat_completions.ApiError) -> bytes:
    """Write an error in this API's envelope; its kinds are words of its own."""
    kinds = {401: "authentication_error", 403: "permission_error", 404: "not_found_error"}
    kinds |= {413: "request_too_large", 429: "rate_limit_error", 529: "overloaded_error"}
    kind = kinds.get(status, "invalid_request_error" if status < 500 else "api_error")
    told = {"type": kind, "message": error.message}
    return msgspec.json.encode({"type": "error", "error": told, "request_id": None})


def _events(completion: chat_completions.ChatCompletion) -> Iterator[dict[str, Any]]:
    choice, usage = completion.choices[0], completion.usage
    begun = _message(completion, []) | {"stop_reason": None}
    begun["usage"] = begun["usage"] | {"output_tokens": 0}
    yield {"type": "message_start", "message": begun}
    for index, (block, deltas) in enumerate(_blocks(choice.message)):
        yield {"type": "content_block_start", "index": index, "content_block": block}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    ended = {"stop_reason": _STOP_REASONS[choice.finish_reason], "stop_sequence": None}
    yield {
        "type": "message_delta",
        "delta": ended,
        "usage": {"output_tokens": usage.completion_tokens},
    }
    yield {"type": "message_stop"}


def _blocks(
    message: chat_completions.ChatCompletionMessage,
) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Each block as it begins, and what is added to it."""
    if message.text:
        deltas = [{"type": "text_delta", "text": words} for words in sse.split_words(message.text)]
        yield {"type": "text", "text": ""}, deltas
    for call in message.calls:
        yield (
            _block(call, {}),
            [
                {"type": "input_json_delta", "partial_json": fragment}
                for fragment in sse.split_arguments(call.function.arguments)
            ],
        )


def _message(
    completion: chat_completions.ChatCompletion, content: list[dict[str, Any]]
) -> dict[str, Any]:
    usage = completion.usage
    return {
        "id": f"msg_{completion.id.removeprefix('chatcmpl-')}",
        "type": "message",
        "role": "assistant",
        "model": completion.model,
        "content": content,
        "stop_reason": _STOP_REASONS[completion.choices[0].finish_reason],
        "stop_sequence": None,
        "usage": {"input_tokens": usage.prompt_tokens, "output_tokens": usage.completion_tokens},
    }


def _block(call: chat_completions.ChatToolCall, arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call.id, "name": call.function.name, "input": arguments}


_REASONS: Final = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "pause_turn": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "content_filter",
}
#: Blocks and pieces of them that are known, and nothing to tell of.
_SILENT: Final = {"text", "thinking", "redacted_thinking"}
_SILENT_DELTAS: Final = {"signature_delta", "citations_delta"}


class _Event(Struct, tag_field="type"):
    pass


class _Usage(Struct):
    input_tokens: int | None = None
    output_tokens: int | None = None
    # What the first number leaves out.
    cache_creation_input_tokens: int | None = None
    cache_read_input_tokens: int | None = None


class _Block(Struct):
    type: str
    id: str = ""
    name: str = ""
    text: str = ""
    thinking: str = ""
    input: msgspec.Raw = msgspec.Raw(b"{}")


class _Message(_Event, tag="message"):
    content: tuple[_Block, ...]
    stop_reason: str | None = None
    usage: _Usage | None = None


class _Header(Struct):
    usage: _Usage | None = None


class _MessageStart(_Event, tag="message_start"):
    message: _Header


class _BlockStart(_Event, tag="content_block_start"):
    index: int
    content_block: _Block


class _Piece(Struct):
    type: str
    text: str = ""
    thinking: str = ""
    partial_json: str = ""


class _BlockDelta(_Event, tag="content_block_delta"):
    index: int
    delta: _Piece


class _BlockStop(_Event, tag="content_block_stop"):
    index: int


class _Stopped(Struct):
    stop_reason: str | None = None


class _MessageDelta(_Event, tag="message_delta"):
    delta: _Stopped
    usage: _Usage | None = None


class _MessageStop(_Event, tag="message_stop"):
    pass


class _Ping(_Event, tag="ping"):
    pass


class _Error(Struct):
    message: str = ""
    type: str | None = None


class _Failure(_Event, tag="error"):
    error: _Error


_Known = (
    _Message
    | _MessageStart
    | _BlockStart
    | _BlockDelta
    | _BlockStop
    | _MessageDelta
    | _MessageStop
    | _Ping
    | _Failure
)
_KNOWN: Final = {kind.__struct_config__.tag for kind in get_args(_Known)}


class _Typed(Struct):
    type: str = ""


_typed = msgspec.json.Decoder(_Typed)
_known: msgspec.json.Decoder[_Known] = msgspec.json.Decoder(_Known)


class MessagesStream(AnswerStream):
    """A streamed message; see `AnswerStream`."""

    def __init__(self) -> None:
        super().__init__()
        self._calls: dict[int, PartialToolCall] = {}  # open, by their block
        # Ended, with arguments that are no JSON: the model's fault, or cut off, as what follows says.
        self._doubtful: list[PartialToolCall] = []
        self._called = False
        self._reason: str | None = None
        self._usage = _Usage()

    def _read(self, data: str) -> Iterator[AgentEvent]:
        if _typed.decode(data).type in _KNOWN:
            yield from self._read_event(_known.decode(data))
        else:
            yield TraceEvent("unknown", msgspec.json.decode(data))

    def _read_event(self, event: _Known) -> Iterator[AgentEvent]:
        match event:
            case _BlockStart() | _BlockDelta() | _BlockStop():
                yield from self._of_block(event)
            case _MessageStart(message=message):
                self._count(message.usage)
            case _MessageDelta(delta=stopped, usage=usage):
                self._count(usage)
                yield from self._stopped(stopped.stop_reason)
            case _MessageStop():
                yield from self._stopped(None if self._reason else "end_turn")
                yield self._done()
            case _Message():
                yield from self._read_message(event)
            case _Failure(error=error):
                yield from self._fail(make_error_data(error.message, error.type))

    def _of_block(self, event: _BlockStart | _BlockDelta | _BlockStop) -> Iterator[AgentEvent]:
        match event:
            case _BlockStart(index=index, content_block=block):
                yield from self._begun(index, block)
            case _BlockDelta(index=index, delta=piece):
                yield from self._more(index, piece)
            case _BlockStop(index=index):
                yield from self._block_ended(index)

    def _begun(self, index: int, block: _Block) -> Iterator[AgentEvent]:
        yield from self._cleared()  # the model went on, so that was whole
        if block.type == "tool_use":
            call = self._calls[index] = PartialToolCall(block.id, block.name)
            self._called = True
            yield call.make_started_event()
            arguments = decode_arguments(block.input)
            if arguments != "{}":  # what it begins with where the rest is to follow
                yield from call.append(arguments)
        elif block.type not in _SILENT:
            yield TraceEvent("unknown", {"content_block": block.type})
        yield from make_text_events(block.text)
        yield from make_reasoning_events(block.thinking)

    def _more(self, index: int, piece: _Piece) -> Iterator[AgentEvent]:
        match piece.type:
            case "text_delta":
                yield from make_text_events(piece.text)
            case "thinking_delta":
                yield from make_reasoning_events(piece.thinking)
            case "input_json_delta" if index in self._calls:
                yield from self._calls[index].append(piece.partial_json)
            case kind if kind not in _SILENT_DELTAS:
                yield TraceEvent("unknown", msgspec.to_builtins(piece))

    def _block_ended(self, index: int) -> Iterator[AgentEvent]:
        call = self._calls.pop(index, None)
        if call is None:
            return
        if _is_json(call.arguments):
            yield call.make_ready_event()
        else:
            self._doubtful.append(call)

    def _cleared(self) -> Iterator[AgentEvent]:
        doubtful, self._doubtful = self._doubtful, []
        for call in doubtful:
            yield call.make_ready_event()

    def _stopped(self, word: str | None) -> Iterator[AgentEvent]:
        if word is None:
            return
        self._reason = _REASONS.get(word)
        if self._reason is None:
            self._reason = "stop"
            yield TraceEvent("unknown", {"stop_reason": word})
        if self._reason != "length":
            yield from self._cleared()

    def _read_message(self, message: _Message) -> Iterator[AgentEvent]:
        self._count(message.usage)
        for index, block in enumerate(message.content):
            yield from self._begun(index, block)
            yield from self._block_ended(index)
        yield from self._stopped(message.stop_reason)
        yield self._done()

    def _done(self) -> AgentEvent:
        """Others that speak this API end by `end_turn` where there are calls, too."""
        called = self._called and self._reason == "stop"
        return self._complete("tool_calls" if called else self._reason or "stop", self._cost())

    def _end(self, error_data: dict[str, Any]) -> Iterator[AgentEvent]:
        """Whole all the same once the reason is known: only the last event is missing."""
        if self._reason is None:
            yield from self._fail(error_data)
        else:
            yield self._done()

    def _count(self, usage: _Usage | None) -> None:
        """Each number is of the answer so far: the newest holds."""
        if usage is not None:
            newest = {
                name: number
                for name, number in msgspec.structs.asdict(usage).items()
                if number is not None
            }
            self._usage = msgspec.structs.replace(self._usage, **newest)

    def _cost(self) -> Cost | None:
        usage = self._usage
        if usage == _Usage():
            return None
        parts = (
            usage.input_tokens,
            usage.cache_creation_input_tokens,
            usage.cache_read_input_tokens,
        )
        read = [part for part in parts if part is not None]
        return Cost(input_tokens=sum(read) if read else None, output_tokens=usage.output_tokens)


def _is_json(text: str) -> bool:
    try:
        msgspec.json.decode(text, type=msgspec.Raw)
    except (ValueError, RecursionError):
        return False
    return True
