"""An answer of the Responses API and the events of its stream, each made from the other.

https://platform.openai.com/docs/api-reference/responses-streaming
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import Any, Final

from ..answer_events import (
    JoinedAnswer,
    JsonObject,
    encode_json_event,
    find_error_message,
)

_FINAL: Final = ("response.completed", "response.incomplete", "response.failed")
_STARTED: Final = {"status": "in_progress"}


def is_event(event: Mapping[str, Any]) -> bool:
    """Whether a JSON object is an event of a Responses stream."""
    return str(event.get("type")).startswith("response.")


def join_events(events: Sequence[JsonObject]) -> JoinedAnswer:
    """Make an answer from the events of its stream: the last one carries it whole."""
    begun: JsonObject = {}
    items: dict[int, Any] = {}
    error = None
    for event in events:
        kind = event.get("type")
        if kind in _FINAL:
            return JoinedAnswer(event["response"], _find_failure(event["response"]))
        if kind == "response.output_item.done":
            items[event["output_index"]] = event["item"]
        elif kind == "error":
            error = find_error_message(event) or str(event.get("message") or "no reason was given")
        elif isinstance(event.get("response"), dict):
            begun = event["response"]
    output = [items[index] for index in sorted(items)]
    return JoinedAnswer({**begun, "output": output}, error, is_complete=False)


def _find_failure(answer: Mapping[str, Any]) -> str | None:
    """Why an answer failed; one that is incomplete, for the limit of its tokens, didn't."""
    if answer.get("status") != "failed":
        return None
    return find_error_message(answer) or "The model's service failed, and gave no reason."


def split_answer(answer: Mapping[str, Any], request: Mapping[str, Any]) -> Iterator[bytes]:
    """Make the events of a stream from an answer."""
    status = answer.get("status")
    final = f"response.{status}" if f"response.{status}" in _FINAL else _FINAL[0]
    begun = {**answer, "output": [], "status": "in_progress", "usage": None}
    numbers = count()
    for kind, members in (
        ("response.created", {"response": begun}),
        ("response.in_progress", {"response": begun}),
        *_item_events(answer.get("output") or ()),
        (final, {"response": answer}),
    ):
        event = {"type": kind, "sequence_number": next(numbers), **members}
        yield encode_json_event(event, kind)


_Event = tuple[str, JsonObject]


def _item_events(items: Sequence[Mapping[str, Any]]) -> Iterator[_Event]:
    for index, item in enumerate(items):
        place = {"output_index": index, "item_id": item.get("id") or ""}
        begun, inside = _begin_item(item)
        yield "response.output_item.added", {"output_index": index, "item": begun}
        for kind, members in inside:
            yield kind, {**place, **members}
        yield "response.output_item.done", {"output_index": index, "item": item}


def _begin_item(item: Mapping[str, Any]) -> tuple[JsonObject, Iterator[_Event]]:
    """An item as it begins, and the events that fill it."""
    match item:
        case {"type": "message", "content": list(parts)}:
            return {**item, **_STARTED, "content": []}, _message_events(parts)
        case {"type": "function_call", "arguments": str(arguments)}:
            done = {"arguments": arguments, "name": item.get("name")}
            return {**item, **_STARTED, "arguments": ""}, _text_events(
                "response.function_call_arguments", arguments, done
            )
        case {"type": "custom_tool_call", "input": str(text)}:
            return {**item, "input": ""}, _text_events(
                "response.custom_tool_call_input", text, {"input": text}
            )
        case {"type": "reasoning"}:
            parts = item.get("summary") or []
            return {**item, "summary": []}, _summary_events(parts)
    return dict(item), iter(())


def _text_events(kind: str, text: str, done: JsonObject) -> Iterator[_Event]:
    yield f"{kind}.delta", {"delta": text}
    yield f"{kind}.done", done


def _message_events(parts: Sequence[Mapping[str, Any]]) -> Iterator[_Event]:
    for index, part in enumerate(parts):
        place = {"content_index": index}
        member = "refusal" if part.get("type") == "refusal" else "text"
        text = part.get(member) or ""
        kind = "response.refusal" if member == "refusal" else "response.output_text"
        extra: JsonObject = {} if member == "refusal" else {"logprobs": []}
        begun = {**part, member: ""} | ({} if member == "refusal" else {"annotations": []})
        yield "response.content_part.added", {**place, "part": begun}
        yield f"{kind}.delta", {**place, "delta": text, **extra}
        yield f"{kind}.done", {**place, member: text, **extra}
        yield "response.content_part.done", {**place, "part": part}


def _summary_events(parts: Sequence[Mapping[str, Any]]) -> Iterator[_Event]:
    for index, part in enumerate(parts):
        place = {"summary_index": index}
        text = part.get("text") or ""
        yield (
            "response.reasoning_summary_part.added",
            {**place, "part": {**part, "text": ""}},
        )
        yield "response.reasoning_summary_text.delta", {**place, "delta": text}
        yield "response.reasoning_summary_text.done", {**place, "text": text}
        yield "response.reasoning_summary_part.done", {**place, "part": part}
