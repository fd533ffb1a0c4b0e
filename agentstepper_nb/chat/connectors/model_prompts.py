"""Makes a model's prompt from a conversation, and parses tool calls that a model writes as JSON text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec
from msgspec import Struct

from ... import typed_json
from ...llm_wire.conversation import AssistantMessage, ChatMessage, ToolSpec, UserMessage
from ...protocol.chat import Message, MessageType
from .. import message_types
from ..roles import find_role

#: Characters of an earlier message that are told: results of calls may be long.
MAX_TEXT_CHARS: Final = 20_000

_SYSTEM: Final = (
    "You are {name}, an agent in a conversation with a person and, it may be, other agents. "
    "{instructions}\n\nWhat begins with a name in brackets was said by that agent, or is an account of "
    "what was done; the rest is the person's. Don't begin your own answers so."
)
_CUT_BEGINNING: Final = "[The conversation began earlier; this is its end.]"
#: The types of an agent's own messages; other types report actions.
_OWN_WORDS: Final = frozenset({MessageType.MESSAGE, MessageType.CODE, MessageType.CONFIRMATION})


def make_system_prompt(name: str, role_name: str) -> str:
    """Make the default system prompt.

    Args:
        name: The agent's name.
        role_name: The agent's role.
    """
    return _SYSTEM.format(name=name, instructions=find_role(role_name).instructions)


def make_model_messages(
    window: Sequence[Message], message: Message, name: str
) -> tuple[ChatMessage, ...]:
    """Convert a conversation to messages of a model's API.

    The messages begin with the user's, and roles alternate, as some models require.

    Args:
        window: The earlier messages, oldest first.
        message: The message to answer.
        name: The name of the answering agent.
    """
    told = [
        _make_model_message(each, name)
        for each in window
        if each.format != "error" or each.role != "system"
    ]
    last = UserMessage(content=f"{_by(message, name)}{message_types.format_message_text(message)}")
    turns = list(_joined([*told, last]))
    if isinstance(turns[0], AssistantMessage):
        turns.insert(0, UserMessage(content=_CUT_BEGINNING))
    return tuple(turns)


def _make_model_message(message: Message, name: str) -> UserMessage | AssistantMessage:
    text = shorten_text(message_types.format_message_text(message))
    own = message.role == "assistant" and message.agent_name == name
    if own and message.type in _OWN_WORDS:
        return AssistantMessage(content=text)
    if own:
        return UserMessage(content=f"[{name}, {message.type}] {text}")
    return UserMessage(content=f"{_by(message, name)}{text}")


def _by(message: Message, name: str) -> str:
    """Who says it; nothing where it is the person, to this agent."""
    match message.role:
        case "user":
            to = message.agent_name
            return "" if to in (None, name) else f"[to {to}] "
        case "system":
            return ""
        case "computer":
            return f"[{message.agent_name or 'computer'}, {message.type}] "
    return f"[{message.agent_name}] " if message.agent_name else ""


def _joined(
    messages: Iterable[UserMessage | AssistantMessage],
) -> Iterable[UserMessage | AssistantMessage]:
    """One message for several in a row of one side."""
    open_: UserMessage | AssistantMessage | None = None
    for message in messages:
        if not message.content.strip():
            continue
        if open_ is None:
            open_ = message
        elif isinstance(open_, AssistantMessage) and isinstance(message, AssistantMessage):
            open_ = AssistantMessage(content=f"{open_.content}\n\n{message.content}")
        elif isinstance(open_, UserMessage) and isinstance(message, UserMessage):
            open_ = UserMessage(content=f"{open_.content}\n\n{message.content}")
        else:
            yield open_
            open_ = message
    yield open_ or UserMessage(content="")


def shorten_text(text: str, max_chars: int = MAX_TEXT_CHARS) -> str:
    """Beginning and end of a text that is too long to be told."""
    if len(text) <= max_chars:
        return text
    half = max_chars // 2
    return f"{text[:half]}\n… ({len(text) - max_chars} characters left out) …\n{text[-half:]}"


# ---- tools by JSON in the model's text ----------------------------------------------------------------

#: The action that isn't a tool: its input is the final answer.
FINAL_ACTION: Final = "answer"

_INSTRUCTIONS: Final = """\
Answer with one JSON object and nothing beside it:

{"action": "NAME", "action_input": INPUT}

It names the next action. To say something to the person, and end with that, NAME is "answer" and \
INPUT a text. To use a tool, NAME is the tool's and INPUT an object by its schema; you are then told \
what came of it, and choose the next action."""
_PARSE_ERROR: Final = (
    "That can't be used: {why} Answer again, with one JSON object and nothing beside it: "
    '{{"action": "NAME", "action_input": INPUT}}.'
)
_FENCE: Final = re.compile(r"```[a-zA-Z]*\s*\n(.*?)```", re.DOTALL)


class StructuredAction(Struct, frozen=True):
    """An action that a model requests: a tool call, or the final answer."""

    action: str
    action_input: Any = None


class ActionError(ValueError):
    """A model's text has no valid action. The message is for the model."""


def make_tool_instructions(tools: Sequence[ToolSpec]) -> str:
    """Make the instructions by which a model writes tool calls as JSON.

    Args:
        tools: The tools.
    """
    if not tools:
        return f"{_INSTRUCTIONS}\n\nThere are no tools."
    listed = "\n".join(
        f"- {tool.name}: {tool.description or 'says nothing of itself'}\n"
        f"  schema: {msgspec.json.encode(tool.input_schema).decode()}"
        for tool in tools
    )
    return f"{_INSTRUCTIONS}\n\nThe tools:\n{listed}"


def parse_action(text: str) -> StructuredAction:
    """Find the action in a model's answer, which may have text around the JSON, or a code fence.

    Args:
        text: The answer.

    Raises:
        ActionError: The answer has no action, or several.
    """
    text = text.strip()
    between = text[text.find("{") : text.rfind("}") + 1]
    candidates = [text, *reversed([found.strip() for found in _FENCE.findall(text)]), between]
    why = "there is no JSON object in it."
    for candidate in candidates:
        if not candidate.startswith("{"):
            continue
        try:
            return typed_json.decode(candidate, StructuredAction)
        except (ValueError, RecursionError) as error:
            why = f"{error}."
    raise ActionError(why)


def format_answer(action: StructuredAction) -> str:
    """Return the text of a final answer."""
    value = action.action_input
    if isinstance(value, str):
        return value
    return "" if value is None else msgspec.json.encode(value).decode()


def format_parse_error(why: object) -> str:
    """Make the message to a model whose answer has no action."""
    return _PARSE_ERROR.format(why=why)


def format_observation(name: str, ok: bool, result: str) -> str:
    """Make the message with the result of an action."""
    return f"[{name} {'gave' if ok else 'failed'}] {result}"
