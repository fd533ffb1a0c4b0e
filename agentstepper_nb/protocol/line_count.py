"""The number of a text's lines, counted in the same way wherever a number of lines is shown."""

from __future__ import annotations


def count_lines(text: str) -> int:
    """The lines of a text; what stands after its last line end is one too."""
    return text.count("\n") + (not text.endswith("\n") and text != "")


def count_lines_with_prefix(text: str, prefix: str, excluded_prefix: str) -> int:
    """The lines of a text that begin with one mark and not with another.

    Args:
        text: The text.
        prefix: "+".
        excluded_prefix: A longer mark, "+++".
    """
    text = "\n" + text
    return text.count("\n" + prefix) - text.count("\n" + excluded_prefix)
