"""The timeline of a run that ended, kept in the notebook under the view that showed it."""

from __future__ import annotations

import os
import time

from msgspec.structs import replace

from ..protocol.agent import Bye, Timeline
from ..protocol.values import AgentState, RunState
from ..sdk import Door, on_closing
from ..sdk.closing import ClosingStepper
from ..widgets import Shown
from ..widgets.saved import missing_html, timeline_html


def keep(shown: Shown, door: Door) -> None:
    """Once a run ends, put its timeline where the view can't be shown.

    Args:
        shown: The view of the run.
        door: The agent's side of it, still open.
    """
    _keeper().by_run[door.run_id] = shown


def keep_following(shown: Shown) -> None:
    """Put the timeline of each run of this kernel that ends there; the last one stays.

    Only the view that was shown last is followed: what the ones before it have, they keep.

    Args:
        shown: The view of whichever run is the newest.
    """
    keeper = _keeper()
    keeper.following = shown
    if keeper.newest is not None and keeper.newest[0] == shown.run:
        shown.keep(keeper.newest[1])


class _Keeper:
    """The views that wait for runs of this process to end."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self.by_run: dict[str, Shown] = {}
        self.following: Shown | None = None
        self.newest: tuple[str, str] | None = None  # the run that ended last, and its page
        on_closing(self._on_closing)

    def _on_closing(self, door: ClosingStepper, bye: Bye) -> None:
        if self.pid != os.getpid():
            return  # a forked child: the notebook is its parent's
        views = [view for view in (self.by_run.pop(door.run_id, None), self.following) if view]
        if not views:
            return
        timeline = door._timeline()
        if timeline is None:
            html = missing_html(door.program_name)
        else:
            html = timeline_html(_ended(timeline, bye))
        self.newest = (door.run_id, html)
        for view in views:
            view.keep(html)


_the_keeper: list[_Keeper] = []


def _keeper() -> _Keeper:
    if not _the_keeper:
        _the_keeper.append(_Keeper())
    return _the_keeper[0]


def _ended(timeline: Timeline, bye: Bye) -> Timeline:
    """A timeline as it is once its run has said goodbye."""
    run = replace(
        timeline.run,
        state=RunState.IDLE,
        agent_state=AgentState.FINISHED,
        pending=(),
        ended_at=time.time(),
        ending=bye.ending,
        failure=bye.failure,
    )
    return replace(timeline, run=run)
