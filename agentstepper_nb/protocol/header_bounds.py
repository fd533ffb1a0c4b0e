"""Bounds on the texts of a run's header: every view is sent the headers of all runs."""

from __future__ import annotations

from typing import Any, Final

from msgspec.structs import replace

from .values import Failure, Run

#: Characters of each text.
_TEXTS: Final = {
    "name": 1000,
    "program": 1000,
    "workspace": 4096,
    "host": 255,
    "last_event": 1000,
    "notice": 1000,
}
_FAILURE_TYPE: Final = 1000
_FAILURE_MESSAGE: Final = 10_000
#: Characters of a traceback.
TRACEBACK: Final = 20_000


def cut_header(run: Run) -> Run:
    """A run's header with its texts cut to their bounds; itself where none is too long."""
    changes: dict[str, Any] = {}
    for name, length in _TEXTS.items():
        text = getattr(run, name)
        if text is not None and len(text) > length:
            changes[name] = cut_text(text, length)
    if run.failure is not None and (failure := cut_failure(run.failure)) is not run.failure:
        changes["failure"] = failure
    return replace(run, **changes) if changes else run


def cut_failure(failure: Failure) -> Failure:
    """A failure with its texts cut to their bounds; itself where none is too long."""
    if len(failure.type) <= _FAILURE_TYPE and len(failure.message) <= _FAILURE_MESSAGE:
        return failure
    return Failure(
        type=cut_text(failure.type, _FAILURE_TYPE),
        message=cut_text(failure.message, _FAILURE_MESSAGE),
    )


def cut_text(text: str, length: int) -> str:
    """A text of so many characters at most; "…" stands for the rest."""
    return text if len(text) <= length else text[: length - 1] + "…"
