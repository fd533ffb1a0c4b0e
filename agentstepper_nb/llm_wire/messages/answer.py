"""What Anthropic's Messages API answers: a completion as one message, or as the events of a stream.

The server's half of that API, for who plays the model.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from .. import chat, cutting, sse
from .arguments import to_input

#: Why an answer ended, in this API's words.
_REASONS: Final[dict[chat.FinishReason, str]] = {
    "stop": "end_turn",
    "tool_calls": "tool_use",
    "length": "max_tokens",
    "content_filter": "refusal",
}


def encode(completion: chat.Completion) -> bytes:
    """Write a whole answer; arguments that are no object, malformed JSON say, are wrapped in one."""
    message = completion.choices[0].message
    said = [{"type": "text", "text": message.text}] if message.text else []
    calls = [_block(call, to_input(call.function.arguments)) for call in message.calls]
    return msgspec.json.encode(_message(completion, [*said, *calls]))


def events(completion: chat.Completion) -> Iterator[bytes]:
    """Cut an answer into the events of a stream, each framed as it is sent."""
    for event in _events(completion):
        yield sse.encode_event(msgspec.json.encode(event), event["type"])


def encode_error(status: int, error: chat.Error) -> bytes:
    """Write an error in this API's envelope; its kinds are words of its own."""
    kinds = {401: "authentication_error", 403: "permission_error", 404: "not_found_error"}
    kinds |= {413: "request_too_large", 429: "rate_limit_error", 529: "overloaded_error"}
    kind = kinds.get(status, "invalid_request_error" if status < 500 else "api_error")
    told = {"type": kind, "message": error.message}
    return msgspec.json.encode({"type": "error", "error": told, "request_id": None})


def _events(completion: chat.Completion) -> Iterator[dict[str, Any]]:
    choice, usage = completion.choices[0], completion.usage
    begun = _message(completion, []) | {"stop_reason": None}
    begun["usage"] = begun["usage"] | {"output_tokens": 0}
    yield {"type": "message_start", "message": begun}
    for index, (block, deltas) in enumerate(_blocks(choice.message)):
        yield {"type": "content_block_start", "index": index, "content_block": block}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    ended = {"stop_reason": _REASONS[choice.finish_reason], "stop_sequence": None}
    yield {
        "type": "message_delta",
        "delta": ended,
        "usage": {"output_tokens": usage.completion_tokens},
    }
    yield {"type": "message_stop"}


def _blocks(message: chat.Message) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Each block as it begins, and what is added to it."""
    if message.text:
        deltas = [{"type": "text_delta", "text": words} for words in cutting.words(message.text)]
        yield {"type": "text", "text": ""}, deltas
    for call in message.calls:
        yield (
            _block(call, {}),
            [
                {"type": "input_json_delta", "partial_json": fragment}
                for fragment in cutting.fragments(call.function.arguments)
            ],
        )


def _message(completion: chat.Completion, content: list[dict[str, Any]]) -> dict[str, Any]:
    usage = completion.usage
    return {
        "id": f"msg_{completion.id.removeprefix('chatcmpl-')}",
        "type": "message",
        "role": "assistant",
        "model": completion.model,
        "content": content,
        "stop_reason": _REASONS[completion.choices[0].finish_reason],
        "stop_sequence": None,
        "usage": {"input_tokens": usage.prompt_tokens, "output_tokens": usage.completion_tokens},
    }


def _block(call: chat.ToolCall, arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call.id, "name": call.function.name, "input": arguments}
