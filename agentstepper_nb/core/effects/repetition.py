"""Calls that come again with the same result, and cycles of calls."""

from __future__ import annotations

import re
from collections import OrderedDict, deque
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final

from ...protocol.effects import Repetition

#: Calls of one run that are remembered; the oldest go.
_MAX_CALLS: Final = 2000
#: Calls of the longest cycle, and how often a cycle has come before it is one.
_MAX_CYCLE: Final = 6
_MIN_CYCLES: Final = 3
#: Bytes of a result in which times and addresses are looked for.
_MAX_CLEANED_BYTES: Final = 8192
#: Parts of a result that differ each time without meaning: times, addresses in memory.
_VOLATILE: Final = re.compile(rb"\b\d+\.\d+ ?(?:m|u|n)?s\b|\b0x[0-9a-f]{6,16}\b")


@dataclass(slots=True)
class _Call:
    result: bytes
    first: int
    last: int
    count: int
    changes: int  # how many files had changed in the run by then


class RepetitionCounter:
    """Counts repeated calls of one run."""

    def __init__(self) -> None:
        self._calls: OrderedDict[bytes, _Call] = OrderedDict()
        self._recent: deque[bytes] = deque(maxlen=_MAX_CYCLE * (_MIN_CYCLES + 1))
        self._recent_seqs: deque[int] = deque(maxlen=_MAX_CYCLE * (_MIN_CYCLES + 1))
        self._cycle_count = 0
        self._cycle_length = 0

    def count(
        self, tool: str, arguments: bytes, result: bytes, seq: int, changes: int
    ) -> Repetition | None:
        """Count a call that ended.

        Args:
            tool: The tool's name.
            arguments: The arguments, as JSON with sorted keys.
            result: The result, as JSON.
            seq: The row of the call's end.
            changes: The number of file changes in the run so far.

        Returns:
            The repetition; None where the call repeats nothing.
        """
        key = _digest(tool.encode("utf-8", "surrogatepass"), arguments)
        is_long = len(result) > _MAX_CLEANED_BYTES
        outcome = _digest(result if is_long else _VOLATILE.sub(b"", result))
        cycle = self._count_cycle(key, seq)
        before = self._calls.pop(key, None)
        if before is None or before.result != outcome:
            self._calls[key] = _Call(outcome, seq, seq, 1, changes)
            if len(self._calls) > _MAX_CALLS:
                self._calls.popitem(last=False)
            return cycle
        last, is_unchanged = before.last, before.changes == changes
        before.count += 1
        before.last, before.changes = seq, changes
        self._calls[key] = before
        if cycle is not None:
            return cycle
        return Repetition(
            count=before.count, first=before.first, last=last, is_unchanged=is_unchanged
        )

    def _count_cycle(self, key: bytes, seq: int) -> Repetition | None:
        """The cycle that a call ends, where the calls before it came in one."""
        self._recent.append(key)
        self._recent_seqs.append(seq)
        recent = list(self._recent)
        for length in range(2, _MAX_CYCLE + 1):
            span = length * _MIN_CYCLES
            if len(recent) < span or len(set(recent[-length:])) == 1:
                continue
            if all(recent[-at] == recent[-at - length] for at in range(1, span - length + 1)):
                return self._say_cycle(length, seq)
        self._cycle_length = 0
        return None

    def _say_cycle(self, length: int, seq: int) -> Repetition | None:
        """Report a cycle each time it is complete."""
        if self._cycle_length != length:
            self._cycle_length, self._cycle_count = length, 0
        self._cycle_count += 1
        if (self._cycle_count - 1) % length:
            return None
        seqs = list(self._recent_seqs)
        return Repetition(
            count=_MIN_CYCLES + (self._cycle_count - 1) // length,
            first=seqs[-length * _MIN_CYCLES],
            last=seqs[-length - 1],
            cycle=length,
        )


def _digest(*parts: bytes) -> bytes:
    made = blake2b(digest_size=16)
    for part in parts:
        made.update(len(part).to_bytes(8, "little"))
        made.update(part)
    return made.digest()
