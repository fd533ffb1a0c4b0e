"""The threads and tasks of a run that wait at halt points, and the frames that they wait in."""

from __future__ import annotations

import asyncio
import contextvars
import os
import sys
import threading
from collections import OrderedDict
from itertools import takewhile
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Final

#: Results of expressions that are kept of one halt point, to be opened.
_MAX_RESULTS: Final = 50
#: From this function on, frames are the event loop's and no longer a task's.
_LOOP_CODE: Final[CodeType] = asyncio.Handle._run.__code__
#: The frames of these files are how an agent waits.
_WAITING: Final = str(Path(__file__).absolute().parents[1]) + os.sep


class HaltedThread:
    """A thread or a task that waits at a halt point.

    Args:
        frames: Its frames, innermost first: all those outside of how it waits.
        is_task: Whether a task waits. Nobody finds its frames while it does, so that they are kept; a
            thread's are read when somebody asks.
    """

    def __init__(self, frames: list[FrameType], is_task: bool) -> None:
        self.ident = threading.get_ident()
        self.context = contextvars.copy_context()
        self.enters_pdb = False
        """Whether it is to enter pdb once its halt point is answered."""
        self.is_task = is_task
        self.name = _find_name(is_task)
        self._frames = frames if is_task else None
        self._depth = len(frames)
        self._results: OrderedDict[int, Any] = OrderedDict()
        self._result_count = 0

    def list_frames(self) -> list[FrameType]:
        """The frames, innermost first; those of a thread as it waits now."""
        if self._frames is not None:
            return list(self._frames)
        # What it waits in may be one call deeper the next time.
        callers = _list_callers(sys._current_frames().get(self.ident))
        return callers[max(0, len(callers) - self._depth) :]

    def add_result(self, value: Any) -> int:
        """Keep what an expression came to while the halt point waits; the number it is found by."""
        self._result_count += 1
        self._results[self._result_count] = value
        if len(self._results) > _MAX_RESULTS:
            self._results.popitem(last=False)
        return self._result_count

    def find_result(self, number: int) -> Any:
        """What an expression came to.

        Raises:
            KeyError: It isn't kept any more.
        """
        return self._results[number]


class HaltedThreads:
    """Those of one run, by halt point. Each is known only while its halt point waits."""

    def __init__(self) -> None:
        self._halted: dict[str, HaltedThread] = {}

    def begin(self, halt_point: str, is_task: bool) -> None:
        """What calls this is about to wait.

        Args:
            halt_point: The halt point's id.
            is_task: Whether a task waits, whose frames nobody finds once it does.
        """
        if halt_point not in self._halted:
            callers = _list_callers(sys._getframe(1), is_task)
            waiting = sum(1 for _ in takewhile(_is_waiting, callers))
            self._halted[halt_point] = HaltedThread(callers[waiting:], is_task)

    def end(self, halt_point: str) -> HaltedThread | None:
        """Nobody waits there any more; who did, or None."""
        return self._halted.pop(halt_point, None)

    def find(self, halt_point: str) -> HaltedThread | None:
        """What waits at a halt point; None where nothing does."""
        return self._halted.get(halt_point)


def _list_callers(frame: FrameType | None, is_task: bool = False) -> list[FrameType]:
    """A frame and its callers; of a task, up to the event loop's."""
    frames = []
    while frame is not None and not (is_task and frame.f_code is _LOOP_CODE):
        frames.append(frame)
        frame = frame.f_back
    return frames


def _is_waiting(frame: FrameType) -> bool:
    return frame.f_code.co_filename.startswith(_WAITING)


def _find_name(is_task: bool) -> str:
    if is_task:
        task = asyncio.current_task()
        return "" if task is None else task.get_name()
    return threading.current_thread().name
