"""What stands where no front end shows a view: text that does nothing to a terminal."""

from __future__ import annotations


def one_line(text: str, most: int) -> str:
    """A text as one line, without control codes.

    Args:
        text: Of anyone.
        most: Characters that it may have.
    """
    shown = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return shown if len(shown) <= most else f"{shown[: most - 1]}…"
