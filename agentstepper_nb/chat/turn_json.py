"""A turn as a person sees it in the debugger, and what the person made of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from .. import typed_json
from ..errors import ProtocolError
from ..protocol.chat import Message, MessageType
from . import message_types
from .connector import Handoff

#: The fields of a message that a person can't edit.
_OWN: Final = ("id", "session_id", "created_at", "final", "data")
_BLANK: Final = Message(id="-", session_id="-", role="assistant", created_at=0)
#: The field that shows a message's bytes in the debugger, in place of the bytes.
_BYTES: Final = "bytes"
_HANDOFF_KEY: Final = "hand_on"

#: Characters that the messages of one value in the debugger have together, and one of them at most.
_MAX_TOTAL_CHARS: Final = 4_000_000
_MAX_VALUE_CHARS: Final = 200_000
_VALUES: Final = ("arguments", "result", "details")

#: Makes a message that hasn't been said yet: the fields that aren't a person's to edit.
MakeMessage = Callable[[], Message]


@dataclass(frozen=True)
class TurnInput:
    """The input of an agent in a turn.

    Args:
        message: The message to answer.
        window: The earlier messages.
    """

    message: Message
    window: tuple[Message, ...]


@dataclass(frozen=True)
class AgentAnswer:
    """The output of an agent in a turn.

    Args:
        messages: The agent's messages.
        handoff: The handoff to the next agent, if any.
    """

    messages: tuple[Message, ...]
    handoff: Handoff | None = None


def encode_turn_input(turn_input: TurnInput) -> dict[str, Any]:
    """Encode an agent's input as the arguments of its event. The window's messages have their ids."""
    room = _limit_per_message(turn_input.window)
    window = [{"id": each.id, **_as_json(each, room)} for each in turn_input.window]
    return {"message": _as_json(turn_input.message, _MAX_VALUE_CHARS), "window": window}


def decode_turn_input(value: Any, original: TurnInput) -> TurnInput:
    """Decode an agent's input that a person edited in the debugger.

    A message of the window is identified by its id. A message with another id, or none, is new; it is
    used in this turn only, and isn't added to the conversation.

    Args:
        value: The edited JSON value.
        original: The original input.

    Raises:
        ProtocolError: The value can't be used; the message has the reason.
    """
    if not isinstance(value, dict) or set(value) - {"message", "window"} or "message" not in value:
        raise _unusable("arguments", 'the turn must be {"message": {…}, "window": [{…}]}')
    known, room = {each.id: each for each in original.window}, _limit_per_message(original.window)
    window: list[Message] = []
    for item in _listed("arguments", value.get("window", [])):
        item = dict(item) if isinstance(item, dict) else {"content": item}
        was = known.get(str(item.pop("id", None)))
        window.append(_from_json("arguments", item, was or _anonymous(original, len(window)), room))
    return TurnInput(
        _from_json("arguments", value["message"], original.message, _MAX_VALUE_CHARS), tuple(window)
    )


def encode_agent_answer(part: AgentAnswer) -> list[dict[str, Any]]:
    """Encode an agent's output as the result of its event."""
    room = _limit_per_message(part.messages)
    shown = [_as_json(each, room) for each in part.messages]
    if part.handoff is not None:
        told = {} if part.handoff.text is None else {"text": part.handoff.text}
        shown.append({_HANDOFF_KEY: part.handoff.agent_name, **told})
    return shown


def decode_agent_answer(value: Any, part: AgentAnswer, make_message: MakeMessage) -> AgentAnswer:
    """Decode an agent's output that a person edited or supplied: messages, one message, or a text.

    Args:
        value: The JSON value.
        part: The original output. A message replaces the original message at its position.
        make_message: Makes a new message.

    Raises:
        ProtocolError: The value can't be used; the message has the reason.
    """
    items = list(_listed("result", value))
    handoff = None
    if items and isinstance(items[-1], dict) and _HANDOFF_KEY in items[-1]:
        handoff = _decode_handoff(items.pop())
    room = _limit_per_message(part.messages)
    messages: list[Message] = []
    for number, item in enumerate(items):
        was = part.messages[number] if number < len(part.messages) else make_message()
        messages.append(_from_json("result", item, was, room))
    return AgentAnswer(tuple(messages), handoff)


def _limit_per_message(messages: Sequence[Message]) -> int:
    """How much of each message is shown where there are so many."""
    return min(_MAX_VALUE_CHARS, _MAX_TOTAL_CHARS // max(1, len(messages)))


def _as_json(message: Message, room: int) -> dict[str, Any]:
    """A message as it is shown, with what is too long for the debugger cut."""
    shown: dict[str, Any] = {"role": message.role, "type": message.type}
    shown["content"] = _cut(message.content, room)
    for field in Message.__struct_fields__:
        value = getattr(message, field)
        if field in _OWN or field in shown or value == getattr(_BLANK, field):
            continue
        if field in _VALUES and len(text := msgspec.json.encode(value)) > room:
            value = _cut(text.decode(), room)
        shown[field] = list(value) if isinstance(value, tuple) else value
    if message.data is not None:
        shown[_BYTES] = len(message.data)
    return shown


def _from_json(what: str, value: Any, was: Message, room: int) -> Message:
    """A message as a person left or made it: what is as it was shown is as it was."""
    shown = _as_json(was, room)
    if value == shown:
        return was
    if isinstance(value, str):
        value = {"content": value}
    if not isinstance(value, dict):
        raise _unusable(what, "a message is a text, or has a content")
    fields = {"role": was.role, **value}
    unknown = set(fields) - set(Message.__struct_fields__) - {_BYTES} | set(fields) & set(_OWN)
    if unknown:
        raise _unusable(what, f"a message has no {', '.join(sorted(map(str, unknown)))} to set")
    data = was.data if fields.pop(_BYTES, None) is not None else None
    for field in set(fields) & set(shown):
        if fields[field] == shown[field]:
            fields[field] = getattr(was, field)
    own = {name: getattr(was, name) for name in ("id", "session_id", "created_at")}
    try:
        message = typed_json.convert({**fields, **own}, Message)
        return message_types.check_message(replace(message, data=data, final=True))
    except (msgspec.ValidationError, ProtocolError) as error:
        raise _unusable(what, str(error)) from None


def _cut(text: str, room: int) -> str:
    return text if len(text) <= room else f"{text[:room]}… ({len(text) - room} characters more)"


def _decode_handoff(item: dict[str, Any]) -> Handoff:
    name, text = item[_HANDOFF_KEY], item.get("text")
    if not isinstance(name, str) or not (text is None or isinstance(text, str)):
        raise _unusable(
            "result",
            f'a hand-on must be {{"{_HANDOFF_KEY}": "agent", "text": "message for that agent"}}',
        )
    return Handoff(name, text)


def _listed(what: str, value: Any) -> Sequence[Any]:
    if value is None:
        return []
    if isinstance(value, str | dict):
        return [value]
    if not isinstance(value, list):
        raise _unusable(what, "write a list of messages, or a text")
    return value


def _anonymous(original: TurnInput, number: int) -> Message:
    return Message(
        id=f"{original.message.id}:{number}",
        session_id=original.message.session_id,
        role="user",
        type=MessageType.MESSAGE.value,
        created_at=original.message.created_at,
    )


def _unusable(what: str, why: str) -> ProtocolError:
    return ProtocolError("invalid_message", f"The edited {what} of the turn can't be used: {why}.")
