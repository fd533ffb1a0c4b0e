"""What of a stop is seen without looking into the data: kind, side, name, and how the event ended."""

from __future__ import annotations

import re
from collections.abc import Callable
from fnmatch import translate

from ...protocol.stops import Stop
from ...protocol.values import Outcome
from .points import Point


def glob(pattern: str) -> Callable[[str], bool]:
    """A test for texts by a pattern as shells have it: `*`, `?` and `[...]`, with case, of the whole.

    A `/` is a character like others: `src/*` is all that is below `src`.
    """
    if not any(mark in pattern for mark in "*?["):
        return pattern.__eq__
    fits = re.compile(translate(pattern)).match
    return lambda text: fits(text) is not None


class Place:
    """Which breakpoints a stop is about."""

    __slots__ = ("_fits", "_kind", "_on_error", "_side")

    def __init__(self, stop: Stop) -> None:
        self._kind = stop.kind
        self._side = stop.side
        self._fits = None if stop.name is None else glob(stop.name)
        self._on_error = stop.on_error

    def is_of(self, point: Point) -> bool:
        """Whether the stop is about this event, be it its begin or its end."""
        kind, fits = self._kind, self._fits
        return (kind is None or kind is point.kind) and (fits is None or fits(point.name or ""))

    def is_at(self, point: Point) -> bool:
        """Whether the stop is about this breakpoint."""
        side = self._side
        return (
            (side is None or side is point.side)
            and (not self._on_error or point.outcome is Outcome.ERROR)
            and self.is_of(point)
        )
