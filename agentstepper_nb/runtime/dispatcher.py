"""The worker's dispatcher: claims actions from the Core's queue, and executes each.

The store decides which action is ready, which worker has a session, and which write is valid. A
dispatcher may therefore die at any moment, be suspended, or lose its Core, and nothing is done twice.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, Final, Protocol

from ..errors import AgentStopped, CommandError
from ..json_log import set_log_fields
from ..protocol.runtime import Action, ActionKind, ActionStatus, AgentState
from ..protocol.runtime_requests import SubscribeWakes
from ..protocol.runtime_store_messages import (
    ActionCompletion,
    ClaimAction,
    ReleaseLeases,
    RenewedLeases,
    RenewLeases,
    SessionWrite,
)
from .session_writer import to_storable_text
from .worker_capacity import WorkerCapacity

if TYPE_CHECKING:
    from .remote_queue import RemoteQueue

#: Seconds that a lease lasts, and between two looks at the queue that nothing woke.
LEASE_S: Final = 10.0
POLL_S: Final = 1.0
#: Actions that are under way at once.
MAX_ACTIONS: Final = 200
#: The part of a lease after which it is renewed: two renewals may fail before it is over.
_RENEWAL_FRACTION: Final = 0.3
#: Seconds between two streams of wakes: one that ends at once must not spin.
_RECONNECT_PAUSE_S: Final = 0.05
#: Seconds that giving the leases back may take, at the end.
_RELEASE_TIMEOUT_S: Final = 1.0
#: Refusals that say: this is somebody else's by now.
LOST_CLAIM_CODES: Final = frozenset({"stale_epoch", "stale_claim"})

#: Does an action, and keeps that it is done together with what it did. What it raises is kept as the
#: action's error. It is given the action's session as it stood when the action was claimed.
Handler = Callable[[Action, AgentState | None], Awaitable[None]]


class LocalSessions(Protocol):
    """The sessions that live where actions are dispatched."""

    async def adopt(self) -> None:
        """Adopt sessions that no worker has any more."""

    def local_epochs(self) -> Mapping[str, int]:
        """The epoch of each session that lives here."""

    async def drop_lost_sessions(
        self, epochs_before: Mapping[str, int], renewed: RenewedLeases
    ) -> Collection[str]:
        """Let go of those that aren't ours any more.

        Args:
            epochs_before: What was held when the renewal was asked for.
            renewed: Its answer.

        Returns:
            The ids of those that were let go.
        """


class NoSessions:
    """No sessions: for handlers that keep nothing."""

    async def adopt(self) -> None:
        """Adopt nothing."""

    def local_epochs(self) -> Mapping[str, int]:
        """None."""
        return {}

    async def drop_lost_sessions(
        self, epochs_before: Mapping[str, int], renewed: RenewedLeases
    ) -> Collection[str]:
        """Drop nothing."""
        return ()


class Dispatcher:
    """Claims actions one at a time until none is ready, and executes each in a task of its own.

    Args:
        queue: The Core's queue.
        handlers: The handlers, by the kind of action.
        owner: The claims' owner: a unique name, different from that of an earlier activation.
        clock: Returns POSIX seconds.
        log: The log of failures.
        local_sessions: The sessions that run in this worker.
        lease_s: The duration of leases, in seconds.
        poll_s: Seconds between two polls without a wake-up.
        max_actions: The most actions in progress at once.
        capacity: The worker's capacity; None: no limit.
    """

    def __init__(
        self,
        queue: RemoteQueue,
        handlers: Mapping[ActionKind, Handler],
        *,
        owner: str,
        clock: Callable[[], float],
        log: logging.Logger,
        local_sessions: LocalSessions | None = None,
        lease_s: float = LEASE_S,
        poll_s: float = POLL_S,
        max_actions: int = MAX_ACTIONS,
        capacity: WorkerCapacity | None = None,
    ) -> None:
        self._queue = queue
        self._handlers = handlers
        self._owner = owner
        self._clock = clock
        self._log = log
        self._local_sessions = local_sessions or NoSessions()
        self._lease_s = lease_s
        self._poll_s = poll_s
        self._max_actions = max_actions
        self._capacity = capacity or WorkerCapacity()
        self._capacity.count_sessions = lambda: len(self._list_session_ids())
        self._wake_requested = asyncio.Event()
        self._renewal_due = asyncio.Event()
        self._idle = asyncio.Event()  # no action is being done
        self._idle.set()
        self._loops: dict[str, asyncio.Task[None]] = {}
        self._running: dict[str, tuple[Action, asyncio.Task[None]]] = {}

    @property
    def running_actions(self) -> tuple[Action, ...]:
        """The actions that are being done."""
        return tuple(action for action, _ in self._running.values())

    def start(self) -> None:
        """Begin to claim."""
        for name, iteration in (
            ("wakes", self._listen_for_wakes),
            ("poll", self._poll),
            ("renew", self._renew),
            ("claim", self._claim),
        ):
            task = asyncio.create_task(
                self._run_repeatedly(name, iteration), name=f"dispatcher {name}"
            )
            self._loops[name] = task

    async def close(self) -> None:
        """Stop claiming, and cancel the actions in progress, which stay open for others. Idempotent."""
        loops, self._loops = self._loops, {}
        tasks = [*loops.values(), *(task for _, task in self._running.values())]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def stop_listening(self) -> None:
        """Be no dispatcher any more in the Core's eyes; the actions of own sessions are still done."""
        if "wakes" in self._loops:
            self._loops["wakes"].cancel()

    async def wait_idle(self) -> None:
        """Wait until no action is being done."""
        await self._idle.wait()

    async def release(self) -> None:
        """Release all leases, so that other workers needn't wait for their end. Call after `close`."""
        request = ReleaseLeases(owner=self._owner, until=self._clock(), is_handover=True)
        await release_leases(self._queue, request, self._log)

    # ---- loops --------------------------------------------------------------------------------------

    async def _run_repeatedly(self, name: str, iteration: Callable[[], Awaitable[None]]) -> None:
        """Take one turn after the other, whatever becomes of it."""
        last_error = ""
        while True:
            try:
                await iteration()
            except Exception as error:
                if str(error) != last_error:  # what goes on failing is told once
                    self._log.warning("the dispatcher's %s failed", name, exc_info=error)
                    last_error = str(error)
                await asyncio.sleep(self._poll_s)
            else:
                last_error = ""

    async def _listen_for_wakes(self) -> None:
        request = SubscribeWakes(owner=self._owner, offer=self._capacity.offer)
        async with aclosing(self._queue.wakes(request)) as wakes:
            # Leases are cut where a connection breaks: with the next one they are ours again.
            async for _ in wakes:
                self._wake_requested.set()
                self._renewal_due.set()
                break
            async for _ in wakes:
                self._wake_requested.set()
        await asyncio.sleep(_RECONNECT_PAUSE_S)

    async def _poll(self) -> None:
        await self._local_sessions.adopt()
        self._wake_requested.set()
        await asyncio.sleep(self._poll_s)

    async def _renew(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(self._lease_s * _RENEWAL_FRACTION):
                await self._renewal_due.wait()
        self._renewal_due.clear()
        before = self._local_sessions.local_epochs()
        now = self._clock()
        session_ids = self._list_session_ids()
        renewed = await self._queue.renew(
            RenewLeases(
                owner=self._owner,
                now=now,
                lease_until=now + self._lease_s,
                sessions=tuple(session_ids),
            )
        )
        lost_ids = await self._local_sessions.drop_lost_sessions(before, renewed)
        for action, task in list(self._running.values()):
            if action.session_id in lost_ids and action.id not in renewed.actions:
                task.cancel()

    async def _claim(self) -> None:
        await self._wake_requested.wait()
        self._wake_requested.clear()
        while len(self._running) < self._max_actions:
            async with self._capacity.take() as room:
                now = self._clock()
                claimed = await self._queue.claim(
                    ClaimAction(
                        owner=self._owner,
                        now=now,
                        lease_until=now + self._lease_s,
                        held=tuple(self._running),
                        offer=self._capacity.choose_offer(room),
                    )
                )
                if claimed.action is None:
                    return
                self._start_action(claimed.action, claimed.state)

    def _list_session_ids(self) -> set[str]:
        """The sessions that live here, and those of the actions that are being done."""
        running_ids = (action.session_id for action in self.running_actions)
        return {*self._local_sessions.local_epochs(), *running_ids}

    # ---- one action ---------------------------------------------------------------------------------

    def _start_action(self, action: Action, state: AgentState | None) -> None:
        if action.id in self._running:
            return  # its lease was over, and is ours again: it goes on
        task = asyncio.create_task(
            self._execute(action, state), name=f"action {action.kind} {action.id}"
        )
        self._running[action.id] = (action, task)
        self._idle.clear()
        task.add_done_callback(lambda _: self._on_action_done(action.id))

    def _on_action_done(self, id: str) -> None:
        _, task = self._running.pop(id)
        if not self._running:
            self._idle.set()
        self._wake_requested.set()  # its session's next one may be ready, and there is room
        if not task.cancelled() and (error := task.exception()) is not None:
            self._log.error("the task of action %s failed", id, exc_info=error)

    async def _execute(self, action: Action, state: AgentState | None) -> None:
        """Have it done; whatever that raises, the action doesn't stay open, unless we are to end."""
        set_log_fields(action_id=action.id, session_id=action.session_id)
        try:
            await self._handlers[action.kind](action, state)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise  # somebody else will do it
            await self._record_failure(
                action, state, RuntimeError("The action was cancelled by code that it called.")
            )
        except (Exception, AgentStopped, BaseExceptionGroup) as error:
            await self._record_failure(action, state, error)

    async def _record_failure(
        self, action: Action, state: AgentState | None, error: BaseException
    ) -> None:
        if isinstance(error, CommandError) and error.code in LOST_CLAIM_CODES:
            self._log.info("the action %s now belongs to another worker: %s", action.id, error)
            await asyncio.sleep(self._poll_s)
            return
        if not isinstance(error, CommandError):
            self._log.warning("the action %s %s failed", action.kind, action.id, exc_info=error)
        try:
            await self._queue.write(self._make_failure_write(action, state, error))
        except Exception as refused:
            # While it is held it isn't claimed again: so what can't be marked doesn't spin.
            self._log.warning("the action %s can't be marked as ended: %s", action.id, refused)
            await asyncio.sleep(self._poll_s)

    def _make_failure_write(
        self, action: Action, state: AgentState | None, error: BaseException
    ) -> SessionWrite:
        completion = ActionCompletion(
            id=action.id,
            owner=self._owner,
            status=ActionStatus.FAILED,
            error=describe_error(error),
            processed_at=self._clock(),
        )
        return SessionWrite(
            session_id=action.session_id,
            epoch=0 if state is None else state.epoch,
            owner=self._owner,
            finished=(completion,),
        )


async def release_leases(queue: RemoteQueue, request: ReleaseLeases, log: logging.Logger) -> None:
    """Release leases. If the Core can't be reached, the leases expire.

    Args:
        queue: The Core's queue.
        request: The leases.
        log: The log of failures.
    """
    try:
        async with asyncio.timeout(_RELEASE_TIMEOUT_S):
            await queue.release(request)
    except (TimeoutError, CommandError) as error:
        log.info("the leases could not be released, and expire by themselves: %s", error)


def describe_error(error: BaseException) -> str:
    """An error as it is kept, for a person.

    Args:
        error: Ours speak for themselves; others are named.
    """
    text = str(error) if isinstance(error, CommandError) else f"{type(error).__name__}: {error}"
    return to_storable_text(text)
