"""The inputs, limits and errors of one evaluation of a condition."""

from __future__ import annotations

from typing import Any, Final

from .condition_variables import ConditionVariables


class ConditionError(Exception):
    """Raised where a condition can't be parsed, or has no value at a halt point; for a person to read.

    Args:
        message: The text.
        column: The column of the error, from 0; None where the error is about the whole condition.
    """

    def __init__(self, message: str, column: int | None = None) -> None:
        super().__init__(message)
        self.column = column


#: Steps that a condition may take at one halt point.
MAX_STEPS: Final = 100_000
#: Characters, or a few hundred bytes, that one step looks through.
_A_STEP: Final = 256


class EvaluationFrame:
    """One evaluation: the view, the variables of comprehensions, and the steps that are left.

    Args:
        variables: The values of the condition's names.
        slots: The number of the condition's variables.
    """

    __slots__ = ("_left", "slots", "variables")

    def __init__(self, variables: ConditionVariables, slots: int) -> None:
        self.variables = variables
        self.slots: list[Any] = [None] * slots
        self._left = MAX_STEPS

    def charge_steps(self, steps: int) -> None:
        """Take some steps.

        Raises:
            ConditionError: There are no more.
        """
        self._left -= steps
        if self._left < 0:
            raise ConditionError(
                f"the condition takes more than {MAX_STEPS:,} steps here: simplify it"
            )

    def charge_value(self, value: Any) -> None:
        """Take as many steps as going through a whole value does."""
        left = [value]
        while left:
            item = left.pop()
            if isinstance(item, str):
                self.charge_steps(1 + len(item) // _A_STEP)
            elif isinstance(item, dict):
                self.charge_steps(1 + len(item))
                left += item.values()
            elif isinstance(item, list):
                self.charge_steps(1 + len(item))
                left += item
