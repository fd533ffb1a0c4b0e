"""The frames that an exception passed, as text."""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import Final

_PACKAGE: Final = str(Path(__file__).resolve().parents[1])
#: The innermost frames and characters that are shown: a recursion that ran out has a thousand frames.
_FRAMES: Final = 30
_CHARACTERS: Final = 16_000


def own_frames(error: BaseException) -> str:
    """Format the frames of an exception, without those of this package and without its message.

    Args:
        error: The exception.

    Returns:
        Text as Python prints it, innermost frame last; "" where there is none.
    """
    try:
        frames = traceback.extract_tb(error.__traceback__)
        own = [frame for frame in frames if not frame.filename.startswith(_PACKAGE)]
        text = "".join(traceback.format_list(own[-_FRAMES:])).rstrip()
    except Exception:  # a broken linecache or loader of the agent's is no reason to fail
        return ""
    if len(text) <= _CHARACTERS:
        return text
    return text[-_CHARACTERS:].partition("\n")[2]  # half a line may hold half a secret, unmasked
