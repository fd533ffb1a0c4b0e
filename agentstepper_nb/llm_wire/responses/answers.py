"""Answers of OpenAI's Responses API, whole or streamed: written, and read as our events."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
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

#: Why an answer is not whole, in this API's words.
_INCOMPLETE: Final = {"length": "max_output_tokens", "content_filter": "content_filter"}


def encode_answer(completion: chat_completions.ChatCompletion) -> bytes:
    """Write a whole answer."""
    return msgspec.json.encode(_response(completion, _items(completion)))


def encode_events(completion: chat_completions.ChatCompletion) -> Iterator[bytes]:
    """Cut an answer into the events of a stream, each framed as it is sent.

    Joined by a client, they give the response again. The last one carries it whole.
    """
    items = _items(completion)
    numbers = count()
    begun = _response(completion, []) | {"status": "in_progress", "usage": None}
    ended = _response(completion, items)
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": begun},
        {"type": "response.in_progress", "response": begun},
        *(event for index, item in enumerate(items) for event in _item_events(index, item)),
        {"type": f"response.{ended['status']}", "response": ended},
    ]
    for event in events:
        data = msgspec.json.encode(event | {"sequence_number": next(numbers)})
        yield sse.encode_event(data, event["type"])


def _response(
    completion: chat_completions.ChatCompletion, items: list[dict[str, Any]]
) -> dict[str, Any]:
    why = _INCOMPLETE.get(completion.choices[0].finish_reason)
    return {
        "id": _named("resp", completion),
        "object": "response",
        "created_at": completion.created,
        "status": "incomplete" if why else "completed",
        "error": None,
        "incomplete_details": {"reason": why} if why else None,
        "instructions": None,
        "metadata": {},
        "model": completion.model,
        "output": items,
        "parallel_tool_calls": True,
        "temperature": None,
        "tool_choice": "auto",
        "tools": [],
        "top_p": None,
        "usage": _usage(completion.usage),
    }


def _usage(usage: chat_completions.ChatCompletionUsage) -> dict[str, Any]:
    return {
        "input_tokens": usage.prompt_tokens,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": usage.completion_tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": usage.total_tokens,
    }


def _items(completion: chat_completions.ChatCompletion) -> list[dict[str, Any]]:
    message = completion.choices[0].message
    said = [_text_item(_named("msg", completion), message.text)] if message.text else []
    calls = [
        _call_item(f"{_named('fc', completion)}_{index}", call)
        for index, call in enumerate(message.calls)
    ]
    return [*said, *calls]


def _text_item(id: str, text: str) -> dict[str, Any]:
    part = _part(text)
    return {
        "id": id,
        "type": "message",
        "status": "completed",
        "role": "assistant",
        "content": [part],
    }


def _part(text: str) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _call_item(id: str, call: chat_completions.ChatToolCall) -> dict[str, Any]:
    return {
        "id": id,
        "type": "function_call",
        "status": "completed",
        "call_id": call.id,
        "name": call.function.name,
        "arguments": call.function.arguments,
    }


def _item_events(index: int, item: dict[str, Any]) -> Iterator[dict[str, Any]]:
    empty: dict[str, Any]
    if item["type"] == "message":
        empty, inside = {"content": []}, _text_events(item["content"][0]["text"])
    else:
        empty, inside = {"arguments": ""}, _argument_events(item["arguments"])
    begun = item | empty | {"status": "in_progress"}
    yield {"type": "response.output_item.added", "output_index": index, "item": begun}
    for event in inside:
        yield event | {"output_index": index, "item_id": item["id"]}
    yield {"type": "response.output_item.done", "output_index": index, "item": item}


def _text_events(text: str) -> Iterator[dict[str, Any]]:
    place = {"content_index": 0}
    yield place | {"type": "response.content_part.added", "part": _part("")}
    for words in sse.split_words(text):
        yield place | {"type": "response.output_text.delta", "delta": words, "logprobs": []}
    yield place | {"type": "response.output_text.done", "text": text, "logprobs": []}
    yield place | {"type": "response.content_part.done", "part": _part(text)}


def _argument_events(arguments: str) -> Iterator[dict[str, Any]]:
    kind = "response.function_call_arguments"
    for fragment in sse.split_arguments(arguments):
        yield {"type": f"{kind}.delta", "delta": fragment}
    yield {"type": f"{kind}.done", "arguments": arguments}


def _named(kind: str, completion: chat_completions.ChatCompletion) -> str:
    return f"{kind}_{completion.id.removeprefix('chatcmpl-')}"


_REASONS: Final = {"max_output_tokens": "length", "content_filter": "content_filter"}

#: Events without information that other events don't have.
_SILENT: Final = {
    "response.created",
    "response.queued",
    "response.in_progress",
    "response.content_part.added",
    "response.content_part.done",
    "response.output_text.done",
    "response.output_text.annotation.added",
    "response.refusal.done",
    "response.function_call_arguments.done",
    "response.reasoning_summary_part.added",
    "response.reasoning_summary_part.done",
    "response.reasoning_summary_text.done",
    "response.reasoning_text.done",
    "keepalive",
}


class _Event(Struct, tag_field="type"):
    pass


class _Text(_Event, tag="response.output_text.delta"):
    delta: str


class _Refusal(_Event, tag="response.refusal.delta"):
    delta: str


class _Summary(_Event, tag="response.reasoning_summary_text.delta"):
    delta: str


class _Reasoning(_Event, tag="response.reasoning_text.delta"):
    delta: str


class _Arguments(_Event, tag="response.function_call_arguments.delta"):
    delta: str
    output_index: int


class _Part(Struct):
    text: str = ""
    refusal: str = ""


class _Item(Struct):
    type: str
    status: str | None = None
    call_id: str = ""
    name: str = ""
    arguments: str = ""
    content: tuple[_Part, ...] | None = None


class _Begun(_Event, tag="response.output_item.added"):
    item: _Item
    output_index: int


class _Done(_Event, tag="response.output_item.done"):
    item: _Item
    output_index: int


class _Usage(Struct):
    input_tokens: int | None = None
    output_tokens: int | None = None


class _Error(Struct):
    message: str | None = None
    code: str | None = None
    type: str | None = None


class _Details(Struct):
    reason: str | None = None


class _Response(Struct):
    status: str | None = None
    output: tuple[_Item, ...] = ()
    usage: _Usage | None = None
    error: _Error | None = None
    incomplete_details: _Details | None = None


class _Completed(_Event, tag="response.completed"):
    response: _Response


class _Incomplete(_Event, tag="response.incomplete"):
    response: _Response


class _Failed(_Event, tag="response.failed"):
    response: _Response


class _Failure(_Event, tag="error"):
    message: str | None = None
    code: str | None = None
    error: _Error | None = None


_Known = (
    _Text
    | _Refusal
    | _Summary
    | _Reasoning
    | _Arguments
    | _Begun
    | _Done
    | _Completed
    | _Incomplete
    | _Failed
    | _Failure
)
_KNOWN: Final = {kind.__struct_config__.tag for kind in get_args(_Known)}


class _Typed(Struct):
    type: str = ""
    object: str = ""
    error: _Error | None = None


_typed = msgspec.json.Decoder(_Typed)
_known: msgspec.json.Decoder[_Known] = msgspec.json.Decoder(_Known)
_response_decoder = msgspec.json.Decoder(_Response)


class ResponsesStream(AnswerStream):
    """A streamed response; see `AnswerStream`."""

    def __init__(self) -> None:
        super().__init__()
        self._calls: dict[int, PartialToolCall] = {}  # by the item's place among the output
        self._finished: set[int] = set()  # items of which nothing more is to be told

    def _read(self, data: str) -> Iterator[AgentEvent]:
        typed = _typed.decode(data)
        if typed.type in _KNOWN:
            yield from self._read_event(_known.decode(data))
        elif typed.object == "response":
            yield from self._over(_response_decoder.decode(data))
        elif typed.error is not None:  # some servers know no types of errors
            yield from self._fail(_make_error_data(typed.error))
        elif typed.type not in _SILENT and data.strip() != "[DONE]":
            yield TraceEvent("unknown", msgspec.json.decode(data))

    def _read_event(self, event: _Known) -> Iterator[AgentEvent]:
        match event:
            case _Text(delta=text) | _Refusal(delta=text):
                yield from make_text_events(text)
            case _Summary(delta=text) | _Reasoning(delta=text):
                yield from make_reasoning_events(text)
            case _Begun() | _Arguments() | _Done():
                yield from self._of_item(event)
            case _Completed(response=response) | _Incomplete(response=response):
                yield from self._over(response)
            case _Failed(response=response):
                yield from self._fail(_make_error_data(response.error))
            case _Failure(error=error, message=message, code=code):
                yield from self._fail(_make_error_data(error or _Error(message, code)))

    def _of_item(self, event: _Begun | _Arguments | _Done) -> Iterator[AgentEvent]:
        index = event.output_index
        match event:
            case _Begun(item=item):
                yield from self._begun(index, item)
            case _Arguments(delta=text) if index in self._calls:
                yield from self._calls[index].append(text)
            case _Arguments():
                yield TraceEvent("unknown", msgspec.to_builtins(event))
            case _Done(item=item):
                yield from self._read_item(index, item)

    def _begun(self, index: int, item: _Item) -> Iterator[AgentEvent]:
        if item.type == "function_call" and index not in self._calls:
            self._calls[index] = PartialToolCall(item.call_id, item.name)
            yield self._calls[index].make_started_event()

    def _read_item(self, index: int, item: _Item) -> Iterator[AgentEvent]:
        """A call is whole once its item is; one that was cut off never gets to be."""
        self._finished.add(index)
        if item.type != "function_call" or item.status == "incomplete":
            return
        yield from self._begun(index, item)
        call = self._calls[index]
        yield from call.set_arguments(item.arguments)
        yield call.make_ready_event()

    def _over(self, response: _Response) -> Iterator[AgentEvent]:
        if response.status == "failed" or response.error is not None:
            yield from self._fail(_make_error_data(response.error))
            return
        for index, item in enumerate(response.output):
            if index not in self._finished:
                yield from self._read_unsent_item(index, item)
        details = response.incomplete_details
        if details is None and response.status != "incomplete":
            reason = "tool_calls" if self._calls else "stop"
        else:
            reason = _REASONS.get((details and details.reason) or "", "length")
        yield self._complete(reason, _cost(response.usage))

    def _read_unsent_item(self, index: int, item: _Item) -> Iterator[AgentEvent]:
        """An item that no event before has told of: of a response in one piece, all of them."""
        if item.type == "function_call":
            yield from self._read_item(index, item)
        elif item.type == "message":
            for part in item.content or ():
                yield from make_text_events(part.text or part.refusal)


def _cost(usage: _Usage | None) -> Cost | None:
    if usage is None:
        return None
    return Cost(input_tokens=usage.input_tokens, output_tokens=usage.output_tokens)


def _make_error_data(error: _Error | None) -> dict[str, Any]:
    if error is None:
        return make_error_data("")
    return make_error_data(error.message or "", error.code or error.type)
