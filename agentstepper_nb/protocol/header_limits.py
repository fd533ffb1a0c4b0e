"""Sizes of texts, and bounds on those of a run's header: every view is sent the headers of all runs."""

from __future__ import annotations

from typing import Any, Final

from msgspec import UNSET
from msgspec.structs import replace

from .data_model import Failure, Run
from .seams import RunSeams

#: Characters of each text.
_MAX_FIELD_CHARS: Final = {
    "name": 1000,
    "program": 1000,
    "workspace": 4096,
    "host": 255,
    "last_event": 1000,
    "notice": 1000,
}
_MAX_FAILURE_TYPE_CHARS: Final = 1000
_MAX_FAILURE_MESSAGE_CHARS: Final = 10_000
#: Seams, and tools, of a run, and characters of each of their texts.
MAX_SEAMS: Final = 50
MAX_FOUND_TOOLS: Final = 100
MAX_SEAM_CHARS: Final = 200
#: Characters of a traceback.
MAX_TRACEBACK_CHARS: Final = 20_000


def count_utf8_bytes(text: str) -> int:
    """The size of a text in bytes."""
    return len(text) if text.isascii() else len(text.encode())


def truncate_header(run: Run) -> Run:
    """A run's header with its texts cut to their bounds; itself where none is too long."""
    changes: dict[str, Any] = {}
    for name, length in _MAX_FIELD_CHARS.items():
        text = getattr(run, name)
        if text is not None and len(text) > length:
            changes[name] = truncate_text(text, length)
    if run.failure is not None and (failure := truncate_failure(run.failure)) is not run.failure:
        changes["failure"] = failure
    if run.seams is not UNSET and (seams := _truncate_seams(run.seams)) != run.seams:
        changes["seams"] = seams
    return replace(run, **changes) if changes else run


def _truncate_seams(seams: RunSeams) -> RunSeams:
    return RunSeams(
        seams=tuple(
            replace(
                each,
                library=truncate_text(each.library, MAX_SEAM_CHARS),
                version=truncate_text(each.version, MAX_SEAM_CHARS),
                reason=truncate_text(each.reason, MAX_SEAM_CHARS),
            )
            for each in seams.seams[:MAX_SEAMS]
        ),
        tools=tuple(
            replace(each, name=truncate_text(each.name, MAX_SEAM_CHARS))
            for each in seams.tools[:MAX_FOUND_TOOLS]
        ),
        discovery_off_reason=truncate_text(seams.discovery_off_reason, MAX_SEAM_CHARS),
    )


def truncate_failure(failure: Failure) -> Failure:
    """A failure with its texts cut to their bounds; itself where none is too long."""
    if (
        len(failure.type) <= _MAX_FAILURE_TYPE_CHARS
        and len(failure.message) <= _MAX_FAILURE_MESSAGE_CHARS
    ):
        return failure
    return Failure(
        type=truncate_text(failure.type, _MAX_FAILURE_TYPE_CHARS),
        message=truncate_text(failure.message, _MAX_FAILURE_MESSAGE_CHARS),
    )


def truncate_text(text: str, length: int) -> str:
    """A text of so many characters at most; "…" stands for the rest."""
    return text if len(text) <= length else text[: length - 1] + "…"
