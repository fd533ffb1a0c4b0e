"""What a model wants of tools that it calls by JSON in its text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

import msgspec
from msgspec import Struct

from ...llm_wire.conversation import ToolSpec

#: The action that is no tool: its input is what the person reads.
FINAL: Final = "answer"

_INSTRUCTIONS: Final = """\
Answer with one JSON object and nothing beside it:

{"action": "NAME", "action_input": INPUT}

It names the next action. To say something to the person, and end with that, NAME is "answer" and \
INPUT a text. To use a tool, NAME is the tool's and INPUT an object by its schema; you are then told \
what came of it, and choose the next action."""
_WRONG: Final = (
    "That can't be used: {why} Answer again, with one JSON object and nothing beside it: "
    '{{"action": "NAME", "action_input": INPUT}}.'
)
_FENCE: Final = re.compile(r"```[a-zA-Z]*\s*\n(.*?)```", re.DOTALL)


class Action(Struct, frozen=True):
    """What a model wants to be done."""

    action: str
    action_input: Any = None


class ActionError(ValueError):
    """What a model said names no action; says to it what is wrong."""


def instructions(tools: Sequence[ToolSpec]) -> str:
    """What a model is told beside its other instructions.

    Args:
        tools: What it may use.
    """
    if not tools:
        return f"{_INSTRUCTIONS}\n\nThere are no tools."
    listed = "\n".join(
        f"- {tool.name}: {tool.description or 'says nothing of itself'}\n"
        f"  schema: {msgspec.json.encode(tool.input_schema).decode()}"
        for tool in tools
    )
    return f"{_INSTRUCTIONS}\n\nThe tools:\n{listed}"


def action_of(text: str) -> Action:
    """What a model wants, of all that it said: it may think aloud around its JSON, or fence it.

    Args:
        text: Its answer.

    Raises:
        ActionError: It names no action, or no single one.
    """
    text = text.strip()
    between = text[text.find("{") : text.rfind("}") + 1]
    candidates = [text, *reversed([found.strip() for found in _FENCE.findall(text)]), between]
    why = "there is no JSON object in it."
    for candidate in candidates:
        if not candidate.startswith("{"):
            continue
        try:
            return msgspec.json.decode(candidate, type=Action)
        except (ValueError, RecursionError) as error:
            why = f"{error}."
    raise ActionError(why)


def answer_of(action: Action) -> str:
    """What the person reads of a final action."""
    value = action.action_input
    if isinstance(value, str):
        return value
    return "" if value is None else msgspec.json.encode(value).decode()


def complaint(why: object) -> str:
    """What a model is told whose answer names no action."""
    return _WRONG.format(why=why)


def observation(name: str, ok: bool, result: str) -> str:
    """What a model is told of an action's result."""
    return f"[{name} {'gave' if ok else 'failed'}] {result}"
