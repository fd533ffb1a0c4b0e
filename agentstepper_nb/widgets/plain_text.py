"""Plain text for front ends without the views, safe for a terminal."""

from __future__ import annotations

from ..protocol.text_escaping import escape_invisible


def to_one_line(text: str, max_chars: int) -> str:
    """Convert a text to one line, without invisible characters.

    Args:
        text: The text, which isn't trusted.
        max_chars: The most characters of the line.
    """
    line = " ".join(escape_invisible(text, lambda _: " ").split())
    return line if len(line) <= max_chars else f"{line[: max_chars - 1]}…"
