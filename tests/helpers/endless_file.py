"""A file of a run that takes for ever to read."""

from __future__ import annotations

import threading

from agentstepper_nb.protocol.json_limits import CheckCancelled
from agentstepper_nb.protocol.records import RunHistory
from tests.helpers.histories import make_full_history


class EndlessLoader:
    """A loader that works until it is told to end."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.ended = threading.Event()

    def __call__(self, data: bytes, run_id: str, *, check: CheckCancelled) -> RunHistory:
        self.begun.set()
        try:
            while data == b"endless":
                check()
        finally:
            self.ended.set()
        return make_full_history()
