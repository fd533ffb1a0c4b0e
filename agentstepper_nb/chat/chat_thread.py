"""Runs a chat's interpreter on a thread of its own, for callers on other threads."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from ..errors import CommandError
from ..protocol.chat import (
    ChatEvent,
    ChatMessageChanged,
    ChatMessageDelta,
    ChatSessionInfo,
    ChatSessionRemoved,
    ChatSessionSnapshot,
    Message,
    State,
)
from ..rpc.loop_thread import POLL_INTERVAL_S, LoopThread

if TYPE_CHECKING:
    from .interpreter import Interpreter
    from .remote.service import RemoteChatAccess

T = TypeVar("T")

#: Seconds that its end waits for the thread.
_JOIN_TIMEOUT_S: Final = 0.5
_CLOSED: Final = (
    "This chat is closed, or belongs to the parent process of a fork: make a new one by Chat(…)."
)
_WAITS_FOR_ITSELF: Final = (
    "A chat can't wait for an answer on its own event loop, where its agents answer. "
    "Yield a message, or a HandOn to another agent."
)
_log: Final = logging.getLogger("agentstepper_nb.chat")


class ChatThreadLimits(NamedTuple):
    """The time-outs of a chat's thread."""

    #: Seconds that its end waits for agents to let go.
    close_timeout_s: float = 1.5
    #: Seconds between a waiting caller's checks whether the thread has ended.
    poll_interval_s: float = POLL_INTERVAL_S


DEFAULT_CHAT_THREAD_LIMITS: Final = ChatThreadLimits()


class ChatThread:
    """Runs an interpreter, until it is closed.

    Args:
        make: Makes the interpreter, on the event loop.
        data_dir: The folder of this installation's runs.
        limits: How long it waits for agents that hold it up.

    Attributes:
        interpreter: The interpreter.
        loop: Its event loop.
    """

    def __init__(
        self,
        make: Callable[[], Interpreter],
        data_dir: Path,
        limits: ChatThreadLimits = DEFAULT_CHAT_THREAD_LIMITS,
    ) -> None:
        self._data_dir = data_dir
        self._close_timeout_s = limits.close_timeout_s
        self._remote_access: RemoteChatAccess | None = None
        self._thread = LoopThread("agentstepper-chat", limits.poll_interval_s)

        async def made() -> tuple[Interpreter, asyncio.AbstractEventLoop]:
            return make(), asyncio.get_running_loop()

        try:
            self.interpreter, self.loop = self._thread.run(made)
        except BaseException:
            self._thread.close(_JOIN_TIMEOUT_S)
            raise

    @property
    def is_running(self) -> bool:
        """Whether it runs, in this process."""
        return self._thread.is_running

    @property
    def can_wait(self) -> bool:
        """Whether a caller may wait for it: it runs, in this process, and not on the caller's thread."""
        return self._thread.can_wait

    def wait(self, begin: Callable[[], Awaitable[T]]) -> T:
        """Run something there, and wait for it. An interrupt cancels it, and is raised once it is over.

        Args:
            begin: Begins it.

        Raises:
            RuntimeError: The chat is closed, or was left behind by a fork; or it would wait for itself.
        """
        if not self.is_running:
            raise RuntimeError(_CLOSED)
        if self._is_here():
            raise RuntimeError(_WAITS_FOR_ITSELF)
        return self._thread.run(begin)

    def call(self, function: Callable[[], T]) -> T:
        """Call a function that doesn't block on the chat's event loop, from any thread.

        Args:
            function: The function.

        Raises:
            RuntimeError: The chat is closed, or was left behind by a fork.
        """
        if not self.is_running:
            raise RuntimeError(_CLOSED)
        if self._is_here():
            return function()
        answer: Future[T] = Future()

        def answered() -> None:
            try:
                answer.set_result(function())
            except BaseException as error:
                answer.set_exception(error)

        # No task: its result would come after the first step of what was begun by asking.
        self.loop.call_soon_threadsafe(answered)
        return self._thread.wait_result(answer)

    def schedule(self, work: Callable[[], Coroutine[Any, Any, object]]) -> None:
        """Begin something there, and don't wait for it. Nothing where the chat is closed.

        Args:
            work: Begins it.
        """
        if self.is_running:
            asyncio.run_coroutine_threadsafe(work(), self.loop)

    def remote_access(self) -> RemoteChatAccess:
        """The remote access to the chat for other programs; made on first use."""

        def remote_access() -> RemoteChatAccess:
            from .remote.service import RemoteChatAccess
            from .remote.tokens import ChatTokens

            if self._remote_access is None:
                self._remote_access = RemoteChatAccess(self.interpreter, ChatTokens(self._data_dir))
            return self._remote_access

        return self.call(remote_access)

    def close(self) -> None:
        """End it. Idempotent; it doesn't hang, also where an agent holds the loop up: a program may be
        ending.
        """
        if not self.is_running:
            return
        ended: Future[None] = asyncio.run_coroutine_threadsafe(self._close(), self.loop)
        if not self._is_here():  # a garbage collection may be anywhere
            try:
                ended.result(self._close_timeout_s)
            except TimeoutError:
                said = "an agent didn't stop within %g s and is left running"
                _log.warning(said, self._close_timeout_s)
            except Exception:
                _log.exception("a chat could not be closed cleanly")
        self._thread.close(_JOIN_TIMEOUT_S)

    async def _close(self) -> None:
        if self._remote_access is not None:
            await self._remote_access.close()
        await self.interpreter.close()

    def _is_here(self) -> bool:
        """Whether this is its own thread."""
        try:
            return asyncio.get_running_loop() is self.loop
        except RuntimeError:
            return False


