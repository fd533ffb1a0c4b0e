"""The words of a magic's line."""

from __future__ import annotations

import shlex

from IPython.core.error import UsageError


def split_line(line: str) -> list[str]:
    """Split a line at its spaces; quotes keep the words of a name together.

    Raises:
        UsageError: A quote isn't closed.
    """
    try:
        return shlex.split(line)
    except ValueError as error:
        raise UsageError(
            f"The line can't be split into words ({error}). Put a name with an apostrophe in "
            "double quotes."
        ) from None
