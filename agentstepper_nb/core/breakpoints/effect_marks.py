"""The marks of effect checks, for breakpoints whose conditions ask for them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Final

from ...protocol.data_model import EventKind, EventOutcome, EventSide, FileChange
from ..effects import EffectChecks, EffectTracker
from .watches import ObservedPoint

#: A condition in which this stands may ask for marks.
_NAMED: Final = re.compile(r"\beffect\b")


class LazyEffects:
    """The effect checks of one run, which cost nothing until a condition asks for marks.

    From then on the checks know later events, and whether the workspace is watched.

    Args:
        workspace: The agent's folder; "" where it has none.
        make_checks: Makes the checks, once; None: halt points come with their marks.
    """

    def __init__(self, workspace: str, make_checks: Callable[[], EffectChecks] | None) -> None:
        self._workspace = workspace
        self._make_checks = make_checks
        self._is_watched = False
        self._tracker: EffectTracker | None = None

    def enable(self, conditions: Iterable[str | None]) -> None:
        """Begin to check, where any condition asks for marks."""
        if self._tracker is not None or self._make_checks is None:
            return
        if any(each and _NAMED.search(each) for each in conditions):
            self._tracker = EffectTracker(self._make_checks(), self._workspace)
            if self._is_watched:
                self._tracker.record_changes(())

    def record_changes(self, changes: tuple[FileChange, ...]) -> None:
        """Files of the workspace changed; none, where it was looked at for the first time."""
        self._is_watched = True
        if self._tracker is not None:
            self._tracker.record_changes(changes)

    def evaluate(self, point: ObservedPoint) -> tuple[str, ...]:
        """The names of the checks that mark a halt point, the first of them first."""
        if point.marks is not None:
            return point.marks
        if self._tracker is None or point.kind is not EventKind.TOOL_INVOCATION:
            return ()
        if point.side is EventSide.BEGIN:
            self._tracker.begin(point.event, point.name, point.data)
            return ()
        outcome = point.outcome or EventOutcome.OK
        report = self._tracker.end(point.event, point.seq, point.data, outcome)
        return () if report is None else tuple(mark.check for mark in report.marks)
