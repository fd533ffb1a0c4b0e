"""Converts a request with tools for a model that doesn't support tools.

The tools become text in the system prompt, and a JSON schema constrains the answer to one object,
`{"tool": NAME, "arguments": {…}}` or `{"text": "…"}`. Earlier messages of the model are written in the
same format, so that the model continues in that format.
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

#: The most characters of one string. llama.cpp's grammars support fewer than 2,000.
MAX_TEXT_CHARS: Final = 1000
#: The most items of one array.
MAX_ITEMS: Final = 16
#: The keywords of JSON Schema whose values contain further schemas.
_SCHEMA_KEYWORDS: Final = ("items", "additionalProperties", "contains", "not", "if", "then", "else")
_SCHEMA_LIST_KEYWORDS: Final = ("anyOf", "oneOf", "allOf", "prefixItems")
_SCHEMA_MAP_KEYWORDS: Final = ("properties", "patternProperties")
#: The keywords of JSON Schema that already limit a string's length.
_FIXED: Final = ("enum", "const", "format", "pattern")


def limit_schema(
    schema: dict[str, Any], tokens: int, prefix: str = ""
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Limit the length of the strings and arrays of a schema.

    Args:
        schema: The schema of a tool's arguments. References must be to the schema's own `$defs`.
        tokens: The most tokens of the answer; also the most characters of a string.
        prefix: The prefix of the definitions' new names, for a schema that combines several tools.

    Returns:
        The schema without its definitions, and the definitions by their new names.
    """
    bounds = _Bounds(max(1, min(MAX_TEXT_CHARS, tokens)), prefix)
    own = {name: bounds.limit(inside) for name, inside in schema.get("$defs", {}).items()}
    inside = {key: value for key, value in schema.items() if key != "$defs"}
    result: dict[str, Any] = bounds.limit(inside)
    return result, {f"{prefix}{name}": value for name, value in own.items()}


class _Bounds:
    def __init__(self, text: int, prefix: str) -> None:
        self._text = text
        self._prefix = prefix

    def limit(self, schema: Any) -> Any:
        if not isinstance(schema, dict):  # true and false are schemas as well
            return schema
        new = {key: self._inside(key, value) for key, value in schema.items()}
        kinds = new.get("type")
        kinds = kinds if isinstance(kinds, list) else [kinds]
        self._anchor(new)
        if "string" in kinds and not any(key in new for key in _FIXED):
            new["maxLength"] = min(new.get("maxLength", self._text), self._text)
        if "array" in kinds:
            new["maxItems"] = min(new.get("maxItems", MAX_ITEMS), MAX_ITEMS)
        if "properties" in new:
            new.setdefault("additionalProperties", False)
        return new

    def _inside(self, key: str, value: Any) -> Any:
        if key == "$ref" and isinstance(value, str):
            return value.replace("#/$defs/", f"#/$defs/{self._prefix}", 1)
        if key in _SCHEMA_KEYWORDS:
            return self.limit(value)
        if key in _SCHEMA_LIST_KEYWORDS and isinstance(value, list):
            return [self.limit(inside) for inside in value]
        if key in _SCHEMA_MAP_KEYWORDS and isinstance(value, dict):
            return {name: self.limit(inside) for name, inside in value.items()}
        return value

    def _anchor(self, schema: dict[str, Any]) -> None:
        """Remove a pattern that isn't anchored at both ends: llama.cpp refuses such patterns."""
        pattern = schema.get("pattern")
        if isinstance(pattern, str) and not (pattern.startswith("^") and pattern.endswith("$")):
            del schema["pattern"]


#: The most tokens of an answer, if the request sets no limit.
MAX_TOKENS: Final = 1024
#: The values of `tool_choice` that aren't a tool's name.
_CHOICES: Final = ("auto", "none", "required")


@dataclass(frozen=True)
class ConstrainedRequest:
    """A request without tools, with a schema of the answer."""

    request: ModelRequest
    """The same conversation as text, without tools."""
    schema: dict[str, Any] | None
    """The JSON schema that constrains the answer; None: the answer is free text."""


def constrain_request(request: ModelRequest) -> ConstrainedRequest:
    """Convert a request for a model that doesn't support tools.

    Args:
        request: The request, with or without tools. `tool_choice` is respected.

    Raises:
        ValueError: `tool_choice` names a tool that the request doesn't have.
    """
    limit = MAX_TOKENS if request.max_tokens is None else request.max_tokens
    tools = _offered(request)
    can_answer_text = request.tool_choice in (None, "auto")
    plain = replace(
        request,
        messages=tuple(
            _merge_turns(_encode_messages(request.messages, bool(tools) and can_answer_text))
        ),
        system=_system(request.system, tools, can_answer_text),
        tools=(),
        tool_choice=None,
        max_tokens=limit,
        temperature=request.temperature or 0.0,
    )
    return ConstrainedRequest(plain, _schema(tools, can_answer_text, limit) if tools else None)


def _offered(request: ModelRequest) -> tuple[ToolSpec, ...]:
    """Return the tools that the answer may call."""
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


def _schema(tools: tuple[ToolSpec, ...], can_answer_text: bool, limit: int) -> dict[str, Any]:
    definitions: dict[str, Any] = {}
    answers = []
    for tool in tools:
        arguments, own = limit_schema(tool.input_schema, limit, f"{tool.name}.")
        definitions |= own
        answers.append(_object(tool={"const": tool.name}, arguments=arguments))
    if can_answer_text:
        text, _ = limit_schema({"type": "string"}, limit)
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


def _system(system: str | None, tools: tuple[ToolSpec, ...], can_answer_text: bool) -> str | None:
    if not tools:
        return system
    listed = "\n".join(f"- {_signature(tool)}: {tool.description}" for tool in tools)
    answer = 'Answer with one JSON object: {"tool": NAME, "arguments": {…}} calls a tool'
    speak = ', {"text": "…"} says something.' if can_answer_text else "."
    parts = (system, f"Tools:\n{listed}", answer + speak)
    return "\n\n".join(part for part in parts if part)


def _signature(tool: ToolSpec) -> str:
    """Write a tool as `read_file(path: string, line?: integer)`: small models read schemas badly."""
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


def _encode_messages(messages: Iterable[ChatMessage], as_json: bool) -> Iterator[ChatMessage]:
    """Convert each message to a text of the user or the assistant."""
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


def _merge_turns(messages: Iterable[ChatMessage]) -> Iterator[ChatMessage]:
    """Merge adjacent messages of one role: many models' templates require alternating roles."""
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
