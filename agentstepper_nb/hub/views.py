"""The base class of UI sessions of both protocol versions."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, Final, NamedTuple

from ..core import RecordOutput
from ..core.summaries import extract_first_line
from ..errors import ProtocolError
from ..protocol.store_info import StoreInfo
from .connection import AccessRights, Connection
from .error_replies import make_error_reply
from .peers import ViewPeer
from .run_service import RunService

#: The error of a command that changes something, if the UI lacks the right.
WATCH_ONLY: Final = (
    "This login may watch, not control: ask for the right to execute on this server."
)


class RequestedEdit(NamedTuple):
    """An edit that a command brings."""

    run: str
    halt_point: str
    edit: str
    revision: int | None = None


class ViewSession(ABC):
    """The session of one UI's connection, of either version."""

    def __init__(self, hub: RunService, connection: Connection, rights: AccessRights) -> None:
        self.hub = hub
        self.connection = connection
        self.rights = rights
        self._open_reads = 0  # what is read from the store right now
        self._deferred: list[
            tuple[RecordOutput, ViewPeer | None]
        ] = []  # to be told once it is sent
        self._tasks: set[asyncio.Task[None]] = set()
        self._lock = asyncio.Lock()
        self._background_lock = asyncio.Lock()
        self._decision_lock = asyncio.Lock()
        self._pending_decisions = 0  # commands whose edits agents look at, and those behind them

    def receive(self, text: str) -> None:
        """Handle a text frame."""
        if self.hub.closing:
            return
        try:
            self._receive(text)
        except Exception as error:
            self._refuse(error, text)

    def receive_binary(self) -> None:
        """Refuse a binary frame; the connection stays open."""
        self._refuse(
            ProtocolError("binary_frame", "The message came as a binary frame. Send text frames."),
            "",
        )

    def on_closed(self) -> None:
        """Handle the connection's end."""
        for task in self._tasks:
            task.cancel()
        self.hub.unregister_view(self)

    def notify(self, output: RecordOutput, origin: ViewPeer | None) -> None:
        """Send a record to the UI. A failure concerns this UI only.

        Args:
            output: The record, and the halt point that it concerns.
            origin: The UI whose command made the record.
        """
        if self._open_reads:
            self._deferred.append((output, origin))
            return
        try:
            self._notify(output, origin)
        except Exception:
            self.hub.log.exception("a UI could not be notified")

    def on_core_closed(self) -> None:
        """Close."""
        self.connection.close(1001, "The Core is stopping.")

    @abstractmethod
    def notify_store(self, info: StoreInfo) -> None:
        """Handle a change of the store's state."""

    def _begin_read(self) -> None:
        """Hold notifications from now on: they are sent after the read in progress."""
        self._open_reads += 1

    def _end_read(self) -> None:
        """Send the held notifications. The read, sent by now, may include some of them already."""
        self._open_reads -= 1
        if not self._open_reads:
            deferred, self._deferred = self._deferred, []
            for saved, by in deferred:
                self.notify(saved, by)

    def _decide(self, execute: Callable[[], None], edited: RequestedEdit | None, text: str) -> None:
        """Execute a command, after the commands before it and once the agent has validated its edit.

        Args:
            execute: Executes the command.
            edited: The edit.
            text: The command's message.
        """
        questions = None if edited is None else self.hub.agent_questions.get(edited.run)
        needs_check = questions is not None and questions.can_check_edits
        if not needs_check and not self._pending_decisions:
            execute()
            return
        self._pending_decisions += 1
        self._run_task(
            partial(self._execute_after_check, execute, edited), text, lock=self._decision_lock
        )

    async def _execute_after_check(
        self, execute: Callable[[], None], edited: RequestedEdit | None
    ) -> None:
        try:
            if edited is not None:
                await self.hub.check_edit(*edited)
            execute()
        finally:
            self._pending_decisions -= 1

    def _run_task(
        self,
        work: Callable[[], Coroutine[Any, Any, None]],
        text: str = "",
        *,
        is_background: bool = False,
        lock: asyncio.Lock | None = None,
    ) -> None:
        """Run slow work as a task, after the work that was begun before it.

        Errors are answered as those of any message.

        Args:
            work: The work.
            text: The message that requested the work.
            is_background: Whether the work may take long, so that only other background work waits for
                it.
            lock: The lock to hold instead of the default one.
        """
        lock = lock or (self._background_lock if is_background else self._lock)
        task = asyncio.ensure_future(self._guarded(work, text, lock))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _guarded(
        self, work: Callable[[], Coroutine[Any, Any, None]], text: str, lock: asyncio.Lock
    ) -> None:
        async with lock:
            try:
                await work()
            except Exception as error:
                self._refuse(error, text)

    def _refuse(self, error: Exception, text: str) -> None:
        refused = make_error_reply(error)
        if refused.is_internal:
            self.hub.log.error("the Core failed at a message of a UI", exc_info=error)
        else:
            self.hub.log.warning(
                "a UI's message was refused, %s: %s",
                refused.code,
                extract_first_line(refused.message),
            )
        self._send_error(refused.code, refused.message, refused.run, text)

    @abstractmethod
    def send_initial_state(self) -> None:
        """Send the initial messages of a new connection."""

    @abstractmethod
    def _notify(self, output: RecordOutput, origin: ViewPeer | None) -> None: ...

    @abstractmethod
    def _receive(self, text: str) -> None: ...

    @abstractmethod
    def _send_error(self, code: str, message: str, run: str | None, text: str) -> None: ...
