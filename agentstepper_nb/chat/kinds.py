"""The types of messages: which fields each needs, what it is shown as where it isn't known, its text.

A type is an entry of a registry, so that an extension adds one. A word that isn't there is refused, in
what agents say as in what comes from outside; no type stands in for it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from ..errors import ProtocolError
from ..protocol.chat import Message
from .words import six_kinds
from .words.registry import Registry
from .words.well_formed import well_formed

#: The fields that messages of every type may have.
COMMON: Final = frozenset(
    {
        *("id", "session_id", "role", "type", "content"),
        *("agent_name", "created_at", "final", "details"),
    }
)
_BLANK: Final = Message(id="-", session_id="-", role="user", created_at=0)


@dataclass(frozen=True)
class Kind:
    """A type of messages.

    Args:
        name: Its word.
        check: Given a message of the type whose fields are well-formed: what is wrong with it, beginning
            with the field and a colon, as “choices: there are none”; None: nothing.
        shown: Makes a message of a built-in type of one of this, for backends that don't know this one.
            Those of built-in types are shown as they are.
        as_text: A message as text, for terminals and for models that are given the conversation.
        fields: Which fields it may have beside the common ones; no message has any others.
    """

    name: str
    check: Callable[[Message], str | None]
    shown: Callable[[Message], Message]
    as_text: Callable[[Message], str]
    fields: frozenset[str] = frozenset()


kinds: Final = Registry(
    "message type",
    "type",
    tuple(
        Kind(
            name=each.name,
            check=each.check,
            shown=lambda message: message,
            as_text=each.as_text,
            fields=each.fields,
        )
        for each in six_kinds.SIX
    ),
)


def add_kind(kind: Kind) -> None:
    """Add a type to those that messages may have.

    Args:
        kind: The type. One of this name that was added before is replaced.

    Raises:
        ValueError: Its name is no word of capitals, digits and underscores, or is a built-in type's; or
            it names a field that messages don't have.
    """
    unknown = kind.fields - set(Message.__struct_fields__)
    if unknown:
        raise ValueError(
            f"Messages have no {', '.join(sorted(unknown))}: put what else {kind.name} needs in "
            "`details`."
        )
    kinds.add(kind)


def kind(word: str) -> Kind:
    """The type of a word.

    Args:
        word: As a message has it.

    Raises:
        ProtocolError: `invalid_message`: there is none, which says those that there are.
    """
    return kinds.get(word)


def check(message: Message) -> Message:
    """Refuse a message that isn't one: its fields, their sizes, and what its type asks for.

    Args:
        message: As it is so far; nothing of it is relied on.

    Returns:
        The same, with values as JSON has them, and of an IMAGE the media type that its bytes have.

    Raises:
        ProtocolError: `invalid_message`, with the field.
    """
    checked = six_kinds.completed(_checked(message))
    if checked.type not in kinds.built_in:
        # Else a backend that doesn't know the type would have nothing to show, nor a model to read.
        _checked(_built_in(checked))
        as_text(checked)
    return checked


def shown(message: Message) -> Message:
    """A message as a backend shows it that knows the built-in types alone.

    Args:
        message: One that was checked.

    Raises:
        ProtocolError: `invalid_message`: its type isn't there, or its extension fails.
    """
    return message if message.type in kinds.built_in else _built_in(message)


def as_text(message: Message) -> str:
    """A message as text: for terminals, which show it inert, and for models.

    Args:
        message: One that was checked.

    Raises:
        ProtocolError: `invalid_message`: its type isn't there, or its extension fails.
    """
    own = kinds.get(message.type)
    text = _asked(own, own.as_text, message)
    if not isinstance(text, str):
        raise _refused(own.name, f"as_text gave {type(text).__name__}, not a text")
    return text


def _checked(message: Message) -> Message:
    checked = well_formed(message)
    own = kinds.get(checked.type)
    for field in Message.__struct_fields__:
        if field not in COMMON | own.fields and getattr(checked, field) != getattr(_BLANK, field):
            raise _refused(own.name, f"{field}: no message of this type has one")
    wrong = _asked(own, own.check, checked)
    if wrong is not None:
        raise _refused(own.name, str(wrong))
    return checked


def _built_in(message: Message) -> Message:
    own = kinds.get(message.type)
    made = _asked(own, own.shown, message)
    if not isinstance(made, Message) or made.type not in kinds.built_in or made.id != message.id:
        raise _refused(own.name, "type: it isn't shown as a built-in one, or not under its id")
    return made


def _asked(own: Kind, ask: Callable[[Message], object], message: Message) -> object:
    """What an extension says, which needn't be what it should."""
    try:
        return ask(message)
    except ProtocolError:
        raise
    except Exception as error:  # whatever an extension does with what an agent said
        text = f"its extension failed: {type(error).__name__}: {error!s:.200}"
        raise _refused(own.name, text) from error


def _refused(word: str, text: str) -> ProtocolError:
    field = text.partition(":")[0]
    named = field if field in Message.__struct_fields__ else None
    return ProtocolError("invalid_message", f"{word}, {text}.", field=named)
