"""A chat completion and the chunks of its stream, each made from the other.

https://platform.openai.com/docs/api-reference/chat-streaming
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from ..answer_events import (
    JoinedAnswer,
    JsonObject,
    encode_json_event,
    find_error_message,
    merge_delta,
)
from ..sse import DONE

_CHUNK: Final = "chat.completion.chunk"
_COMPLETION: Final = "chat.completion"
#: Members of a chunk that say nothing of the completion: padding against guesses of its length.
_PADDING: Final = "obfuscation"


def is_event(event: Mapping[str, Any]) -> bool:
    """Whether a JSON object is a chunk of a chat completion's stream."""
    return event.get("object") == _CHUNK


def join_events(chunks: Sequence[JsonObject]) -> JoinedAnswer:
    """Make a chat completion from the chunks of its stream."""
    whole: JsonObject = {}
    choices: dict[int, JsonObject] = {}
    error = None
    for chunk in chunks:
        error = error or find_error_message(chunk)
        for name, value in chunk.items():
            if name not in ("choices", "error", _PADDING) and (
                value is not None or name not in whole
            ):
                whole[name] = value
        for choice in chunk.get("choices") or ():
            _add_choice(choices, choice)
    whole["object"] = _COMPLETION
    whole["choices"] = [_finish_choice(choices[index]) for index in sorted(choices)]
    is_complete = bool(choices) and all(each.get("finish_reason") for each in choices.values())
    return JoinedAnswer(whole, error, is_complete)


def _add_choice(choices: dict[int, JsonObject], choice: Mapping[str, Any]) -> None:
    index = choice.get("index") or 0
    whole = choices.setdefault(index, {"index": index, "message": {}, "finish_reason": None})
    delta = choice.get("delta") or {}
    calls = delta.get("tool_calls")
    if calls and any(call.get("index") is None for call in calls):
        # Servers that send each call whole leave the index out.
        begun = len(whole["message"].get("tool_calls") or ())
        calls = [{"index": begun + at, **call} for at, call in enumerate(calls)]
        delta = {**delta, "tool_calls": calls}
    merge_delta(whole["message"], delta)
    merge_delta(whole, {k: v for k, v in choice.items() if k not in ("index", "delta")})


def _finish_choice(choice: JsonObject) -> JsonObject:
    message = {"role": "assistant", "content": None, **choice["message"]}
    if message.get("tool_calls"):
        message["tool_calls"] = [_without_index(call) for call in message["tool_calls"]]
    return {**choice, "message": message}


def _without_index(call: Mapping[str, Any]) -> JsonObject:
    return {name: value for name, value in call.items() if name != "index"}


def split_answer(answer: Mapping[str, Any], request: Mapping[str, Any]) -> Iterator[bytes]:
    """Make the events of a stream from a chat completion.

    The usage has a chunk of its own where the request asks for that; else it comes with the last choice,
    since a client that didn't ask reads `choices[0]` of each chunk.
    """
    base = {k: v for k, v in answer.items() if k not in ("choices", "usage")} | {"object": _CHUNK}
    has_usage = answer.get("usage") is not None
    asks_usage = bool((request.get("stream_options") or {}).get("include_usage"))
    choices = answer.get("choices") or []
    for choice in choices:
        yield encode_json_event({**base, "choices": [_begin_choice(choice)]})
    for at, choice in enumerate(choices):
        end = {**base, "choices": [_end_choice(choice)]}
        if has_usage and not asks_usage and at == len(choices) - 1:
            end["usage"] = answer["usage"]
        yield encode_json_event(end)
    if has_usage and asks_usage:
        yield encode_json_event({**base, "choices": [], "usage": answer["usage"]})
    yield DONE


def _begin_choice(choice: Mapping[str, Any]) -> JsonObject:
    delta = dict(choice.get("message") or {})
    calls = delta.get("tool_calls")
    if calls:
        delta["tool_calls"] = [{"index": at, **call} for at, call in enumerate(calls)]
    rest = {k: v for k, v in choice.items() if k not in ("message", "finish_reason")}
    return {**rest, "delta": delta, "finish_reason": None}


def _end_choice(choice: Mapping[str, Any]) -> JsonObject:
    return {
        "index": choice.get("index", 0),
        "delta": {},
        "finish_reason": choice.get("finish_reason") or "stop",
    }
