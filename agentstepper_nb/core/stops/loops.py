"""Comprehensions: their variables are slots of the frame, and each pass takes its steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from .failing import ConditionError
from .frames import Frame
from .operators import word

#: What a node of a condition becomes.
Code = Callable[[Frame], Any]


class Clause:
    """`for … in whole if tests` of a comprehension."""

    def __init__(self, whole: Code, slot: int, tests: list[Code]) -> None:
        self._whole = whole
        self._slot = slot
        self._tests = tests

    def run(self, frame: Frame, steps: int) -> Iterator[None]:
        """Set the variable to one item after the other."""
        whole = self._whole(frame)
        if whole is None:
            return
        if not isinstance(whole, list | dict):
            raise ConditionError(f"{word(whole)} isn't a list to go through")
        for value in whole:
            frame.spend(steps)
            frame.slots[self._slot] = value
            if all(test(frame) for test in self._tests):
                yield


class Loop:
    """A comprehension; each pass through a clause takes as many steps as there are nodes in it."""

    def __init__(self, clauses: list[Clause], body: Code, steps: int) -> None:
        self._clauses = clauses
        self._body = body
        self._steps = steps

    def __call__(self, frame: Frame, first: int = 0) -> Iterator[Any]:
        """Its items, one after the other; of the clauses from one on, where those before are set."""
        if first == len(self._clauses):
            yield self._body(frame)
            return
        for _ in self._clauses[first].run(frame, self._steps):
            yield from self(frame, first + 1)
