"""The functions of conditions, and the methods of texts. What is missing (None) stays missing."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from math import prod
from typing import Any, Final, NamedTuple

from .condition_variables import list_texts
from .evaluation import ConditionError, EvaluationFrame
from .operators import add_values, check_size, is_number, name_type

#: Characters of a pattern.
_MAX_PATTERN_CHARS: Final = 500
#: Nodes that a pattern may be compiled to: repeats of groups are written out, over and over if nested.
_MAX_PATTERN_NODES: Final = 400_000
#: Seconds that a search may take.
_TIMEOUT: Final = 0.05
_VERBOSE: Final = re.compile(r"\(\?[a-zA-Z0-9-]*x")
_REPEAT: Final = re.compile(r"(\)?)(?:(\+)|\{ *(\d*) *(?:(,) *(\d*) *)?\})")


class TextPattern:
    """A compiled regular expression.

    Args:
        text: The expression, as the `regex` package has it.

    Raises:
        ConditionError: The text is no regular expression, or matching it could take too long.
    """

    __slots__ = ("_compiled", "_text")

    def __init__(self, text: str) -> None:
        self._text = text
        self._compiled = _compile(text)

    def is_in(self, text: str) -> bool:
        """Whether the expression matches anywhere in a text.

        Raises:
            ConditionError: Nobody knows: the search takes too long.
        """
        try:
            return self._compiled.search(text, timeout=_TIMEOUT) is not None
        except (TimeoutError, MemoryError, RecursionError):
            raise ConditionError(
                f"the search for {self._text!r} takes too long: use a simpler pattern"
            ) from None

    def replace_in(self, text: str, replacement: str) -> str:
        """A text with all matches of the expression replaced.

        Args:
            text: The text.
            replacement: The replacement; a backslash and a number are a group.

        Raises:
            ConditionError: The replacement names no group, or to replace takes too long.
        """
        try:
            return str(self._compiled.sub(replacement, text, timeout=_TIMEOUT))
        except (TimeoutError, MemoryError, RecursionError):
            raise ConditionError(
                f"to replace {self._text!r} takes too long: use a simpler pattern"
            ) from None
        except Exception as failed:  # regex.error, which is imported where it is needed
            raise ConditionError(f"the replacement can't be read: {failed}") from None


def _compile(text: str) -> Any:
    import regex  # costs a start-up what few need

    if "\b" in text:
        raise ConditionError(r'“\b” is a backspace here: put an r before the quotes, r"\bword\b"')
    if _VERBOSE.search(text):
        raise ConditionError("a pattern can't use the flag x: leave it out")
    if len(text) > _MAX_PATTERN_CHARS or _size(text) > _MAX_PATTERN_NODES:
        raise ConditionError("the pattern is too long, or has too many repeats: simplify it")
    try:
        return regex.compile(text)
    except (regex.error, ValueError, OverflowError, RecursionError, MemoryError) as failed:
        raise ConditionError(f"the pattern can't be read: {failed}") from None


def _size(text: str) -> int:
    """The most that a pattern is compiled to: as if all its groups were nested."""
    groups, others = [1], [2]
    for closed, plus, low, comma, high in _REPEAT.findall(text):
        times = 2 if plus else max(1, int(low[:9] or 0)) + (comma != "" and low != high)
        (groups if closed else others).append(times)
    return len(text) * prod(groups) * max(others)


#: Steps of a search by a pattern, which takes longer than its characters say.
_A_SEARCH: Final = 100
#: Characters of a text that is read as a number.
_DIGITS: Final = 100


class ConditionFunction(NamedTuple):
    """A function of conditions: the number of its arguments, and its code."""

    min_args: int
    max_args: int
    call: Callable[..., Any]
    accepts_generator: bool = False  # it takes comprehensions without brackets, too


def _items(value: Any, name: str) -> Iterable[Any]:
    """The items of a list; a missing list is empty. Comprehensions come as iterators."""
    if value is None:
        return ()
    if isinstance(value, str | int | float):
        raise ConditionError(f"{name}() takes a list, not {name_type(value)}")
    return value  # type: ignore[no-any-return]


def _abs(_frame: EvaluationFrame, value: Any) -> Any:
    if value is not None and not is_number(value):
        raise ConditionError(f"abs() takes a number, not {name_type(value)}")
    return None if value is None else abs(value)


def _all(frame: EvaluationFrame, value: Any) -> bool:
    return all(_counted(frame, _items(value, "all")))


def _any(frame: EvaluationFrame, value: Any) -> bool:
    return any(_counted(frame, _items(value, "any")))


def _contains(frame: EvaluationFrame, value: Any, part: Any) -> bool:
    if part is not None and not isinstance(part, str):
        raise ConditionError(f"contains() searches for a text, not {name_type(part)}")
    if part is None:
        return False
    frame.charge_value(value)
    return any(part in text for text in list_texts(value))


def _matches(frame: EvaluationFrame, value: Any, pattern: TextPattern) -> bool:
    frame.charge_value(value)
    frame.charge_steps(_A_SEARCH)
    return pattern.is_in("\n".join(list_texts(value)))


def _float(_frame: EvaluationFrame, value: Any) -> Any:
    return None if value is None else _read(float, value)


def _int(_frame: EvaluationFrame, value: Any) -> Any:
    return None if value is None else _read(int, value)


def _read(kind: type[int] | type[float], value: Any) -> int | float:
    if isinstance(value, str | int | float) and len(str(value)[: _DIGITS + 1]) <= _DIGITS:
        try:
            return kind(value)
        except (ValueError, OverflowError):
            pass
    # Not which text: what a run says isn't for whoever may only try breakpoints on it.
    shown = "a text that isn't one" if isinstance(value, str) else name_type(value)
    raise ConditionError(f"{kind.__name__}() can't convert {shown} to a number")


def _len(frame: EvaluationFrame, value: Any) -> Any:
    if value is None or isinstance(value, str | list | dict):
        return None if value is None else len(value)
    if is_number(value):
        raise ConditionError(f"len() takes a text, a list or an object, not {name_type(value)}")
    return sum(1 for _ in value)


def _least(frame: EvaluationFrame, *values: Any) -> Any:
    return min(_alike(frame, values, "min"), default=None)


def _greatest(frame: EvaluationFrame, *values: Any) -> Any:
    return max(_alike(frame, values, "max"), default=None)


def _alike(frame: EvaluationFrame, values: tuple[Any, ...], name: str) -> list[Any]:
    """All numbers or all texts, of one list or of the arguments; missing values are left out."""
    given = _items(values[0], name) if len(values) == 1 else values
    found = [value for value in _counted(frame, given) if value is not None]
    if all(map(is_number, found)) or all(isinstance(value, str) for value in found):
        return found
    raise ConditionError(f"{name}() takes either numbers or texts, not both")


def _str(_frame: EvaluationFrame, value: Any) -> Any:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if is_number(value):
        return str(check_size(value))
    raise ConditionError(
        f"str() takes a number, not {name_type(value)}; use contains() to search in it"
    )


def _sum(frame: EvaluationFrame, value: Any) -> Any:
    total: Any = 0
    for number in _counted(frame, _items(value, "sum")):
        if number is not None:
            if not is_number(number):
                raise ConditionError(f"sum() takes numbers, not {name_type(number)}")
            total = add_values(frame, total, number)
    return total


def _counted(frame: EvaluationFrame, values: Iterable[Any]) -> Iterable[Any]:
    for value in values:
        frame.charge_steps(1)
        yield value


FUNCTIONS: Final[dict[str, ConditionFunction]] = {
    "abs": ConditionFunction(1, 1, _abs),
    "all": ConditionFunction(1, 1, _all, accepts_generator=True),
    "any": ConditionFunction(1, 1, _any, accepts_generator=True),
    "contains": ConditionFunction(2, 2, _contains),
    "float": ConditionFunction(1, 1, _float),
    "int": ConditionFunction(1, 1, _int),
    "len": ConditionFunction(1, 1, _len, accepts_generator=True),
    "matches": ConditionFunction(2, 2, _matches),
    "max": ConditionFunction(1, 20, _greatest, accepts_generator=True),
    "min": ConditionFunction(1, 20, _least, accepts_generator=True),
    "str": ConditionFunction(1, 1, _str),
    "sum": ConditionFunction(1, 1, _sum, accepts_generator=True),
}


def _method(name: str) -> Callable[..., Any]:
    def call(frame: EvaluationFrame, text: Any, *args: Any) -> Any:
        if text is None or (args and args[0] is None):
            return None
        if not isinstance(text, str) or not all(isinstance(arg, str) for arg in args):
            raise ConditionError(f".{name}() works on texts only")
        frame.charge_value(text)
        return getattr(text, name)(*args)

    return call


METHODS: Final[dict[str, ConditionFunction]] = {
    "endswith": ConditionFunction(1, 1, _method("endswith")),
    "lower": ConditionFunction(0, 0, _method("lower")),
    "startswith": ConditionFunction(1, 1, _method("startswith")),
    "strip": ConditionFunction(0, 1, _method("strip")),
    "upper": ConditionFunction(0, 0, _method("upper")),
}
