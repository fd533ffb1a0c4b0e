"""What OpenAI's Responses API answers: a completion as one response, or as the events of a stream.

The server's half of that API, for who plays the model.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any, Final

import msgspec

from .. import chat, cutting, sse

#: Why an answer is not whole, in this API's words.
_INCOMPLETE: Final = {"length": "max_output_tokens", "content_filter": "content_filter"}


def encode(completion: chat.Completion) -> bytes:
    """Write a whole answer."""
    return msgspec.json.encode(_response(completion, _items(completion)))


def events(completion: chat.Completion) -> Iterator[bytes]:
    """Cut an answer into the events of a stream, each framed as it is sent.

    Joined by a client, they give the response again. The last one carries it whole.
    """
    items = _items(completion)
    numbers = count()
    begun = _response(completion, []) | {"status": "in_progress", "usage": None}
    ended = _response(completion, items)
    told: list[dict[str, Any]] = [
        {"type": "response.created", "response": begun},
        {"type": "response.in_progress", "response": begun},
        *(event for index, item in enumerate(items) for event in _item_events(index, item)),
        {"type": f"response.{ended['status']}", "response": ended},
    ]
    for event in told:
        data = msgspec.json.encode(event | {"sequence_number": next(numbers)})
        yield sse.encode_event(data, event["type"])


def _response(completion: chat.Completion, items: list[dict[str, Any]]) -> dict[str, Any]:
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


def _usage(usage: chat.Usage) -> dict[str, Any]:
    return {
        "input_tokens": usage.prompt_tokens,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": usage.completion_tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": usage.total_tokens,
    }


def _items(completion: chat.Completion) -> list[dict[str, Any]]:
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


def _call_item(id: str, call: chat.ToolCall) -> dict[str, Any]:
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
    for words in cutting.words(text):
        yield place | {"type": "response.output_text.delta", "delta": words, "logprobs": []}
    yield place | {"type": "response.output_text.done", "text": text, "logprobs": []}
    yield place | {"type": "response.content_part.done", "part": _part(text)}


def _argument_events(arguments: str) -> Iterator[dict[str, Any]]:
    kind = "response.function_call_arguments"
    for fragment in cutting.fragments(arguments):
        yield {"type": f"{kind}.delta", "delta": fragment}
    yield {"type": f"{kind}.done", "arguments": arguments}


def _named(kind: str, completion: chat.Completion) -> str:
    return f"{kind}_{completion.id.removeprefix('chatcmpl-')}"
