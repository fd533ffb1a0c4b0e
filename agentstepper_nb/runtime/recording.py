"""What a session's agent needs of the place where it runs."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from ..protocol.runtime_asks import Write, Written


class Recorder(Protocol):
    """Keeps what becomes of a session."""

    async def write(self, ask: Write) -> Written:
        """Keep it, all or nothing. Where the Core is away it waits until it is back, and writes again.

        Raises:
            CommandError: `stale_epoch`: another worker has the session; `stale_claim`,
                `unknown_session`, `duplicate_step`.
        """


@dataclass(frozen=True)
class Surroundings:
    """Where a session's agent runs.

    Args:
        owner: The worker, as its claims name it.
        recorder: Keeps what becomes of sessions.
        data_dir: The folder of this installation's runs.
        log: The worker's.
        clock: Gives POSIX seconds.
        new_id: Gives ids.
        debugger: Whether sessions are shown in the debugger.
    """

    owner: str
    recorder: Recorder
    data_dir: Path
    log: logging.Logger
    clock: Callable[[], float]
    new_id: Callable[[], str]
    debugger: bool = True
