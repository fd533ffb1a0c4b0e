"""A session's run in the debugger: each turn of an agent is a tool invocation in it."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

from ..errors import (
    AgentStepperError,
    AgentStopped,
    ConnectionLostError,
    ProtocolError,
    WorkspaceError,
)
from ..sdk.async_stepper import AsyncAgentStepper
from ..sdk.base_stepper import set_current_stepper
from ..sdk.drivers import run_in_thread
from ..sdk.run_link import RunLink
from .limits import DEFAULT_CHAT_LIMITS, ChatLimits

#: Seconds that a turn waits for a debugger where there was none.
CONNECT_TIMEOUT_S: Final = 1.0

_OFF: Final = "The debugger is switched off for this chat (debugger=False)."
_NOT_CONNECTED_YET: Final = "The debugger hasn't answered yet; the next turn tries again."
_CORE_AWAY: Final = "The debugger's Core is away; it shows this turn once it is back."
_TURN_CANCELLED: Final = "The turn was cancelled."

#: The recorded function. Its arguments: the AgentStepper, if any, and the call's arguments as edited.
RecordedAction = Callable[[AsyncAgentStepper | None, Any], Awaitable[Any]]


@dataclass(frozen=True)
class RecordedResult:
    """The result of a recorded call.

    Args:
        value: The result.
        is_edited: Whether a person supplied or edited the result.
    """

    value: Any
    is_edited: bool = False


class RunRecorder:
    """Records a session's turns as a run in the debugger, if a debugger is found.

    Args:
        name: The run's name.
        workspace: The folder whose changes are recorded, if possible.
        debugger: Whether to look for a debugger.
        step: Whether the run begins by stepping.
        notify_changed: Called when `run_id`, `unavailable_reason` or `is_halted` changes.
        log: The interpreter's log.
        clock: Returns the time in seconds.
        limits: The time-outs of the debugger's connection.
    """

    def __init__(
        self,
        name: Callable[[], str],
        *,
        workspace: Path | None,
        debugger: bool,
        step: bool,
        notify_changed: Callable[[], None],
        log: logging.Logger,
        clock: Callable[[], float] = time.monotonic,
        limits: ChatLimits = DEFAULT_CHAT_LIMITS,
    ) -> None:
        self.run_id: str | None = None
        """The newest run."""
        self.unavailable_reason: str | None = None if debugger else _OFF
        """Why there is none."""
        self._name = name
        self._workspace = workspace
        self._debugger = debugger
        self._step = step
        self._clock = clock
        self._limits = limits
        self._changed = notify_changed
        self._log = log
        self._halt_watcher = HaltWatcher(notify_changed)
        self._dbg: AsyncAgentStepper | None = None
        self._connecting: asyncio.Task[AsyncAgentStepper] | None = None
        self._tried: float | None = None
        self._open_turns = 0

    @property
    def is_halted(self) -> bool:
        """Whether it waits for a person in the debugger."""
        return self._halt_watcher.is_halted

    async def begin_turn(self) -> None:
        """A turn begins: a Stop that was pressed since the last one ends the run, not the turn."""
        dbg = self._dbg
        if dbg is None or dbg._current_session().link.is_disconnected:
            return
        timeline = await run_in_thread(partial(dbg._timeline, CONNECT_TIMEOUT_S))
        if timeline is not None and timeline.run.stopping:
            await self.end_stopped_run()

    async def record_tool_call(
        self, name: str, args: Any, action: RecordedAction
    ) -> RecordedResult:
        """Do something, in a person's hands where a debugger is there.

        Args:
            name: What it is called.
            args: Its arguments: a JSON value. What `action` is given is the same object, unless edited.
            action: Does it; gives a JSON value.

        Raises:
            ToolDeniedError: A person denied it.
            InjectedError: A person let it fail.
            AgentStopped: A person pressed Stop: `end_stopped_run` is to be called.
            ProtocolError: A person made something else of it.
        """
        dbg = await self._open()
        if dbg is None:
            return RecordedResult(await action(None, args))
        call = dbg.tool(name, args)
        has_begun, done, own_result = False, False, None
        self._open_turns += 1
        try:
            async with call:
                has_begun = True
                if not call.skipped:
                    if call.name != name:
                        raise ProtocolError(
                            "invalid_message",
                            f"A turn of {name} can't be replaced by a turn of "
                            f"{str(call.name)[:100]!r}.",
                        )
                    with set_current_stepper(dbg):
                        own_result = call.result = await action(dbg, call.args)
                    done = True
        except ConnectionLostError as error:
            if has_begun and not done:
                raise  # something that the agent asked for got lost
            self._disconnect(dbg, error)
            return RecordedResult(own_result if done else await action(None, args))
        finally:
            self._open_turns -= 1
            if self._open_turns == 0 and self._dbg is not None:
                self._dbg._current_session().link.await_message()
            self._check_link()
        return RecordedResult(call.result, is_edited=not done or call.result is not own_result)

    def withdraw(self) -> None:
        """A turn was broken off: what still waits in the debugger, on a thread say, ends there."""
        if self._dbg is not None:
            self._dbg._current_session().link.withdraw(lambda: AgentStopped(_TURN_CANCELLED))

    async def end_stopped_run(self) -> None:
        """Stop was pressed: the run ends by that. What comes next has a new one."""
        await self._end(AgentStopped("The person pressed Stop."))

    async def close(self) -> None:
        """The session is closed, and its run ends."""
        self._debugger = False
        connecting, self._connecting = self._connecting, None
        if connecting is not None and not connecting.cancel() and connecting.exception() is None:
            self._dbg = connecting.result()  # it came after the last turn
        await self._end(None)

    async def _open(self) -> AsyncAgentStepper | None:
        if self._dbg is None and self._debugger and self._can_connect():
            await self._connect_in_time()
        self._check_link()
        return self._dbg

    def _can_connect(self) -> bool:
        if self._connecting is not None or self._tried is None:
            return True
        return self._clock() - self._tried >= self._limits.reconnect_interval_s

    async def _connect_in_time(self) -> None:
        """Connect; what takes too long goes on beside the turn, for the next one."""
        if self._connecting is None:
            self._connecting = asyncio.create_task(self._connected())
        is_first = self._tried is None
        timeout_s = self._limits.first_connect_timeout_s if is_first else CONNECT_TIMEOUT_S
        self._tried = self._clock()
        await asyncio.wait({self._connecting}, timeout=timeout_s)
        if not self._connecting.done():
            self._set_unavailable(_NOT_CONNECTED_YET)
            return
        connecting, self._connecting = self._connecting, None
        try:
            self._dbg = connecting.result()
        except (AgentStepperError, OSError) as error:
            self._log.info("The chat isn't shown in the debugger: %s", error)
            self._set_unavailable(str(error))
            return
        self.run_id, self.unavailable_reason, self._tried = self._dbg.run_id, None, None
        self._halt_watcher.follow(self._dbg)
        self._dbg._current_session().link.on_disconnected(bind_to_loop(self._check_link))
        self._changed()

    async def _connected(self) -> AsyncAgentStepper:
        try:
            return await self._connect(self._workspace)
        except WorkspaceError:  # what can't be watched can be talked about
            return await self._connect(None)

    async def _connect(self, workspace: Path | None) -> AsyncAgentStepper:
        return await AsyncAgentStepper.connect(
            self._name(),
            agent_workspace_path=workspace,
            stop_on_entry=False,
            mode="step" if self._step else "continue",
            on_disconnect="continue",
        )

    def _check_link(self) -> None:
        """See whether the Core is there."""
        if self._dbg is not None:
            self._set_unavailable(
                _CORE_AWAY if self._dbg._current_session().link.is_disconnected else None
            )

    def _disconnect(self, dbg: AsyncAgentStepper, error: ConnectionLostError) -> None:
        if dbg is not self._dbg:  # of a turn that was left alone, and of another run
            return
        self._dbg = None
        self._halt_watcher.follow(None)
        self._set_unavailable(str(error))

    def _set_unavailable(self, why: str | None) -> None:
        if why != self.unavailable_reason:
            self.unavailable_reason = why
            self._changed()

    async def _end(self, error: BaseException | None) -> None:
        dbg, self._dbg = self._dbg, None
        if dbg is None:
            return
        self._halt_watcher.follow(None)
        kind = None if error is None else type(error)
        try:
            async with asyncio.timeout(self._limits.run_close_timeout_s):
                await dbg.__aexit__(kind, error, None)
        except (TimeoutError, AgentStepperError) as why:
            self._log.info("The run of %s could not be closed: %r", dbg.program_name, why)


#: Seconds that a halt point may wait for a Core that lets it go on: no halt yet, and nothing to flash.
HALT_NOTICE_DELAY_S: Final = 0.2


class HaltWatcher:
    """Looks at one run after the other. Used on the interpreter's event loop.

    Args:
        notify_changed: Called where `is_halted` is another.

    Attributes:
        is_halted: Whether a halt point waits.
    """

    def __init__(self, notify_changed: Callable[[], None]) -> None:
        self.is_halted = False
        self._changed = notify_changed
        self._link: RunLink | None = None
        self._timer: asyncio.TimerHandle | None = None

    def follow(self, dbg: AsyncAgentStepper | None) -> None:
        """Look at a run, and no longer at the one before.

        Args:
            dbg: The run; None for none.
        """
        link = None if dbg is None else dbg._current_session().link
        if link is self._link:
            return
        self._link = link
        self._check_link()
        if link is not None:
            link.on_halted(bind_to_loop(self._check_link))

    def _check_link(self) -> None:
        halted = self._link is not None and self._link.is_halted
        if not halted:
            self._stop_timer()
            self._set(False)
        elif self._timer is None and not self.is_halted:
            self._timer = asyncio.get_running_loop().call_later(HALT_NOTICE_DELAY_S, self._waited)

    def _waited(self) -> None:
        self._timer = None
        self._set(True)

    def _set(self, halted: bool) -> None:
        if halted is not self.is_halted:
            self.is_halted = halted
            self._changed()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def bind_to_loop(callback: Callable[[], None]) -> Callable[[], None]:
    """Make a thread-safe function that calls a callback on the running event loop.

    Args:
        callback: The callback.
    """
    loop = asyncio.get_running_loop()

    def call() -> None:
        with suppress(RuntimeError):  # the loop is closed, and with it the chat
            loop.call_soon_threadsafe(callback)

    return call
