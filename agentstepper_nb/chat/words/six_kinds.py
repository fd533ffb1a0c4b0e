"""The six types of messages that come with the package."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from ...protocol.chat import Message, MessageType
from ...protocol.pictures import MEDIA_TYPES, sniff

#: The choices that a CONFIRMATION may have, and the characters of each.
CHOICES_LIMIT: Final = 20
CHOICE_LENGTH: Final = 1000

_CODE_FORMATS: Final = ("source", "result")
_TICKS: Final = re.compile(r"`{3,}")


class Form(NamedTuple):
    """What one type asks for; see `kinds.Kind`."""

    name: str
    check: Callable[[Message], str | None]
    as_text: Callable[[Message], str]
    fields: frozenset[str] = frozenset()


def completed(message: Message) -> Message:
    """A checked message, with what its own bytes say of it."""
    if message.data is not None:
        return replace(message, media_type=sniff(message.data))
    return message


def _check_message(message: Message) -> str | None:
    if message.format not in (None, "error"):
        return "format: it is `error`, or there is none"
    return None


def _check_code(message: Message) -> str | None:
    if not (message.language or "").strip():
        return "language: say which one it is, `text` where it is none"
    if message.format not in _CODE_FORMATS:
        return "format: say whether it is `source` or `result`"
    if message.path is not None and message.content:
        return "path: it has a file or a content, not both"
    return None


def _check_console(message: Message) -> str | None:
    return None


def _check_image(message: Message) -> str | None:
    if (message.data is None) == (not message.path):
        return "data: give the bytes of the picture, or the path of one"
    if message.media_type is not None and message.media_type not in MEDIA_TYPES:
        return f"media_type: it is one of {', '.join(sorted(MEDIA_TYPES))}"
    if message.data is not None:
        media_type = sniff(message.data)
        if media_type is None:
            return "data: by its first bytes it is no PNG, JPEG, GIF or WebP"
        if message.media_type not in (None, media_type):
            return f"media_type: by its first bytes the picture is {media_type}"
    return None


def _check_confirmation(message: Message) -> str | None:
    choices = message.choices
    if not message.content.strip():
        return "content: say what is asked"
    if not 1 <= len(choices) <= CHOICES_LIMIT:
        return f"choices: give 1 to {CHOICES_LIMIT}"
    if len(set(choices)) < len(choices):
        return "choices: each has to be another"
    if not all(each.strip() and len(each) <= CHOICE_LENGTH for each in choices):
        return f"choices: each has 1 to {CHOICE_LENGTH} characters"
    if message.chosen is not None and message.chosen not in choices:
        return "chosen: it is one of the choices"
    if message.chosen is not None and not message.final:
        return "chosen: what was chosen is final"
    return None


def _check_function(message: Message) -> str | None:
    if not (message.name or "").strip():
        return "name: say what is called"
    if message.arguments is None and message.ok is None:
        return "arguments: give them, `{}` where there are none, or a result"
    if message.result is not None and message.ok is None:
        return "ok: say whether the call went well"
    return None


def _content(message: Message) -> str:
    return message.content


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


SIX: Final = (
    Form(MessageType.MESSAGE.value, _check_message, _content, frozenset({"format"})),
    Form(
        MessageType.CODE.value,
        _check_code,
        _code_text,
        frozenset({"format", "language", "path"}),
    ),
    Form(
        MessageType.CONFIRMATION.value,
        _check_confirmation,
        _confirmation_text,
        frozenset({"choices", "chosen"}),
    ),
    Form(MessageType.CONSOLE.value, _check_console, _content),
    Form(
        MessageType.IMAGE.value,
        _check_image,
        _image_text,
        frozenset({"media_type", "data", "path"}),
    ),
    Form(
        MessageType.FUNCTION.value,
        _check_function,
        _function_text,
        frozenset({"call_id", "name", "arguments", "result", "ok"}),
    ),
)
