"""What stands where no front end shows a view: text that does nothing to a terminal."""

from __future__ import annotations

from ..protocol.visible_text import escape_hidden


def to_one_line(text: str, most: int) -> str:
    """A text as one line, without characters that nobody sees.

    Args:
        text: Of anyone.
        most: Characters that it may have.
    """
    line = " ".join(escape_hidden(text, lambda _: " ").split())
    return line if len(line) <= most else f"{line[: most - 1]}…"
