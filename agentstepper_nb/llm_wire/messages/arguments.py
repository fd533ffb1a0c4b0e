"""A call's arguments, which this API knows as an object alone: never as the text a model wrote."""

from __future__ import annotations

from typing import Any, Final

import msgspec

#: Holds a text that is no object: malformed JSON, say.
_MALFORMED: Final = "malformed_arguments"


def to_input(args_json: str) -> msgspec.Raw:
    """Give arguments as an object, to the letter where they are one."""
    parsed = _parsed(args_json)
    if not isinstance(parsed, dict) or _wrapped(parsed) is not None:
        return msgspec.Raw(msgspec.json.encode({_MALFORMED: args_json}))
    return msgspec.Raw(args_json.encode())


def from_input(value: msgspec.Raw) -> str:
    """Give an object as the text it stands for; what isn't one, which servers send, is text already."""
    written = bytes(value).decode()
    parsed = _parsed(written)
    if isinstance(parsed, str):
        return parsed
    text = _wrapped(parsed)
    return written if text is None else text


def _wrapped(parsed: Any) -> str | None:
    """The text that an object holds for `to_input`; None where it is one of its own."""
    if not isinstance(parsed, dict) or parsed.keys() != {_MALFORMED}:
        return None
    text = parsed[_MALFORMED]
    return text if isinstance(text, str) else None


def _parsed(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (ValueError, RecursionError):
        return None
