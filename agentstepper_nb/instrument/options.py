"""The options of instrumentation, apart from the code that uses them: `%load_ext` stays cheap."""

from __future__ import annotations

import sys
from typing import Final

#: Python versions on which the replacement of a function's code is tested.
TESTED_PYTHONS: Final = ((3, 11), (3, 12), (3, 13))


_NOT_ASKED: Final = (
    "Plain functions that a request offers as tools aren't looked for: "
    "`instrument.enable(discovers_tools=True)` turns discovery on."
)
_NOT_TESTED: Final = (
    "Plain functions that a request offers as tools aren't looked for: discovery isn't tested on Python "
    f"{sys.version_info.major}.{sys.version_info.minor}."
)


class _Options:
    def __init__(self) -> None:
        self.discovers_tools = False
        self.off_reason = _NOT_ASKED


_options = _Options()


def discovers_tools() -> bool:
    """Whether plain functions that a request offers as tools are looked for."""
    return _options.discovers_tools


def set_discovery(is_enabled: bool, python: tuple[int, int] = sys.version_info[:2]) -> None:
    """Say whether functions are looked for. It stays off on a Python that it wasn't tried on.

    Args:
        is_enabled: Whether a program wants it.
        python: The version of this Python.
    """
    _options.discovers_tools = is_enabled and python in TESTED_PYTHONS
    _options.off_reason = _NOT_TESTED if is_enabled else _NOT_ASKED


def get_discovery_off_reason() -> str:
    """The reason why functions aren't discovered; "": functions are discovered."""
    return "" if _options.discovers_tools else _options.off_reason
