"""Which frames are the agent's own code, where in it an event begins, and which an exception passed.

A frame is judged by its file's name, once for each name; only an exception's lines are read.
"""

from __future__ import annotations

import os
import sys
import sysconfig
import traceback
from pathlib import Path
from types import FrameType
from typing import Any, Final, NamedTuple

from msgspec import UNSET, UnsetType

from ..protocol.inspection import SourceLocation

#: "0" keeps files and lines out of what is sent.
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


class CodeFile(NamedTuple):
    """What is known of a file by its name alone."""

    path: str  # absolute, or as Python names it; cut
    is_own: bool
    may_be_cell: bool


_files: dict[str, CodeFile] = {}


def find_code_file(name: str) -> CodeFile:
    """What is known of a file.

    Args:
        name: Its name in a code object.
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
    """Where a frame is in its file, or in its notebook's cell."""
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
