"""Conditions: expressions over a read-only view, as a small part of Python has them.

A text is parsed by `ast`, each node of a list of allowed ones is made a function, and these are called.
None of Python's own attributes and calls can be reached: a name is looked up in the view, an attribute
is the item of a JSON object, a call is one of `functions`. What a condition may take is bounded in
length, depth, steps and sizes.
"""

from __future__ import annotations

from .compiling import Compiler
from .failing import ConditionError
from .frames import Frame
from .loops import Code
from .reading import read
from .view import View

__all__ = ["Condition", "ConditionError", "condition_of", "parse"]


class Condition:
    """A condition that can be asked of breakpoints.

    Args:
        code: What it is compiled to.
        slots: How many variables it has.
    """

    __slots__ = ("_code", "_slots")

    def __init__(self, code: Code, slots: int) -> None:
        self._code = code
        self._slots = slots

    def __call__(self, view: View) -> bool:
        """Whether it holds.

        Raises:
            ConditionError: It has no value here: texts compared with numbers, too many steps.
        """
        try:
            return bool(self._code(Frame(view, self._slots)))
        except RecursionError:
            raise ConditionError("the data is nested too deeply here") from None


def parse(text: str) -> Condition:
    """Read a condition.

    Raises:
        ConditionError: It isn't one: in which column, and what is allowed there.
    """
    compiler = Compiler(text)
    code = compiler.code(read(text))
    return Condition(code, compiler.slots)


def condition_of(text: str) -> Condition:
    """Read a condition of a stop that is set; one that can't be read fails wherever it is asked."""
    try:
        return parse(text)
    except ConditionError as failed:
        message = str(failed)

    def fail(_frame: Frame) -> bool:
        raise ConditionError(message)

    return Condition(fail, 0)
