"""The marks of all runs of one Core: made when a tool's end arrives, and stored with it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from ...protocol.data_model import (
    AnswerKind,
    Commit,
    EventKind,
    EventOutcome,
    EventSide,
    HaltPoint,
    Run,
)
from ...protocol.records import RunHistory
from .checks import EffectChecks
from .tracker import EffectTracker

#: Answers to a call's begin with which the call isn't made.
_NOT_MADE: Final = frozenset({AnswerKind.SKIP, AnswerKind.DENY, AnswerKind.RAISE, AnswerKind.STOP})


class EffectRecorder:
    """The memory of effect checks about each live run.

    Args:
        checks: The checks to make.
    """

    def __init__(self, checks: EffectChecks) -> None:
        self.checks = checks
        #: The trackers of live runs that are known from their begin.
        self._trackers: dict[str, EffectTracker] = {}

    def begin(self, run: Run) -> None:
        """Begin to track a run."""
        self._trackers[run.id] = EffectTracker(
            self.checks, run.workspace or "", takes_snapshots=run.can_stop
        )

    def end(self, run_id: str) -> None:
        """A run has ended."""
        self._trackers.pop(run_id, None)

    def restore_history(self, run: Run, history: RunHistory | None) -> None:
        """Learn what a live run did before.

        Args:
            run: The run.
            history: All of the run; None where it can't be read, so that the checks begin anew.
        """
        self.begin(run)
        if history is not None:
            for _ in replay_history(history, self._trackers[run.id]):
                pass  # what the checks say of a row was said when the row was reached

    def record_commit(self, commit: Commit) -> None:
        """Files of a run's workspace were changed."""
        tracker = self._trackers.get(commit.run)
        if tracker is not None:
            tracker.record_commit(commit)

    def record_answer(self, halt_point: HaltPoint) -> None:
        """A halt point was answered: a call's begin tells what call was made."""
        tracker = self._trackers.get(halt_point.run)
        if tracker is not None:
            _record_answer(tracker, halt_point)

    def evaluate(self, halt_point: HaltPoint) -> HaltPoint:
        """A halt point that was just reached, with its marks.

        Args:
            halt_point: The halt point.
        """
        if halt_point.kind is not EventKind.TOOL_INVOCATION:
            return halt_point
        tracker = self._trackers.get(halt_point.run)
        return halt_point if tracker is None else _evaluate(tracker, halt_point)


def replay_history(history: RunHistory, tracker: EffectTracker) -> Iterator[HaltPoint]:
    """The halt points of a recorded run, each with the marks that it would have had live.

    Args:
        history: The run.
        tracker: A new one.
    """
    # A commit is numbered by the row before it. The sort is stable: it stays before its followers.
    steps: list[HaltPoint | Commit] = [*history.commits, *history.halt_points]
    for step in sorted(steps, key=lambda each: (each.seq, isinstance(each, Commit))):
        if isinstance(step, Commit):
            tracker.record_commit(step)
        elif step.kind is EventKind.TOOL_INVOCATION:
            yield _evaluate(tracker, step)
            if step.answer is not None:
                _record_answer(tracker, step)
        else:
            yield step


def _evaluate(tracker: EffectTracker, halt_point: HaltPoint) -> HaltPoint:
    data = halt_point.data.encode("utf-8", "surrogatepass")
    if halt_point.side is EventSide.BEGIN:
        tracker.begin(halt_point.event, halt_point.name, data)
        return halt_point
    outcome = halt_point.outcome or EventOutcome.OK
    report = tracker.end(halt_point.event, halt_point.seq, data, outcome)
    return halt_point if report is None else replace(halt_point, effects=report)


def _record_answer(tracker: EffectTracker, halt_point: HaltPoint) -> None:
    if halt_point.side is not EventSide.BEGIN or halt_point.kind is not EventKind.TOOL_INVOCATION:
        return
    if halt_point.answer in _NOT_MADE:
        tracker.forget(halt_point.event)
    elif halt_point.edit is not None:
        edit = halt_point.edit.encode("utf-8", "surrogatepass")
        tracker.record_edit(halt_point.event, edit)