class SessionMirror:
    """A copy of a session's state, readable from any thread without waiting.

    Args:
        interpreter: The interpreter. The mirror must be made on the interpreter's event loop.
        session: The session's id.

    Attributes:
        info: The session, without its messages.
    """

    def __init__(self, interpreter: Interpreter, session: str) -> None:
        self._interpreter = interpreter
        self._session = session
        self.info: ChatSessionInfo = interpreter.info(session)
        self.close: Callable[[], None] = interpreter.attach(session, self._receive)

    def _receive(self, event: ChatEvent) -> None:
        if not isinstance(event, ChatMessageDelta | ChatSessionRemoved):
            self.info = self._interpreter.info(self._session)


class AnswerCollector:
    """Collects the new messages of a session until the session waits for a person.

    Args:
        interpreter: The interpreter. The collector must be used on the interpreter's event loop.
        session: The session's id.
    """

    def __init__(self, interpreter: Interpreter, session: str) -> None:
        self._interpreter = interpreter
        self._session = session
        self._messages_by_id: dict[str, Message] = {}
        self._changed = asyncio.Event()
        self._removed = False

    async def collect(self, begin: Callable[[], object]) -> list[Message]:
        """Wait until no agent of the session is working, or a CONFIRMATION waits.

        Cancelling the task stops the turn.

        Args:
            begin: Begins the turn to wait for.

        Returns:
            The new messages in their state by then, without those of people.
        """
        detach = self._interpreter.attach(self._session, self._receive)
        try:
            begin()
            while not self._is_awaiting_user():
                self._changed.clear()
                await self._changed.wait()
        except asyncio.CancelledError:
            with suppress(CommandError):  # the session is gone already
                await self._interpreter.stop(self._session)
            raise
        finally:
            detach()
        return [message for message in self._messages_by_id.values() if message.role != "user"]

    def _receive(self, event: ChatEvent) -> None:
        if isinstance(event, ChatMessageChanged):
            self._messages_by_id[event.message.id] = event.message
        elif isinstance(event, ChatSessionSnapshot):  # a person may have taken some out
            self._messages_by_id = {
                id: message for id, message in self._messages_by_id.items() if self._has_message(id)
            }
        elif isinstance(event, ChatSessionRemoved):
            self._removed = True
        self._changed.set()

    def _has_message(self, message_id: str) -> bool:
        try:
            self._interpreter.message(self._session, message_id)
        except CommandError:
            return False
        return True

    def _is_awaiting_user(self) -> bool:
        return self._removed or is_awaiting_user(self._interpreter, self._session)


def is_awaiting_user(interpreter: Interpreter, session: str) -> bool:
    """Whether a session waits for a person: no agent is working, or a CONFIRMATION waits.

    True for a session that doesn't exist any more.

    Args:
        interpreter: The interpreter. Call this on the interpreter's event loop.
        session: The session's id.
    """
    try:
        info = interpreter.info(session)
    except CommandError:  # it was removed
        return True
    return info.waiting is not None or info.state is not State.STATE_RUNNING
