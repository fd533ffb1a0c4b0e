"""What goes wrong with conditions."""

from __future__ import annotations


class ConditionError(Exception):
    """A condition can't be read, or has no value at a breakpoint: the text says why, to a person."""
