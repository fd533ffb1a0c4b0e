"""What goes wrong with conditions."""

from __future__ import annotations


class ConditionError(Exception):
    """A condition can't be read, or has no value at a breakpoint: the text says why, to a person.

    Args:
        message: The text.
        column: Where in the condition, from 0; None where it is about all of it.
    """

    def __init__(self, message: str, column: int | None = None) -> None:
        super().__init__(message)
        self.column = column
