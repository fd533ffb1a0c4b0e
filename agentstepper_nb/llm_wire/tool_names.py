"""The tools that a request offers, and those that an answer calls, whatever the API."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .tool_calls import find_tool_calls, iterate_objects


@dataclass(frozen=True)
class CalledTool:
    """A tool that an answer calls.

    Args:
        name: Its name.
        args: What it is called with: a JSON value, or the text where the model wrote no JSON.
        id: The call's id; None where the model gave none.
    """

    name: str
    args: Any
    id: str | None


def find_offered_tools(body: Mapping[str, Any]) -> set[str]:
    """The names of the functions that a request offers as tools."""
    names: set[str] = set()
    config = body.get("toolConfig")  # Bedrock's
    tools = config.get("tools") if isinstance(config, dict) else body.get("tools")
    for tool in iterate_objects(tools or body.get("tools")):
        match tool:
            case {"toolSpec": {"name": str() as name}}:
                names.add(name)
            case {"function": {"name": str() as name}} | {"name": str() as name}:
                names.add(name)
            case {"functionDeclarations": list(functions)}:  # Gemini's
                names |= {each["name"] for each in iterate_objects(functions) if "name" in each}
    return names


def find_called_tools(answer: Mapping[str, Any]) -> list[CalledTool]:
    """The tools that a whole answer calls, in its order."""
    calls = find_tool_calls(answer, {})
    return [CalledTool(call.name, call.args, call.given_id) for call in calls]
