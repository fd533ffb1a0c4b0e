"""`agentstepper serve` that kills itself, by SIGKILL, at a certain point of what it does.

    python -m tests.crash_recovery.faults POINT COUNT serve …

At the COUNTth time that it gets to the point it is gone: no handler, no flush.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from typing import Any

from agentstepper_nb.cli import main
from agentstepper_nb.hub.agents_v2 import AgentPeerSessionV2
from agentstepper_nb.hub.hub import Hub
from agentstepper_nb.protocol.records import HaltPointEdited, Record
from agentstepper_nb.store.sqlite.database import TransactionJournal
from agentstepper_nb.store.sqlite.record_writer import RecordWriter


class KillPoint(StrEnum):
    """Where a Core dies."""

    BEFORE_COMMIT = "before_commit"
    AFTER_COMMIT = "after_commit"  # recorded; nobody was answered, told or acknowledged
    BEFORE_TELLING = "before_telling"  # the agent has its answer, the UIs don't know
    IN_EDIT = "in_edit"  # an edit is written, and not yet committed
    ANYWHERE = "anywhere"  # from outside, whatever it does


class Countdown:
    """Dies at the given time."""

    def __init__(self, count: int) -> None:
        self._left = count

    def tick(self) -> None:
        self._left -= 1
        if self._left == 0:
            os.kill(os.getpid(), signal.SIGKILL)


def arm(point: KillPoint, countdown: Countdown) -> None:
    """Put the trap where it belongs."""
    match point:
        case KillPoint.BEFORE_COMMIT:
            _before_commit(countdown)
        case KillPoint.AFTER_COMMIT:
            _after_commit(countdown)
        case KillPoint.BEFORE_TELLING:
            _before_telling(countdown)
        case KillPoint.IN_EDIT:
            _in_edit(countdown)


def _before_commit(countdown: Countdown) -> None:
    finish = RecordWriter.finish

    def finish_and_die(self: RecordWriter) -> Any:
        touched = finish(self)
        countdown.tick()
        return touched

    RecordWriter.finish = finish_and_die  # type: ignore[method-assign]


def _after_commit(countdown: Countdown) -> None:
    transaction = TransactionJournal.transaction

    @contextmanager
    def transact_and_die(self: TransactionJournal, *, full: bool) -> Iterator[None]:
        with transaction(self, full=full):
            yield
        countdown.tick()

    start = Hub.start

    async def armed(self: Hub) -> None:
        await start(self)
        TransactionJournal.transaction = transact_and_die  # type: ignore[method-assign,assignment]

    Hub.start = armed  # type: ignore[method-assign]


def _before_telling(countdown: Countdown) -> None:
    reply = AgentPeerSessionV2.reply

    def reply_and_die(self: AgentPeerSessionV2, *args: Any) -> None:
        reply(self, *args)
        countdown.tick()

    AgentPeerSessionV2.reply = reply_and_die  # type: ignore[method-assign]


def _in_edit(countdown: Countdown) -> None:
    keep = RecordWriter.write_record

    def keep_and_die(self: RecordWriter, record: Record) -> None:
        keep(self, record)
        if isinstance(record, HaltPointEdited):
            countdown.tick()

    RecordWriter.write_record = keep_and_die  # type: ignore[method-assign]


def run(arguments: Sequence[str]) -> int:
    point, count, *command = arguments
    arm(KillPoint(point), Countdown(int(count)))
    return main(command)


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
