"""Names whose values are secrets, as `api_key` and `password`: their values are always masked."""

from __future__ import annotations

import re
from typing import Any, Final

from .value_children import computes_class

_CAMEL_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|-")
#: Names whose values are always masked, with all their contents.
_ALWAYS: Final = re.compile(r"secret|passw(or)?d|passphrase|credential|authorization")
#: Names that mask only text values: `token` may be a parser's object, `tokens` a number.
_TEXT: Final = re.compile(r"(^|_)(token|api_?key|private_key|access_key)s?$")
_KEY: Final = re.compile(r"_key$")
#: The least length of a text, in characters, that counts as a secret key and not as an identifier.
_MIN_KEY_CHARS: Final = 16

#: A secret name beside its value, as a repr or a line of code shows it.
_ASSIGNMENT: Final = re.compile(
    r"""(?P<name>\b\w*(?:(?:secret|passw(?:or)?d|passphrase|credential|authorization)\w*
                       |(?:api_?key|private_?key|access_?key|token)s?)
            ["']?\s*[:=]\s*[bru]{0,2})
        (?P<quote>["'])(?P<value>(?:(?!(?P=quote)).){1,2000}?)(?P=quote)""",
    re.IGNORECASE | re.VERBOSE,
)


def is_secret(name: str, value: Any) -> bool:
    """Whether a value is a secret, by its name.

    Args:
        name: The name of a variable, an attribute or a key.
        value: The value; a number, a truth value or a function is none.
    """
    if value is None or issubclass(type(value), int | float | complex) or callable(value):
        return False
    words = _CAMEL_HUMP.sub("_", name).lower()
    if _ALWAYS.search(words):
        return True
    length = _measure_text(value)
    if length is None:
        return False
    return bool(_TEXT.search(words) or (_KEY.search(words) and length >= _MIN_KEY_CHARS))


def _measure_text(value: Any) -> int | None:
    """The length of a text, by no code of the agent; None: it is none. A proxy may be a long one."""
    for kind in (str, bytes, bytearray):
        if issubclass(type(value), kind):
            return kind.__len__(value)
    return _MIN_KEY_CHARS if computes_class(value) else None


def make_mask(name: str) -> str:
    """The text that replaces a secret."""
    return f"[masked {name}]"


def mask_assignments(text: str) -> str:
    """A text in which values beside secret names are masked."""
    return _ASSIGNMENT.sub(_mask, text)


def _mask(found: re.Match[str]) -> str:
    if found["value"].startswith("[masked"):
        return found[0]
    return f"{found['name']}{found['quote']}[masked]{found['quote']}"
