"""Frames: which are the agent's own code, which an event begins or waits in, which an exception passed.

A frame is judged by its file's name, once for each name; only an exception's lines are read.
"""

from __future__ import annotations

import asyncio
import contextvars
import os
import sys
import sysconfig
import threading
import traceback
from collections import OrderedDict
from itertools import dropwhile
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Final, NamedTuple

from msgspec import UNSET, UnsetType

from ..protocol.inspection import SourceLocation

#: The value "0" keeps file names and line numbers out of messages.
LOCATIONS_VARIABLE: Final = "AGENTSTEPPER_LOCATIONS"
_MAX_FILE_CHARS: Final = 4096
_MAX_FUNCTION_CHARS: Final = 1000
#: Frames that are looked through for the agent's own.
_MAX_FRAMES: Final = 500
#: The innermost frames and characters of an exception that are shown: a recursion that ran out has a
#: thousand frames.
_MAX_SHOWN_FRAMES: Final = 30
_MAX_TRACEBACK_CHARS: Final = 16_000

_PACKAGE: Final = str(Path(__file__).absolute().parents[1]) + os.sep
_LIBRARY_FOLDERS: Final = tuple(
    sysconfig.get_path(name) + os.sep for name in ("stdlib", "platstdlib", "purelib", "platlib")
)
_LIBRARY_PARTS: Final = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")
#: Code without a file that is the agent's own; of all others a library made it.
_OWN_NAMES: Final = ("<stdin>", "<string>", "<console>", "<ipython-input", "<cell")

#: The frames of these files are how an agent waits.
_WAITING: Final = str(Path(__file__).absolute().parent) + os.sep
#: From this function on, frames are the event loop's and no longer a task's.
_LOOP_CODE: Final[CodeType] = asyncio.Handle._run.__code__
#: The most results of expressions that are stored per halt point, to be expanded.
_MAX_RESULTS: Final = 50


class CodeFile(NamedTuple):
    """Facts about a code file that follow from the file's name alone."""

    path: str  # absolute, or as Python names it; cut
    is_own: bool
    may_be_cell: bool


_files: dict[str, CodeFile] = {}


def find_code_file(name: str) -> CodeFile:
    """Find the facts about a code file.

    Args:
        name: The file's name in a code object.
    """
    found = _files.get(name)
    if found is None:
        found = _files[name] = _judge(name)
    return found


def _judge(name: str) -> CodeFile:
    if name.startswith("<"):
        is_own = name.startswith(_OWN_NAMES)
        return CodeFile(_clean(name), is_own, name.startswith("<ipython-input"))
    path = str(Path(name).absolute())
    is_library = path.startswith((_PACKAGE, *_LIBRARY_FOLDERS)) or any(
        part in path for part in _LIBRARY_PARTS
    )
    return CodeFile(_clean(path), not is_library, f"{os.sep}ipykernel_" in path)


def _clean(text: str, max_chars: int = _MAX_FILE_CHARS) -> str:
    return text.encode("utf-8", "backslashreplace").decode()[:max_chars]


def find_own_frame(frame: FrameType | None) -> FrameType | None:
    """The innermost frame of the agent's own code, from a frame outwards; None where there is none."""
    for _ in range(_MAX_FRAMES):
        if frame is None:
            return None
        file = frame.f_code.co_filename
        found = _files.get(file)
        if (found or find_code_file(file)).is_own:
            return frame
        frame = frame.f_back
    return None


def find_location() -> SourceLocation | UnsetType:
    """The line of the agent's own code that runs on this thread; UNSET where none does, or is sent."""
    if not are_locations_sent:
        return UNSET
    frame = find_own_frame(sys._getframe(1))
    return UNSET if frame is None else describe_location(frame)


def describe_location(frame: FrameType) -> SourceLocation:
    """Describe a frame's place in its file or in its notebook cell."""
    code = frame.f_code
    file = find_code_file(code.co_filename)
    cell = _find_cell(code.co_filename) if file.may_be_cell else None
    name = code.co_qualname
    return SourceLocation(
        file=file.path,
        line=frame.f_lineno or 0,
        function=name if name.isascii() and len(name) < _MAX_FUNCTION_CHARS else _clean(name, 1000),
        cell=UNSET if cell is None else cell,
    )


def _find_cell(name: str) -> int | None:
    """The execution count of the notebook's cell with this file's name."""
    module: Any = sys.modules.get("IPython")
    shell = None if module is None else module.get_ipython()
    numbers = getattr(getattr(shell, "compile", None), "_filename_map", None)
    number = numbers.get(name) if isinstance(numbers, dict) else None
    return number if isinstance(number, int) and number >= 0 else None


are_locations_sent: bool = os.environ.get(LOCATIONS_VARIABLE) != "0"


def format_agent_frames(error: BaseException) -> str:
    """Format the frames of an exception, without those of this package and without its message.

    Args:
        error: The exception.

    Returns:
        Text as Python prints it, innermost frame last; "" where there is none.
    """
    try:
        frames = traceback.extract_tb(error.__traceback__)
        agent_frames = [frame for frame in frames if not frame.filename.startswith(_PACKAGE)]
        text = "".join(traceback.format_list(agent_frames[-_MAX_SHOWN_FRAMES:])).rstrip()
    except Exception:  # a broken linecache or loader of the agent's is no reason to fail
        return ""
    if len(text) <= _MAX_TRACEBACK_CHARS:
        return text
    # Half a line may hold half a secret.
    return text[-_MAX_TRACEBACK_CHARS:].partition("\n")[2]


# ---- what waits --------------------------------------------------------------------------------------


class HaltedThread:
    """The thread or the task that makes this, which is about to wait at a halt point.

    Args:
        is_task: Whether a task waits. Its frames can't be found while it waits, so they are stored; a
            thread's frames are read on request.
    """

    def __init__(self, is_task: bool) -> None:
        callers = _list_callers(sys._getframe(1), is_task)
        frames = list(
            dropwhile(lambda frame: frame.f_code.co_filename.startswith(_WAITING), callers)
        )
        self.ident = threading.get_ident()
        self.context = contextvars.copy_context()
        self.enters_pdb = False
        """Whether it is to enter pdb once its halt point is answered."""
        self.is_task = is_task
        if is_task:
            task = asyncio.current_task()
            self.name = "" if task is None else task.get_name()
        else:
            self.name = threading.current_thread().name
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
        """The result of an expression that was evaluated before.

        Raises:
            KeyError: The result isn't stored any more.
        """
        return self._results[number]


def _list_callers(frame: FrameType | None, is_task: bool = False) -> list[FrameType]:
    """A frame and its callers; of a task, up to the event loop's."""
    frames = []
    while frame is not None and not (is_task and frame.f_code is _LOOP_CODE):
        frames.append(frame)
        frame = frame.f_back
    return frames
