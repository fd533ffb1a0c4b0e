"""What stands where no front end shows a view: text that does nothing to a terminal."""

from __future__ import annotations

from ..protocol.text_escaping import escape_invisible


def to_one_line(text: str, max_chars: int) -> str:
    """A text as one line, without characters that nobody sees.

    Args:
        text: Of anyone.
        max_chars: Characters that it may have.
    """
    line = " ".join(escape_invisible(text, lambda _: " ").split())
    return line if len(line) <= max_chars else f"{line[: max_chars - 1]}…"
