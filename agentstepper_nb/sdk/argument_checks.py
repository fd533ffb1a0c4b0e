"""Arguments of the wrong type are refused by name, before anything of them is sent."""

from __future__ import annotations

import os
from typing import Final

#: The most characters of a run's notice; `protocol.field_types.Name`'s.
MAX_NOTICE_CHARS: Final = 1000


def check_text(what: str, value: object) -> None:
    """Refuse an argument that must be a text.

    Args:
        what: The argument, as the caller knows it.
        value: The argument's value.

    Raises:
        TypeError: The value is no text.
    """
    if not isinstance(value, str):
        raise TypeError(f"{what} must be a text (str), not {_named(value)}.")


def check_notice(value: object) -> None:
    """Refuse a notice that is no text, or longer than the wire takes.

    Args:
        value: The value of `notice`.

    Raises:
        TypeError: The value is no text.
        ValueError: The text is too long.
    """
    check_text("notice", value)
    assert isinstance(value, str)
    if len(value) > MAX_NOTICE_CHARS:
        raise ValueError(
            f"notice has {len(value):,} characters, and {MAX_NOTICE_CHARS:,} are the "
            "limit. Shorten the notice."
        )


def check_optional_text(what: str, value: object) -> None:
    """Check an optional argument as `check_text` does; None is valid."""
    if value is not None:
        check_text(what, value)


def check_optional_bool(what: str, value: object) -> None:
    """Refuse a value that is neither a truth value nor None.

    Raises:
        TypeError: The value is neither.
    """
    if value is not None and not isinstance(value, bool):
        raise TypeError(f"{what} must be True, False or None, not {_named(value)}.")


def check_folder(what: str, value: object) -> None:
    """Refuse a value that is neither a path nor None.

    Raises:
        TypeError: The value is neither.
    """
    if value is not None and not isinstance(value, str | os.PathLike):
        raise TypeError(f"{what} must be a folder's path (str or Path), not {_named(value)}.")


def check_port(what: str, value: object) -> None:
    """Refuse a value that is neither a port nor None.

    Raises:
        TypeError: The value is no number.
        ValueError: No port has this number.
    """
    if value is None:
        return
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{what} must be a number (int), not {_named(value)}.")
    if not 0 < value <= 65535:
        raise ValueError(f"{what}={value} isn't a port. Use a number from 1 to 65535.")


def _named(value: object) -> str:
    shown = repr(value)
    shown = shown if len(shown) <= 80 else f"{shown[:80]}…"
    return f"{shown} ({type(value).__name__})"


def check_choice(name: str, word: str, known: tuple[str, ...]) -> None:
    """Refuse a word that isn't one of the allowed words.

    Raises:
        ValueError: The word isn't allowed.
    """
    if word not in known:
        raise ValueError(
            f"{name}={word!r} isn't allowed. Use one of {', '.join(map(repr, known))}."
        )
