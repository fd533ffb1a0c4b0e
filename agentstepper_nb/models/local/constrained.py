"""A question with tools, for a model that knows none: tools in words, and a schema for the answer.

The answer is one JSON object, `{"tool": NAME, "arguments": {…}}` or `{"text": "…"}`. What was said
before is told in that form too, so that a model goes on as it began.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from msgspec.structs import replace

from ...llm_wire.conversation import (
    AssistantMessage,
    ChatMessage,
    ModelRequest,
    ToolCall,
    ToolResultMessage,
    ToolSpec,
    UserMessage,
)
from .bounds import bounded

#: The longest answer where the request names none.
MAX_TOKENS: Final = 1024
#: Words of `tool_choice` that are no tool's name.
_CHOICES: Final = ("auto", "none", "required")


@dataclass(frozen=True)
class Question:
    """What a model without tools is asked."""

    request: ModelRequest
    """The same conversation, in texts alone."""
    schema: dict[str, Any] | None
    """What the answer is constrained to; None: it is free."""


def question(request: ModelRequest) -> Question:
    """Put a request so that any model can answer it.

    Args:
        request: With tools or without; `tool_choice` is kept to, a tool's name too.

    Raises:
        ValueError: It chooses a tool that it doesn't have.
    """
    limit = MAX_TOKENS if request.max_tokens is None else request.max_tokens
    tools = _offered(request)
    may_speak = request.tool_choice in (None, "auto")
    plain = replace(
        request,
        messages=tuple(_joined(_in_words(request.messages, bool(tools) and may_speak))),
        system=_system(request.system, tools, may_speak),
        tools=(),
        tool_choice=None,
        max_tokens=limit,
        temperature=request.temperature or 0.0,
    )
    return Question(plain, _schema(tools, may_speak, limit) if tools else None)


def _offered(request: ModelRequest) -> tuple[ToolSpec, ...]:
    """The tools that the answer may call."""
    choice = request.tool_choice
    if choice == "none":
        return ()
    if choice is None or choice in _CHOICES:
        return request.tools
    chosen = tuple(tool for tool in request.tools if tool.name == choice)
    if not chosen:
        raise ValueError(f"tool_choice names {choice!r}, which is none of the request's tools")
    return chosen


# ---- the answer's schema ---------------------------------------------------------------------------


def _schema(tools: tuple[ToolSpec, ...], may_speak: bool, limit: int) -> dict[str, Any]:
    definitions: dict[str, Any] = {}
    answers = []
    for tool in tools:
        arguments, own = bounded(tool.input_schema, limit, f"{tool.name}.")
        definitions |= own
        answers.append(_object(tool={"const": tool.name}, arguments=arguments))
    if may_speak:
        text, _ = bounded({"type": "string"}, limit)
        answers.append(_object(text=text))
    return {"anyOf": answers} | ({"$defs": definitions} if definitions else {})


def _object(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


# ---- the conversation in words ---------------------------------------------------------------------


def _system(system: str | None, tools: tuple[ToolSpec, ...], may_speak: bool) -> str | None:
    if not tools:
        return system
    listed = "\n".join(f"- {_signature(tool)}: {tool.description}" for tool in tools)
    answer = 'Answer with one JSON object: {"tool": NAME, "arguments": {…}} calls a tool'
    speak = ', {"text": "…"} says something.' if may_speak else "."
    parts = (system, f"Tools:\n{listed}", answer + speak)
    return "\n\n".join(part for part in parts if part)


def _signature(tool: ToolSpec) -> str:
    """`read_file(path: string, line?: integer)`: a small model reads that better than a schema."""
    schema = tool.input_schema
    required = schema.get("required", ())
    arguments = (
        f"{name}{'' if name in required else '?'}: {_type(inside)}"
        for name, inside in schema.get("properties", {}).items()
    )
    return f"{tool.name}({', '.join(arguments)})"


def _type(schema: Any) -> str:
    kind = schema.get("type") if isinstance(schema, dict) else None
    return "|".join(kind) if isinstance(kind, list) else kind or "any"


def _in_words(messages: Iterable[ChatMessage], as_json: bool) -> Iterator[ChatMessage]:
    """Each message as a text of the person or the model."""
    names: dict[str, str] = {}
    for message in messages:
        match message:
            case UserMessage():
                yield message
            case AssistantMessage(content=content, tool_calls=calls):
                names |= {call.call_id: call.name for call in calls}
                text = (
                    [_json(text=content) if as_json and not calls else content] if content else []
                )
                yield AssistantMessage(content="\n".join([*text, *map(_call, calls)]))
            case ToolResultMessage(call_id=call_id, content=content):
                name = names.get(call_id, "a tool")
                yield UserMessage(content=f"Result of {name}:\n{content}")


def _call(call: ToolCall) -> str:
    try:
        arguments = json.loads(call.args_json)
    except (ValueError, RecursionError):
        arguments = call.args_json
    return _json(tool=call.name, arguments=arguments)


def _json(**fields: Any) -> str:
    return json.dumps(fields, ensure_ascii=False)


def _joined(messages: Iterable[ChatMessage]) -> Iterator[ChatMessage]:
    """Several of one side as one: templates of many models ask for turns."""
    last: ChatMessage | None = None
    for message in messages:
        if last is not None and type(last) is type(message):
            last = replace(last, content=f"{last.content}\n\n{message.content}")
            continue
        if last is not None:
            yield last
        last = message
    if last is not None:
        yield last
