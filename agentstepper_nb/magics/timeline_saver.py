"""Saves the timeline of an ended run in the notebook, under the view that showed the run."""

from __future__ import annotations

import os
import time

from msgspec.structs import replace

from ..protocol.agent import Bye, Timeline
from ..protocol.data_model import AgentActivity, RunState
from ..sdk import BaseStepper, on_closing
from ..sdk.close_callbacks import ClosingStepper
from ..widgets import DisplayedView
from ..widgets.saved_timeline import render_missing_timeline, render_timeline


def save_timeline_at_end(view: DisplayedView, stepper: BaseStepper) -> None:
    """Once a run ends, put its timeline where the view can't be shown.

    Args:
        view: The view of the run.
        stepper: The agent's side of it, still open.
    """
    _get_saver().by_run[stepper.run_id] = view


def save_newest_timeline_at_end(view: DisplayedView) -> None:
    """Save the timeline of each run of this kernel that ends; the last one is kept.

    Only the last displayed view is updated: earlier views keep their timelines.

    Args:
        view: The view of the newest run.
    """
    keeper = _get_saver()
    keeper.following = view
    if keeper.newest is not None and keeper.newest[0] == view.run:
        view.set_fallback(keeper.newest[1])


class _TimelineSaver:
    """The views that wait for runs of this process to end."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self.by_run: dict[str, DisplayedView] = {}
        self.following: DisplayedView | None = None
        self.newest: tuple[str, str] | None = None  # the run that ended last, and its page
        on_closing(self._on_closing)

    def _on_closing(self, stepper: ClosingStepper, bye: Bye) -> None:
        if self.pid != os.getpid():
            return  # a forked child: the notebook is its parent's
        views = [view for view in (self.by_run.pop(stepper.run_id, None), self.following) if view]
        if not views:
            return
        timeline = stepper._timeline()
        if timeline is None:
            html = render_missing_timeline(stepper.program_name)
        else:
            html = render_timeline(_ended(timeline, bye))
        self.newest = (stepper.run_id, html)
        for view in views:
            view.set_fallback(html)


_saver: list[_TimelineSaver] = []


def _get_saver() -> _TimelineSaver:
    if not _saver:
        _saver.append(_TimelineSaver())
    return _saver[0]


def _ended(timeline: Timeline, bye: Bye) -> Timeline:
    """Return a timeline in its state after the run has said bye."""
    run = replace(
        timeline.run,
        state=RunState.IDLE,
        agent_state=AgentActivity.FINISHED,
        pending=(),
        ended_at=time.time(),
        ending=bye.ending,
        failure=bye.failure,
    )
    return replace(timeline, run=run)
