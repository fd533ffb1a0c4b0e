"""Names whose values are secrets: `api_key`, `password`. Their values are masked wherever they stand."""

from __future__ import annotations

import re
from typing import Any, Final

_CAMEL_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|-")
#: Whatever a value of such a name is, it is masked with all that it holds.
_ALWAYS: Final = re.compile(r"secret|passw(or)?d|passphrase|credential|authorization")
#: Of such a name only a text is: `token` may be a parser's, `tokens` a number.
_TEXT: Final = re.compile(r"(^|_)(token|api_?key|private_key|access_key)s?$")
_KEY: Final = re.compile(r"_key$")
#: What a text has to have to be a key that opens something, and no name of something, in characters.
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
        name: A variable's, an attribute's or a key's.
        value: The value; a number, a truth value or a function is none.
    """
    if value is None or isinstance(value, bool | int | float | complex) or callable(value):
        return False
    words = _CAMEL_HUMP.sub("_", name).lower()
    if _ALWAYS.search(words):
        return True
    if not isinstance(value, str | bytes | bytearray):
        return False
    return bool(_TEXT.search(words) or (_KEY.search(words) and len(value) >= _MIN_KEY_CHARS))


def make_mask(name: str) -> str:
    """What stands in a secret's place."""
    return f"[masked {name}]"


def mask_assignments(text: str) -> str:
    """A text in which values beside secret names are masked."""
    return _ASSIGNMENT.sub(_mask, text)


def _mask(found: re.Match[str]) -> str:
    if found["value"].startswith("[masked"):
        return found[0]
    return f"{found['name']}{found['quote']}[masked]{found['quote']}"
