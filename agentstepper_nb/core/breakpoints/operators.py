"""Operators on JSON values. A missing value (None) stays missing, and compares as False.

Numbers and texts stay small; a comparison of a text with a number is an error for the person.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Final

from .evaluation import ConditionError, EvaluationFrame

#: Characters of a text, and bits of a whole number, that a condition may make.
_LONGEST: Final = 1_000_000
_LARGEST: Final = 4096

Operation = Callable[[EvaluationFrame, Any, Any], Any]


def name_type(value: Any) -> str:
    """The name of a value's type, for people."""
    match value:
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case str():
            return "a text"
        case list():
            return "a list"
        case None:
            return "nothing"
    return "an object"


def is_number(value: Any) -> bool:
    """Whether a value can be used in arithmetic."""
    return isinstance(value, int | float)


def _unfit(sign: str, left: Any, right: Any) -> ConditionError:
    return ConditionError(f"{sign} can't combine {name_type(left)} with {name_type(right)}")


def check_size(value: Any) -> Any:
    """A number or a text that was made; too large a one is refused."""
    if isinstance(value, int) and value.bit_length() > _LARGEST:
        raise ConditionError("a number gets too large")
    if isinstance(value, str) and len(value) > _LONGEST:
        raise ConditionError(f"a text gets longer than {_LONGEST:,} characters")
    return value


def _reckon(sign: str, reckon: Callable[[Any, Any], Any]) -> Operation:
    def operation(_frame: EvaluationFrame, left: Any, right: Any) -> Any:
        if left is None or right is None:
            return None
        if not is_number(left) or not is_number(right):
            raise _unfit(sign, left, right)
        try:
            return check_size(reckon(left, right))
        except ZeroDivisionError:
            raise ConditionError(f"{sign} can't divide by 0") from None
        except OverflowError:
            raise ConditionError("a number gets too large") from None

    return operation


_add = _reckon("+", operator.add)


def add_values(frame: EvaluationFrame, left: Any, right: Any) -> Any:
    """Numbers together, or texts one after the other."""
    if isinstance(left, str) and isinstance(right, str):
        joined: str = check_size(left + right)
        frame.charge_value(joined)
        return joined
    return _add(frame, left, right)


def is_equal(frame: EvaluationFrame, left: Any, right: Any) -> bool:
    """Whether two values are the same."""
    if isinstance(left, list | dict) and isinstance(right, list | dict):
        frame.charge_value(left)
    return bool(left == right)


def _ordered(sign: str, order: Callable[[Any, Any], bool]) -> Operation:
    def operation(_frame: EvaluationFrame, left: Any, right: Any) -> bool:
        if left is None or right is None:
            return False
        if (is_number(left) and is_number(right)) or (
            isinstance(left, str) and isinstance(right, str)
        ):
            return order(left, right)
        raise _unfit(sign, left, right)

    return operation


def is_within(frame: EvaluationFrame, element: Any, container: Any) -> bool:
    """Whether a text has a part, a list an item, or an object a key."""
    match container:
        case None:
            return False
        case str():
            frame.charge_value(container)
            if element is None:
                return False
            if isinstance(element, str):
                return element in container
        case dict():
            return isinstance(element, str) and element in container
        case list():
            frame.charge_value(container if isinstance(element, list | dict) else None)
            frame.charge_steps(1 + len(container))
            return element in container
    raise _unfit("in", element, container)


def get_item(_frame: EvaluationFrame, container: Any, key: Any) -> Any:
    """The item of a list, a text or an object at a key; None where there is none."""
    match container:
        case dict():
            return container.get(key) if isinstance(key, str) else None
        case list() | str():
            inside = isinstance(key, int) and -len(container) <= key < len(container)
            return container[key] if inside else None
    return None


def slice_value(frame: EvaluationFrame, sequence: Any, low: Any, high: Any) -> Any:
    """A piece of a list or a text."""
    if not isinstance(sequence, list | str):
        return None
    if not all(end is None or isinstance(end, int) for end in (low, high)):
        raise ConditionError("a slice begins and ends at whole numbers")
    piece = sequence[low:high]
    frame.charge_steps(1 + len(piece) // 16)
    return piece


def negate(value: Any) -> Any:
    """The number below zero."""
    if value is not None and not is_number(value):
        raise ConditionError(f"- needs a number, not {name_type(value)}")
    return None if value is None else -value


OPERATIONS: Final[dict[str, Operation]] = {
    "Add": add_values,
    "Sub": _reckon("-", operator.sub),
    "Mult": _reckon("*", operator.mul),
    "Div": _reckon("/", operator.truediv),
    "FloorDiv": _reckon("//", operator.floordiv),
    "Mod": _reckon("%", operator.mod),
}
COMPARISONS: Final[dict[str, Operation]] = {
    "Eq": is_equal,
    "NotEq": lambda frame, left, right: not is_equal(frame, left, right),
    "Lt": _ordered("<", operator.lt),
    "LtE": _ordered("<=", operator.le),
    "Gt": _ordered(">", operator.gt),
    "GtE": _ordered(">=", operator.ge),
    "In": is_within,
    "NotIn": lambda frame, left, right: not is_within(frame, left, right),
    "Is": is_equal,
    "IsNot": lambda frame, left, right: not is_equal(frame, left, right),
}
