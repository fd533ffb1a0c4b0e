"""The transport of a run that no Core carries: before the run is opened, and in tests without a Core."""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import Empty

from ..discover import CoreEndpoint
from .connection_state import RunConnectionEvent, RunConnectionState
from .core_location import OFFLINE_URL
from .outbox import Outbox, RunTransport


class NoTransport(RunTransport):
    """Carries no messages: a run's transport until the run is opened.

    Args:
        endpoint: The Core's endpoint.
    """

    def __init__(self, endpoint: CoreEndpoint) -> None:
        self.outboxes: dict[str, Outbox] = {}
        self._endpoint = endpoint

    @property
    def endpoint(self) -> CoreEndpoint:
        """The Core's endpoint."""
        return self._endpoint

    def signal(self, outbox: Outbox, is_immediate: bool) -> None:
        """Do nothing: the next transport reads the messages that were queued before."""

    def forget(self, run: str) -> None:
        """Do nothing: this transport stores nothing about a run."""

    def give_up(self, outbox: Outbox) -> None:
        """There is nothing to give up on."""


class OfflineTransport(RunTransport):
    """Takes in what one run sends, and drops it. No thread and no socket is used.

    Nothing is recorded or shown: each halt point passes unedited, and the run's end is the end.

    Args:
        outbox: The run's.
    """

    def __init__(self, outbox: Outbox) -> None:
        self.outboxes = {outbox.protocol.id: outbox}
        self._lock = threading.RLock()  # a finalizer may come here while this thread is here
        outbox.protocol.apply_event(RunConnectionEvent.ABANDONED)
        outbox.protocol.listener.on_lease_absent()
        outbox.transport = self
        self.signal(outbox, is_immediate=True)

    @property
    def endpoint(self) -> CoreEndpoint:
        """The address of no Core."""
        return CoreEndpoint(OFFLINE_URL)

    def signal(self, outbox: Outbox, is_immediate: bool) -> None:
        """Accept an outbox's new messages, and release the threads that wait for space."""
        for effect in self._accept(outbox):
            effect()

    def forget(self, run: str) -> None:
        """A run is over."""
        self.outboxes.pop(run, None)

    def give_up(self, outbox: Outbox) -> None:
        """There is nothing to give up on."""

    def _accept(self, outbox: Outbox) -> list[Callable[[], object]]:
        """Accept the queued items; returns the actions to execute without the lock."""
        run = outbox.protocol
        with self._lock:
            try:
                while True:
                    run.accept_item(outbox.inbox.get_nowait(), 0)
            except Empty:
                pass
            run.release_waiting()
            if run.is_closing and run.state is not RunConnectionState.ENDED:
                run.end(None)
            effects, run.effects = run.effects, []
        return effects
