"""The registry of message types: the fields of each type, its fallback for views, and its text.

Extensions add types to the registry. A message of an unknown type is refused, whether an agent or a
client sent the message.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from .. import typed_json
from ..errors import ProtocolError
from ..protocol.chat import Message, MessageType
from ..protocol.field_errors import make_field_error
from ..protocol.image_types import MAX_IMAGE_BYTES, MEDIA_TYPES, detect_image_type
from ..protocol.text_escaping import replace_surrogates
from .extension_registry import ExtensionRegistry

#: The fields that messages of every type may have.
COMMON_FIELDS: Final = frozenset(
    ["id", "session_id", "role", "type", "content", "agent_name", "created_at", "final", "details"]
)
_BLANK: Final = Message(id="-", session_id="-", role="user", created_at=0)

_get_content: Final = attrgetter("content")
#: The most choices of a CONFIRMATION, and the most characters of each choice.
MAX_CHOICES: Final = 20
MAX_CHOICE_CHARS: Final = 1000

_TICKS: Final = re.compile(r"`{3,}")
#: The most characters of a message's content.
MAX_CONTENT_CHARS: Final = 1_000_000
#: The most bytes, as JSON, of a call's arguments, of a call's result, and of details.
MAX_VALUE_CHARS: Final = 1_000_000
#: The deepest nesting of these values.
MAX_DEPTH: Final = 64

#: The maximum length of the other fields.
_MAX_FIELD_CHARS: Final = {
    "content": MAX_CONTENT_CHARS,
    "data": MAX_IMAGE_BYTES,
    "path": 4096,
    "language": 100,
    "format": 100,
    "media_type": 100,
    "call_id": 200,
    "name": 1000,
    "chosen": 1000,
}
_VALUES: Final = ("arguments", "result", "details")
# Python itself writes no longer numbers.
_MAX_INTEGER_BITS: Final = 10_000
_TOO_DEEP: Final = f"The value is nested deeper than {MAX_DEPTH} levels"


@dataclass(frozen=True)
class MessageTypeSpec:
    """A type of messages.

    Args:
        name: The type's name in messages.
        check: A function that validates a message whose fields are well-formed. It returns None for a
            valid message, else an error that begins with the field and a colon, such as
            “choices: there are none”.
        to_displayed: A function that converts a message to a built-in type, for backends that don't know
            this type. Built-in types return the message itself.
        as_text: A function that formats a message as text, for terminals and for a model's prompt.
        fields: The fields that messages of the type may have besides `COMMON_FIELDS`.
    """

    name: str
    check: Callable[[Message], str | None]
    to_displayed: Callable[[Message], Message]
    as_text: Callable[[Message], str]
    fields: frozenset[str] = frozenset()


def add_message_type(kind: MessageTypeSpec) -> None:
    """Register a message type.

    Args:
        kind: The type. A type of the same name that was added before is replaced.

    Raises:
        ValueError: The type's name isn't made of capitals, digits and underscores, or is the name of a
            built-in type; or the type has a field that messages don't have.
    """
    unknown = kind.fields - set(Message.__struct_fields__)
    if unknown:
        raise ValueError(
            f"A message has no {', '.join(sorted(unknown))}: put other data of {kind.name} "
            "into `details`."
        )
    type_registry.add(kind)


def find_message_type(name: str) -> MessageTypeSpec:
    """Return the message type of a name.

    Args:
        name: The name, as in `Message.type`.

    Raises:
        ProtocolError: `invalid_message`: no type has this name. The message lists the known types.
    """
    return type_registry.get(name)


def check_message(message: Message) -> Message:
    """Validate a message: the types and sizes of its fields, and the rules of its message type.

    Args:
        message: The message, which may have values of any type.

    Returns:
        The message with its values converted to JSON's types. An IMAGE has the media type that its bytes
        show.

    Raises:
        ProtocolError: `invalid_message`, with the invalid field.
    """
    checked = _checked(message)
    if checked.data is not None:
        checked = replace(checked, media_type=detect_image_type(checked.data))
    if checked.type not in type_registry.built_in:
        # Else a backend that doesn't know the type would have nothing to show, nor a model to read.
        _checked(_built_in(checked))
        format_message_text(checked)
    return checked


def to_displayed_message(message: Message) -> Message:
    """Convert a message to a built-in type, for backends that know only those.

    Args:
        message: A message that `check_message` has validated.

    Raises:
        ProtocolError: `invalid_message`: the message's type is unknown, or the type's extension fails.
    """
    return message if message.type in type_registry.built_in else _built_in(message)


def format_message_text(message: Message) -> str:
    """Format a message as text, for terminals and for a model's prompt.

    The text may contain control sequences of terminals; a terminal must escape them.

    Args:
        message: A message that `check_message` has validated.

    Raises:
        ProtocolError: `invalid_message`: the message's type is unknown, or the type's extension fails.
    """
    own = type_registry.get(message.type)
    text = _call_extension(own, own.as_text, message)
    if not isinstance(text, str):
        raise _refused(own.name, f"as_text gave {type(text).__name__}, not a text")
    return text


def _checked(message: Message) -> Message:
    checked = check_message_fields(message)
    own = type_registry.get(checked.type)
    for field in Message.__struct_fields__:
        is_set = getattr(checked, field) != getattr(_BLANK, field)
        if is_set and field not in COMMON_FIELDS | own.fields:
            raise _refused(own.name, f"{field}: no message of this type has this field")
    wrong = _call_extension(own, own.check, checked)
    if wrong is not None:
        raise _refused(own.name, str(wrong))
    return checked


def _built_in(message: Message) -> Message:
    own = type_registry.get(message.type)
    made = _call_extension(own, own.to_displayed, message)
    if isinstance(made, Message) and made.type in type_registry.built_in and made.id == message.id:
        return made
    text = "type: the extension must return a message of a built-in type, under the same id"
    raise _refused(own.name, text)


def _call_extension(
    own: MessageTypeSpec, ask: Callable[[Message], object], message: Message
) -> object:
    """Call a function of an extension, and convert its errors to `ProtocolError`."""
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


# ---- the types that come with the package -------------------------------------------------------------


def _check_message(message: Message) -> str | None:
    if message.format not in (None, "error"):
        return "format: must be `error` or be left out"
    return None


def _check_code(message: Message) -> str | None:
    if not (message.language or "").strip():
        return "language: name the language, or `text` for none"
    if message.format not in ("source", "result"):
        return "format: must be `source` or `result`"
    if message.path is not None and message.content:
        return "path: a message has a file or a content, not both"
    return None


def _check_image(message: Message) -> str | None:
    if (message.data is None) == (not message.path):
        return "data: give the picture's bytes, or its path"
    if message.media_type is not None and message.media_type not in MEDIA_TYPES:
        return f"media_type: must be one of {', '.join(sorted(MEDIA_TYPES))}"
    if message.data is not None:
        media_type = detect_image_type(message.data)
        if media_type is None:
            return "data: the bytes aren't PNG, JPEG, GIF or WebP"
        if message.media_type not in (None, media_type):
            return f"media_type: the bytes are {media_type}"
    return None


def _check_confirmation(message: Message) -> str | None:
    choices = message.choices
    if not message.content.strip():
        return "content: give the question"
    if not 1 <= len(choices) <= MAX_CHOICES:
        return f"choices: give 1 to {MAX_CHOICES}"
    if len(set(choices)) < len(choices):
        return "choices: each must be different"
    if not all(each.strip() and len(each) <= MAX_CHOICE_CHARS for each in choices):
        return f"choices: each must have 1 to {MAX_CHOICE_CHARS} characters"
    if message.chosen is not None and message.chosen not in choices:
        return "chosen: must be one of the choices"
    if message.chosen is not None and not message.final:
        return "chosen: can't be changed once set"
    return None


def _check_function(message: Message) -> str | None:
    if not (message.name or "").strip():
        return "name: give the name of the tool"
    if message.arguments is None and message.ok is None:
        return "arguments: give the arguments (`{}` for none), or a result"
    if message.result is not None and message.ok is None:
        return "ok: say whether the call succeeded"
    return None


def _code_text(message: Message) -> str:
    if message.path is not None:
        return f"[{message.language} code in {message.path}]"
    longest = max((len(found[0]) for found in _TICKS.finditer(message.content)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{message.language}\n{message.content.rstrip()}\n{fence}"


def _image_text(message: Message) -> str:
    where = message.path or f"{message.media_type}, {len(message.data or b'')} bytes"
    return f"[image: {message.content or 'without a description'} ({where})]"


def _confirmation_text(message: Message) -> str:
    asked = f"{message.content}\n[{' / '.join(message.choices)}]"
    if not message.final:
        return asked
    return f"{asked}\n→ {'withdrawn' if message.chosen is None else message.chosen}"


def _function_text(message: Message) -> str:
    called = f"{message.name}({'' if message.arguments is None else _json(message.arguments)})"
    if message.ok is None:
        return called
    return f"{called}\n→ {'' if message.ok else 'failed: '}{_json(message.result)}"


def _json(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _built(
    name: MessageType,
    check: Callable[[Message], str | None],
    as_text: Callable[[Message], str],
    *fields: str,
) -> MessageTypeSpec:
    """Make a built-in type, whose messages are shown unchanged."""
    return MessageTypeSpec(name.value, check, lambda message: message, as_text, frozenset(fields))


type_registry: Final = ExtensionRegistry(
    "message type",
    "type",
    (
        _built(MessageType.MESSAGE, _check_message, _get_content, "format"),
        _built(MessageType.CODE, _check_code, _code_text, "format", "language", "path"),
        _built(
            MessageType.CONFIRMATION, _check_confirmation, _confirmation_text, "choices", "chosen"
        ),
        _built(MessageType.CONSOLE, lambda message: None, _get_content),
        _built(MessageType.IMAGE, _check_image, _image_text, "media_type", "data", "path"),
        _built(
            MessageType.FUNCTION,
            _check_function,
            _function_text,
            *("call_id", "name", "arguments", "result", "ok"),
        ),
    ),
)


# ---- the form of any message --------------------------------------------------------------------------


def check_message_fields(message: Message) -> Message:
    """Validate each field of a message by itself, without the rules of its message type.

    Args:
        message: The message, which may have values of any type.

    Returns:
        The message with its values converted to JSON's types: a set becomes a list, an infinite number
        or NaN becomes null, and lone surrogates in text are replaced.

    Raises:
        ProtocolError: `invalid_message`, with the invalid field.
    """
    try:
        given = msgspec.to_builtins(message, builtin_types=(bytes,), str_keys=True)
    except RecursionError:
        raise _malformed(None, _TOO_DEEP) from None
    except (TypeError, ValueError) as error:
        raise _malformed(None, f"The message contains what JSON can't carry: {error}") from None
    fields = {name: _normalize_value(name, value) for name, value in given.items()}
    try:
        made = typed_json.convert(fields, Message)
    except msgspec.ValidationError as error:
        raise make_field_error(error) from None
    _check_sizes(made)
    return made


def _normalize_value(field: str, value: Any, depth: int = 0) -> Any:
    """Convert a value of Python's built-in types to JSON's types."""
    if depth > MAX_DEPTH:
        raise _malformed(field, _TOO_DEEP)
    match value:
        case str():
            return replace_surrogates(value)
        case dict():
            items = ((replace_surrogates(key), of) for key, of in value.items())
            return {key: _normalize_value(field, of, depth + 1) for key, of in items}
        case list() | tuple():
            return [_normalize_value(field, each, depth + 1) for each in value]
        case float() if not math.isfinite(value):
            return None
        case int() if value.bit_length() > _MAX_INTEGER_BITS:
            raise _malformed(
                field, f"The value contains a number of more than {_MAX_INTEGER_BITS} bits"
            )
        case bytes() if depth or field != "data":
            raise _malformed(field, "The value contains bytes, which JSON can't carry")
    return value


def _check_sizes(message: Message) -> None:
    for field, limit in _MAX_FIELD_CHARS.items():
        value = getattr(message, field)
        if value is not None and len(value) > limit:
            raise _malformed(field, f"The value is larger than {limit}")
    for field in _VALUES:
        value = getattr(message, field)
        if value is not None and len(msgspec.json.encode(value)) > MAX_VALUE_CHARS:
            raise _malformed(field, f"The value as JSON is larger than {MAX_VALUE_CHARS} bytes")


def _malformed(field: str | None, what: str) -> ProtocolError:
    return ProtocolError("invalid_message", f"{field}: {what}." if field else f"{what}.", field)
