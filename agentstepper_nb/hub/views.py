"""What UIs of both versions share."""

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

#: Why a command is refused that changes something, where the UI has no such right.
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
    """One UI's connection, whatever its version."""

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
        """A text frame came."""
        if self.hub.closing:
            return
        try:
            self._receive(text)
        except Exception as error:
            self._refuse(error, text)

    def receive_binary(self) -> None:
        """A binary frame came: refused, and the connection goes on."""
        self._refuse(
            ProtocolError("binary_frame", "The message came as a binary frame. Send text frames."),
            "",
        )

    def on_closed(self) -> None:
        """The connection is gone."""
        for task in self._tasks:
            task.cancel()
        self.hub.unregister_view(self)

    def notify(self, output: RecordOutput, origin: ViewPeer | None) -> None:
        """Tell what was recorded; what fails here is this UI's alone.

        Args:
            output: The record, and the halt point it is about.
            origin: The UI whose command this is.
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
        """Tell how runs are kept, where that has changed."""

    def _begin_read(self) -> None:
        """Hold what is told from now on: it comes after what is being read."""
        self._open_reads += 1

    def _end_read(self) -> None:
        """Tell what was held. What was read is sent by now, and may hold some of it already."""
        self._open_reads -= 1
        if not self._open_reads:
            deferred, self._deferred = self._deferred, []
            for saved, by in deferred:
                self.notify(saved, by)

    def _decide(self, execute: Callable[[], None], edited: RequestedEdit | None, text: str) -> None:
        """Carry out a command, after those before it and once the agent takes the edit it brings.

        Args:
            execute: Carries it out.
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
        """Do something that takes its time, after what was begun before it.

        Its errors are answered like any other.

        Args:
            work: What to do.
            text: The message that asked for it.
            is_background: It may take long, and only what else is done aside waits for it.
            lock: What it waits for in the place of either.
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
        """Send what a new connection is owed."""

    @abstractmethod
    def _notify(self, output: RecordOutput, origin: ViewPeer | None) -> None: ...

    @abstractmethod
    def _receive(self, text: str) -> None: ...

    @abstractmethod
    def _send_error(self, code: str, message: str, run: str | None, text: str) -> None: ...
