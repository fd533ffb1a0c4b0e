"""What is known of a function before it is called."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar, get_type_hints

from ..streams.sources import told

T = TypeVar("T")


def hints_of(function: Callable[..., Any]) -> dict[str, Any]:
    """The types of its parameters, as far as they can be known: names may be missing where it runs."""
    try:
        return get_type_hints(_plain(function), include_extras=True)
    except Exception:
        return {}


def _plain(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function within a partial one, or of an object that is called like one."""
    while isinstance(function, partial):
        function = function.func
    if inspect.isroutine(function) or inspect.isclass(function):
        return function
    return type(function).__call__


def is_one_of(function: Callable[..., Any], *kinds: Callable[[Any], bool]) -> bool:
    """Whether a function is of one of some kinds, as `inspect` tells them."""
    plain = _plain(function)
    return any(kind(plain) for kind in kinds)


def guarded(call: Callable[[], T]) -> T:
    """Call it on a thread: what would end the loop, or an iteration, is an error like others."""
    try:
        return call()
    except (StopIteration, StopAsyncIteration) as error:
        raise RuntimeError(f"The function raised {error!r}.") from error
    except BaseException as error:
        raise told(error) from error.__cause__


def name_of(function: Callable[..., Any]) -> str:
    """What a function is called; “function” where it has no name."""
    name = getattr(_plain(function), "__name__", "")
    if name in ("", "__call__"):
        name = type(function).__name__
    return "function" if name == "<lambda>" else str(name)[:100]
