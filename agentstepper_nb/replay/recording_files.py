"""A recording as a JSON file, which a test replays where no Core and no store is.

The file has what was stored, so secrets are masked in it, and no hash: with the key of a run's hashes
anybody could try what was masked. The events are found by hashes that are made anew when it is read.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Final, Literal

import msgspec
from msgspec import UNSET, Struct, UnsetType

from .. import typed_json
from ..errors import ProtocolError
from ..protocol.data_model import EventKind, Failure
from ..protocol.field_types import ScopePath
from ..sdk.json_text import dump_json
from ..sdk.payload import SecretMask
from ..store.atomic_files import write_atomically
from .content_hashes import ContentHasher
from .event_matcher import EventKey, RecordedEvent
from .recordings import MASKED_REASON, Recording

#: The version that is written; older ones are read.
VERSION: Final = 1
_FORMAT: Final = "agentstepper recording"


class _FileEvent(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An event, as the file has it."""

    id: str
    seq: int
    end_seq: int | None = None
    at: float = 0.0
    kind: EventKind
    name: str | None = None
    scope: ScopePath = ()
    parent: str | None = None
    request: Any
    result: Any = UNSET  # left out where there is none, or none that can be served
    failure: Failure | None = None
    signal: Any = None  # the framework's exception by which it ended as it should
    refusal: str | None = None


class _RecordingFile(Struct, frozen=True, kw_only=True):
    """What the file has."""

    format: Literal["agentstepper recording"] = _FORMAT
    version: int = VERSION
    run: str
    program: str
    started_at: float = 0.0
    discovers_tools: bool = False
    events: tuple[_FileEvent, ...]


def write_recording(recording: Recording, path: str | PathLike[str]) -> None:
    """Write a recording as a JSON file, whole or not at all.

    Args:
        recording: The recording.
        path: The file; one that is there is replaced.

    Raises:
        OSError: It can't be written.
    """
    file = _RecordingFile(
        run=recording.run,
        program=recording.program,
        started_at=recording.started_at,
        discovers_tools=recording.discovers_tools,
        events=tuple(map(_to_file, recording.events)),
    )
    text = json.dumps(msgspec.to_builtins(file), indent=1, ensure_ascii=False)
    write_atomically(Path(path), f"{text}\n".encode())


def read_recording(path: str | PathLike[str], volatile: Sequence[str] = ()) -> Recording:
    """Read a recording from its JSON file.

    Args:
        path: The file.
        volatile: Regular expressions of what differs from one execution to the next, as for
            `load_recording`.

    Raises:
        ProtocolError: It is no recording, or a damaged one (`corrupt_import`), or a newer version of
            this package wrote it (`newer_import`).
        OSError: It can't be read.
        re.error: A pattern can't be understood.
    """
    path = Path(path)
    try:
        data = json.loads(path.read_bytes())
        if isinstance(data, dict) and isinstance(data.get("version"), int):
            _check_version(path, data["version"])
        file = typed_json.convert(data, _RecordingFile)
    except ProtocolError:  # a ValueError, too
        raise
    except ValueError as error:  # msgspec's, json's and UTF-8's
        raise ProtocolError(
            "corrupt_import",
            f"{path} is no recording of a run: {error}. Export the run again, or record it anew by "
            "`pytest --agentstepper-record`.",
        ) from None
    hasher = ContentHasher(None, tuple(volatile))
    return Recording(
        run=file.run,
        program=file.program,
        events=tuple(_from_file(event, hasher) for event in file.events),
        hasher=hasher,
        started_at=file.started_at,
        discovers_tools=file.discovers_tools,
    )


def _check_version(path: Path, version: int) -> None:
    if version > VERSION:
        raise ProtocolError(
            "newer_import",
            f"{path} has version {version} of recordings, and this package reads up to {VERSION}. "
            "Update agentstepper_nb.",
        )


def _to_file(event: RecordedEvent) -> _FileEvent:
    result, signal, refusal = event.result, event.signal, event.refusal
    served = result or signal
    if served is not None and refusal is None and SecretMask().json(served) != served:
        refusal = MASKED_REASON  # a variable that this process has
    failure, mask = event.failure, SecretMask()
    if failure is not None:
        failure = Failure(type=mask.text(failure.type), message=mask.text(failure.message))
    return _FileEvent(
        id=event.id,
        seq=event.seq,
        end_seq=event.end_seq,
        at=event.at,
        kind=event.key.kind,
        name=event.key.name,
        scope=event.key.scope,
        parent=event.parent,
        request=json.loads(SecretMask().json(event.request)),
        result=UNSET if result is None or refusal is not None else json.loads(result),
        failure=failure,
        signal=None if signal is None else json.loads(SecretMask().json(signal)),
        refusal=refusal,
    )


def _from_file(event: _FileEvent, hasher: ContentHasher) -> RecordedEvent:
    request = dump_json(event.request)
    return RecordedEvent(
        id=event.id,
        seq=event.seq,
        end_seq=event.end_seq,
        at=event.at,
        key=EventKey(event.scope, event.kind, event.name, hasher.hash(request)),
        request=request,
        parent=event.parent,
        result=None if isinstance(event.result, UnsetType) else dump_json(event.result),
        failure=event.failure,
        signal=None if event.signal is None else dump_json(event.signal),
        refusal=event.refusal,
    )
