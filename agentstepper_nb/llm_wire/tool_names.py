"""The tools that a request offers, and those that an answer calls, whatever the API."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

_CALL_TYPES: Final = ("function_call", "custom_tool_call", "tool_use")


def find_offered_tools(body: Mapping[str, Any]) -> set[str]:
    """The names of the functions that a request offers as tools."""
    names: set[str] = set()
    for tool in _each(body.get("tools")):
        match tool:
            case {"function": {"name": str() as name}} | {"name": str() as name}:
                names.add(name)
            case {"functionDeclarations": list(functions)}:  # Gemini's
                names |= {each["name"] for each in _each(functions) if "name" in each}
    return names


def find_called_tools(answer: Mapping[str, Any]) -> list[str]:
    """The names of the functions that a whole answer calls, in its order."""
    calls = (*_chat_calls(answer), *_listed_calls(answer), *_gemini_calls(answer))
    return [call["name"] for call in calls if isinstance(call.get("name"), str)]


def _chat_calls(answer: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for choice in _each(answer.get("choices")):
        for call in _each((choice.get("message") or {}).get("tool_calls")):
            yield from _each([call.get("function"), call.get("custom")])


def _listed_calls(answer: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Those of Responses and of Messages, which stand among the answer's other parts."""
    parts = (*_each(answer.get("output")), *_each(answer.get("content")))
    return (part for part in parts if part.get("type") in _CALL_TYPES)


def _gemini_calls(answer: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for candidate in _each(answer.get("candidates")):
        for part in _each((candidate.get("content") or {}).get("parts")):
            yield from _each([part.get("functionCall")])


def _each(items: Any) -> Iterator[dict[str, Any]]:
    """The objects of a list; nothing of what is none."""
    if isinstance(items, list):
        yield from (item for item in items if isinstance(item, dict))
