"""A Gemini answer and the parts of its stream, each made from the other.

A stream's parts have the whole answer's form. With `alt=sse` each is an event, else they are the items
of one JSON list.
https://ai.google.dev/api/generate-content#v1beta.GenerateContentResponse
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..answer_events import (
    JoinedAnswer,
    JsonObject,
    encode_json_event,
    find_error_message,
)


def is_event(event: Mapping[str, Any]) -> bool:
    """Whether a JSON object is a part of a Gemini stream."""
    return isinstance(event.get("candidates"), list) or "usageMetadata" in event


def join_events(events: Sequence[JsonObject]) -> JoinedAnswer:
    """Make an answer from the parts of its stream."""
    whole: JsonObject = {}
    candidates: dict[int, JsonObject] = {}
    error = None
    for event in events:
        error = error or find_error_message(event)
        whole |= {k: v for k, v in event.items() if k not in ("candidates", "error")}
        for candidate in event.get("candidates") or ():
            _add_candidate(candidates, candidate)
    if candidates:
        whole["candidates"] = [candidates[index] for index in sorted(candidates)]
    is_refused = "promptFeedback" in whole and not candidates
    is_ended = bool(candidates) and all(each.get("finishReason") for each in candidates.values())
    return JoinedAnswer(whole, error, is_refused or is_ended)


def _add_candidate(candidates: dict[int, JsonObject], candidate: Mapping[str, Any]) -> None:
    whole = candidates.setdefault(candidate.get("index") or 0, {})
    content = candidate.get("content")
    whole |= {name: value for name, value in candidate.items() if name != "content"}
    if content is None:
        return
    before = whole.get("content") or {}
    parts = list(before.get("parts") or ())
    for part in content.get("parts") or ():
        if parts and _continues(parts[-1], part):
            parts[-1] = {**parts[-1], "text": parts[-1]["text"] + part["text"]}
        else:
            parts.append(part)
    whole["content"] = {**before, **content, "parts": parts}


def _continues(before: Mapping[str, Any], part: Mapping[str, Any]) -> bool:
    """Whether a part is more of the text before it: a signature stands with the part that it signs."""
    return (
        before.keys() == part.keys()
        and before.keys() <= {"text", "thought"}
        and "text" in before
        and before.get("thought") == part.get("thought")
    )


def split_answer(answer: Mapping[str, Any], request: Mapping[str, Any]) -> Iterator[bytes]:
    """Make the events of a stream from an answer: one, since a part may be the whole."""
    yield encode_json_event(answer)
