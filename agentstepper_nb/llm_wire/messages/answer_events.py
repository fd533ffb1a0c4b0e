"""An answer of the Messages API and the events of its stream, each made from the other.

https://docs.claude.com/en/api/messages-streaming
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from ..answer_events import (
    JoinedAnswer,
    JsonObject,
    encode_json_event,
    find_error_message,
)

#: Text members that a block's deltas continue, each with its delta's type.
_TEXTS: Final = (
    ("text", "text_delta"),
    ("thinking", "thinking_delta"),
    ("signature", "signature_delta"),
)
#: The fields of an answer that are known only at its end.
_END_MEMBERS: Final = ("stop_reason", "stop_sequence")
#: The types of events, but for an error's.
_EVENTS: Final = (
    *("message_start", "content_block_start", "content_block_delta", "content_block_stop"),
    *("message_delta", "message_stop", "ping"),
)


def is_event(event: Mapping[str, Any]) -> bool:
    """Whether a JSON object is an event of a Messages stream."""
    return event.get("type") in _EVENTS


def join_events(events: Sequence[JsonObject]) -> JoinedAnswer:
    """Make an answer from the events of its stream."""
    answer: JsonObject = {}
    blocks: dict[int, _Block] = {}
    error, is_complete = None, False
    for event in events:
        match event.get("type"):
            case "message_start":
                answer = dict(event["message"])
            case "content_block_start":
                blocks[event["index"]] = _Block(event["content_block"])
            case "content_block_delta":
                blocks.setdefault(event["index"], _Block({})).add(event["delta"])
            case "message_delta":
                answer |= _end_members(event, answer)
            case "message_stop":
                is_complete = True
            case "error":
                error = find_error_message(event)
    answer["content"] = [blocks[index].finish() for index in sorted(blocks)]
    return JoinedAnswer(answer, error, is_complete)


def _end_members(event: Mapping[str, Any], answer: Mapping[str, Any]) -> JsonObject:
    usage = {**(answer.get("usage") or {}), **(event.get("usage") or {})}
    rest = {k: v for k, v in event.items() if k not in ("type", "delta", "usage")}
    return {**rest, **(event.get("delta") or {}), **({"usage": usage} if usage else {})}


class _Block:
    """A content block as its deltas fill it."""

    def __init__(self, begun: Mapping[str, Any]) -> None:
        self._block = dict(begun)
        self._input_json: list[str] = []

    def add(self, delta: Mapping[str, Any]) -> None:
        match delta:
            case {"type": "input_json_delta", "partial_json": str() as text}:
                self._input_json.append(text)
            case {"type": "citations_delta", "citation": citation}:
                self._block["citations"] = [*(self._block.get("citations") or ()), citation]
            case _:
                for name, value in delta.items():
                    if name != "type":
                        before = self._block.get(name)
                        is_text = isinstance(before, str) and isinstance(value, str)
                        self._block[name] = before + value if is_text else value

    def finish(self) -> JsonObject:
        text = "".join(self._input_json)
        if not text:
            return self._block
        try:
            return {**self._block, "input": msgspec.json.decode(text)}
        except ValueError:  # cut off within the arguments
            return {**self._block, "input": text}


def split_answer(answer: Mapping[str, Any], request: Mapping[str, Any]) -> Iterator[bytes]:
    """Make the events of a stream from an answer."""
    begun = {**answer, "content": []} | dict.fromkeys(_END_MEMBERS)
    yield _encode("message_start", message=begun)
    for index, block in enumerate(answer.get("content") or ()):
        start, deltas = _begin_block(block)
        yield _encode("content_block_start", index=index, content_block=start)
        for delta in deltas:
            yield _encode("content_block_delta", index=index, delta=delta)
        yield _encode("content_block_stop", index=index)
    end = {name: answer.get(name) for name in _END_MEMBERS}
    yield _encode("message_delta", delta=end, usage=answer.get("usage") or {})
    yield _encode("message_stop")


def _begin_block(block: Mapping[str, Any]) -> tuple[JsonObject, list[JsonObject]]:
    """A block as it begins, and the deltas that fill it."""
    begun, deltas = dict(block), []
    for citation in block.get("citations") or ():
        begun["citations"] = []
        deltas.append({"type": "citations_delta", "citation": citation})
    for name, kind in _TEXTS:
        if isinstance(block.get(name), str):
            begun[name] = ""
            deltas.append({"type": kind, name: block[name]})
    if "input" in block and isinstance(block["input"], dict):
        begun["input"] = {}
        text = msgspec.json.encode(block["input"]).decode()
        deltas.append({"type": "input_json_delta", "partial_json": text})
    return begun, deltas


def _encode(kind: str, **members: Any) -> bytes:
    return encode_json_event({"type": kind, **members}, kind)
