"""The history of one run for effect checks, built from calls, file changes and ends, in order."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Final

import msgspec
from msgspec import UNSET

from ...protocol.data_model import Commit, EventOutcome, FileChange
from ...protocol.effects import EffectReport
from .checks import EffectChecks
from .claims import EXISTS, read_claims
from .effect_input import (
    EarlierCall,
    EffectInput,
    FileEffect,
    find_content,
    find_read_path,
    find_subjects,
    find_target,
    is_same_file,
)
from .repetition import RepetitionCounter

#: Earlier calls that checks see, and characters of each one's arguments.
_MAX_EARLIER: Final = 50
_MAX_ARGUMENT_CHARS: Final = 8000
#: Files whose contents are remembered, by a digest; open calls; and files of one call.
_MAX_FILES: Final = 500
_MAX_OPEN: Final = 1000
_MAX_CHANGES: Final = 200
#: Bytes of a call or a result that are read; larger ones aren't checked.
_MAX_READ_BYTES: Final = 1 << 20


@dataclass(slots=True)
class _OpenCall:
    tool: str
    data: bytes
    changes: list[FileEffect] = field(default_factory=list)


@dataclass(slots=True)
class _KnownFile:
    digest: bytes
    seq: int  # the row at which it was seen to hold that


class EffectTracker:
    """The bounded memory of one run.

    Args:
        checks: The checks to make.
        workspace: The agent's folder; "" where none is known.
        takes_snapshots: Whether the agent reports changes at each tool's end: version 1's agents don't.
    """

    def __init__(
        self, checks: EffectChecks, workspace: str = "", *, takes_snapshots: bool = True
    ) -> None:
        self._checks = checks
        self._workspace = workspace
        self._takes_snapshots = takes_snapshots
        self._is_watched = False
        self._change_count = 0
        self._open: OrderedDict[str, _OpenCall] = OrderedDict()
        self._earlier: deque[EarlierCall] = deque(maxlen=_MAX_EARLIER)
        self._files: OrderedDict[str, _KnownFile] = OrderedDict()
        self._repetition = RepetitionCounter()

    def record_commit(self, commit: Commit) -> None:
        """Files of the workspace changed, or it was looked at for the first time."""
        self.record_changes(commit.changes)

    def record_changes(self, changes: tuple[FileChange, ...]) -> None:
        """Files of the workspace changed; none, where it was looked at for the first time."""
        self._is_watched = self._takes_snapshots
        self._change_count += len(changes)
        seen = [FileEffect(each.path, each.kind, each.previous_path) for each in changes]
        # Of calls at the same time each may have done it.
        for call in self._open.values():
            call.changes += seen[: max(0, _MAX_CHANGES - len(call.changes))]
        for each in changes:
            self._learn(each.path, None if each.body is None else each.body.content, 0)

    def begin(self, event: str, tool: str | None, data: bytes) -> None:
        """Record the begin of a tool call.

        Args:
            event: The event's id.
            tool: The tool's name.
            data: The call, as JSON text.
        """
        self._open[event] = _OpenCall(tool or "", data)
        while len(self._open) > _MAX_OPEN:
            self._open.popitem(last=False)

    def record_edit(self, event: str, data: bytes) -> None:
        """A person edited a call before it was made."""
        if event in self._open:
            self._open[event].data = data

    def forget(self, event: str) -> None:
        """A call isn't made: a person denied it, or gave its result."""
        self._open.pop(event, None)

    def end(
        self, event: str, seq: int, data: bytes, outcome: EventOutcome = EventOutcome.OK
    ) -> EffectReport | None:
        """Record the end of a tool call, and check its effect.

        Args:
            event: The event's id.
            seq: The number of the call's row.
            data: The call's result, as JSON text.
            outcome: The outcome of the call.

        Returns:
            The marks and the repetition; None where there are none.
        """
        call = self._open.pop(event, None)
        if call is None or max(len(call.data), len(data)) > _MAX_READ_BYTES:
            return None
        if outcome is EventOutcome.STOPPED:
            return None
        value = _decode(data)
        tool, arguments = _read_call(call)
        sorted_arguments = _encode_sorted(arguments)
        made = self._make_input(tool, arguments, sorted_arguments, value, outcome, call)
        marks = self._checks.run(made)
        self._remember(made, seq)
        repetition = self._repetition.count(tool, sorted_arguments, data, seq, self._change_count)
        if not marks and repetition is None:
            return None
        return EffectReport(marks=marks, repetition=UNSET if repetition is None else repetition)

    def _make_input(
        self,
        tool: str,
        arguments: Any,
        sorted_arguments: bytes,
        result: Any,
        outcome: EventOutcome,
        call: _OpenCall,
    ) -> EffectInput:
        paths, deletes, command = find_target(tool, arguments)
        return EffectInput(
            tool=tool,
            arguments=arguments,
            result=result,
            outcome=outcome,
            claims=read_claims(result),
            changes=tuple(call.changes),
            is_watched=self._is_watched,
            workspace=self._workspace,
            earlier=tuple(self._earlier),
            arguments_text=sorted_arguments[:_MAX_ARGUMENT_CHARS].decode("utf-8", "replace"),
            same_content=self._find_same(paths, arguments),
            paths=paths,
            deletes=deletes,
            command=command,
            subjects=find_subjects(arguments),
        )

    def _find_same(self, paths: tuple[str, ...], arguments: Any) -> int | None:
        content = find_content(arguments)
        known = self._find_file(paths[0]) if len(paths) == 1 else None
        if content is None or known is None or known.digest != _digest(content):
            return None
        return known.seq

    def _find_file(self, path: str) -> _KnownFile | None:
        if path in self._files:
            return self._files[path]
        return next(
            (known for name, known in self._files.items() if is_same_file(path, name)), None
        )

    def _remember(self, call: EffectInput, seq: int) -> None:
        earlier = EarlierCall(
            seq,
            call.tool,
            call.arguments_text,
            call.paths,
            call.has_failed,
            call.subjects,
            EXISTS.search(call.claims.text) is not None,
        )
        self._earlier.append(earlier)
        if call.has_failed:
            return
        content = find_content(call.arguments)
        if content is not None and len(call.paths) == 1 and call.has_changed(call.paths[0]):
            known = self._find_file(call.paths[0])
            if known is None:  # too large to travel
                self._learn(call.paths[0], content, seq)
            elif known.digest == _digest(content):  # else a formatter has changed it since
                known.seq = seq
        path = find_read_path(call.tool, call.arguments)
        if path is not None and isinstance(call.result, str):
            self._learn(path, call.result, seq)

    def _learn(self, path: str, content: str | None, seq: int) -> None:
        """A file was seen to hold a text; None: it is not known which."""
        before = self._files.pop(path, None)
        if content is None:
            return
        digest = _digest(content)
        if before is not None and before.digest == digest and before.seq:
            seq = before.seq if seq == 0 else seq
        self._files[path] = _KnownFile(digest, seq)
        while len(self._files) > _MAX_FILES:
            self._files.popitem(last=False)


def _read_call(call: _OpenCall) -> tuple[str, Any]:
    value = _decode(call.data)
    name, arguments = call.tool, value
    if isinstance(value, Mapping) and "Tool" in value:
        name, arguments = str(value.get("Tool") or name), value.get("Argument")
    if isinstance(arguments, str):  # JSON, as the model wrote it
        parsed = _decode(arguments.encode("utf-8", "replace"))
        arguments = parsed if isinstance(parsed, Mapping) else arguments
    return name, arguments


def _decode(data: bytes) -> Any:
    try:
        return msgspec.json.decode(data)
    except (ValueError, RecursionError):
        return data.decode("utf-8", "replace")


def _encode_sorted(value: Any) -> bytes:
    try:
        return msgspec.json.encode(value, order="deterministic")
    except (ValueError, RecursionError):
        return b""


def _digest(content: str) -> bytes:
    text = content.rstrip().encode("utf-8", "surrogatepass")
    return blake2b(text, digest_size=16).digest()
