"""Stack frames as a person sees them: their location, the code's owner, and the lines around."""

from __future__ import annotations

import linecache
from types import FrameType
from typing import Final

from msgspec import UNSET, UnsetType

from ...protocol.inspection import SourceLines, StackFrame, StackSnapshot
from ..agent_frames import HaltedThread, describe_location, find_code_file
from ..payload import SecretMask
from .secret_names import mask_assignments

#: Innermost frames that are shown: a recursion that ran away has a thousand.
_MAX_FRAMES: Final = 200
#: Lines that are shown before and after a frame's own.
_LINES_AROUND: Final = 8
_MAX_LINE_CHARS: Final = 400
#: The most frames of libraries whose source is sent; the agent's own source is always sent.
_MAX_LIBRARY_SOURCES: Final = 40


def describe_stack(halted: HaltedThread, pdb_refusal: str | None) -> StackSnapshot:
    """The stack of the thread or task that waits at a halt point.

    Args:
        halted: The thread or the task.
        pdb_refusal: The reason why pdb can't start there; None: pdb can start.
    """
    frames = halted.list_frames()
    linecache.checkcache()
    mask = SecretMask()
    return StackSnapshot(
        frames=tuple(
            _describe_frame(frame, index < _MAX_LIBRARY_SOURCES, mask)
            for index, frame in enumerate(frames[:_MAX_FRAMES])
        ),
        thread=halted.name[:200],
        is_task=halted.is_task,
        omitted=max(0, len(frames) - _MAX_FRAMES),
        pdb_refusal=pdb_refusal,
    )


def _describe_frame(frame: FrameType, is_near: bool, mask: SecretMask) -> StackFrame:
    is_own = find_code_file(frame.f_code.co_filename).is_own
    return StackFrame(
        location=describe_location(frame),
        is_own=is_own,
        source=_read_source(frame, mask) if is_own or is_near else UNSET,
    )


def _read_source(frame: FrameType, mask: SecretMask) -> SourceLines | UnsetType:
    try:
        lines = linecache.getlines(frame.f_code.co_filename, frame.f_globals)
    except Exception:  # a loader of the agent's own
        return UNSET
    line = frame.f_lineno or 1
    first = max(1, line - _LINES_AROUND)
    shown = lines[first - 1 : line + _LINES_AROUND]
    if line > len(lines) or not shown:
        return UNSET
    return SourceLines(first=first, lines=tuple(_describe_line(each, mask) for each in shown))


def _describe_line(line: str, mask: SecretMask) -> str:
    text = mask_assignments(mask.text(line.rstrip("\r\n")))
    return text.encode("utf-8", "backslashreplace").decode()[:_MAX_LINE_CHARS]
