"""Exceptions and commits encoded for sending: redacted, masked, and limited in size."""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec.structs import replace

from .. import typed_json
from ..protocol.data_model import Commit, Failure, FileBody, FileChange
from ..protocol.header_limits import MAX_TRACEBACK_CHARS
from .agent_frames import format_agent_frames
from .payload import (
    FRAME_BYTES,
    PayloadEncoder,
    RedactKind,
    SecretMask,
    cut_text,
    escape_surrogates,
)
from .value_encoder import name_class

_MAX_ERROR_CHARS: Final = 10_000


def pack_failure(encoder: PayloadEncoder, error: BaseException) -> Failure:
    """Pack an exception."""
    value = {"type": name_class(type(error)), "message": _message(error)}
    if encoder.redact is not None:
        value = encoder.redact(RedactKind.ERROR, value)
    mask = SecretMask()
    return Failure(
        type=escape_surrogates(mask.text(str(value["type"]))),
        message=escape_surrogates(mask.text(str(value["message"]))),
    )


def pack_traceback(encoder: PayloadEncoder, error: BaseException) -> str:
    """Pack the frames of the agent's own code that an exception passed."""
    text = format_agent_frames(error)
    if encoder.redact is not None:
        text = str(encoder.redact(RedactKind.TRACEBACK, text))
    return cut_text(escape_surrogates(SecretMask().text(text)), MAX_TRACEBACK_CHARS)


def pack_commit(encoder: PayloadEncoder, commit: Commit) -> Commit:
    """Pack a commit. The contents of its largest files are left out where it is too large."""
    if encoder.redact is not None:
        redacted = encoder.redact(RedactKind.COMMIT, msgspec.to_builtins(commit))
        commit = typed_json.convert(redacted, Commit)
    mask = SecretMask()
    return replace(
        commit,
        title=escape_surrogates(mask.text(commit.title)),
        description=escape_surrogates(mask.text(commit.description)),
        changes=_within_limit(
            tuple(_masked(change, mask) for change in commit.changes),
            encoder.max_message_bytes - FRAME_BYTES,
        ),
    )


def _masked(change: FileChange, mask: SecretMask) -> FileChange:
    body = change.body and FileBody(
        diff=escape_surrogates(mask.text(change.body.diff)),
        content=escape_surrogates(mask.text(change.body.content)),
        previous_content=escape_surrogates(mask.text(change.body.previous_content)),
    )
    before = change.previous_path
    return replace(
        change,
        path=escape_surrogates(mask.text(change.path)),
        previous_path=before and escape_surrogates(mask.text(before)),
        body=body,
    )


def _message(error: BaseException) -> str:
    try:
        text = str(error)
    except Exception:
        text = "(its text can't be made)"
    return text if len(text) <= _MAX_ERROR_CHARS else text[:_MAX_ERROR_CHARS] + "…"


def _within_limit(changes: tuple[FileChange, ...], limit_bytes: int) -> tuple[FileChange, ...]:
    sizes = [len(msgspec.json.encode(change)) for change in changes]
    shortened = list(changes)
    for index in sorted(range(len(shortened)), key=sizes.__getitem__, reverse=True):
        if sum(sizes) <= limit_bytes:
            break
        change = shortened[index]
        size = len(change.body.content.encode()) if change.body else change.size
        shortened[index] = replace(change, body=None, size=size)
        sizes[index] = len(msgspec.json.encode(shortened[index]))
    return tuple(shortened)
