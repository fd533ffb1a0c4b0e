"""Texts of errors, as they are kept."""

from __future__ import annotations

from typing import Final

#: Characters of an error that are kept.
MOST_ERROR: Final = 10_000


def kept(text: str) -> str:
    """An error that can be kept: without half characters, which no JSON has, and not endless.

    Args:
        text: As it was raised: it must never be why its action, or its step, can't be kept.
    """
    plain = text.encode(errors="replace").decode()
    return plain if len(plain) <= MOST_ERROR else f"{plain[:MOST_ERROR]}…"
