"""How many lines a text has: counted in one way, wherever a number of lines is shown."""

from __future__ import annotations


def count_lines(text: str) -> int:
    """The lines of a text; what stands after its last line end is one too."""
    return text.count("\n") + (not text.endswith("\n") and text != "")


def count_lines_with_prefix(text: str, mark: str, but: str) -> int:
    """The lines of a text that begin with one mark and not with another.

    Args:
        text: The text.
        mark: "+".
        but: A longer mark, "+++".
    """
    text = "\n" + text
    return text.count("\n" + mark) - text.count("\n" + but)
