"""The tools that a request offers, and those that an answer calls, whatever the API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .tool_calls import each_object, find_tool_calls


def find_offered_tools(body: Mapping[str, Any]) -> set[str]:
    """The names of the functions that a request offers as tools."""
    names: set[str] = set()
    for tool in each_object(body.get("tools")):
        match tool:
            case {"function": {"name": str() as name}} | {"name": str() as name}:
                names.add(name)
            case {"functionDeclarations": list(functions)}:  # Gemini's
                names |= {each["name"] for each in each_object(functions) if "name" in each}
    return names


def find_called_tools(answer: Mapping[str, Any]) -> list[str]:
    """The names of the functions that a whole answer calls, in its order."""
    return [call.name for call in find_tool_calls(answer, {})]
