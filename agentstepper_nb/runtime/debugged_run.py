"""The debugger's run of one activation of a session: each step is a tool invocation in it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from ..errors import AgentStepperError, ConnectionLostError, StepFrameError
from ..sdk.async_stepper import AsyncAgentStepper
from ..sdk.base_stepper import InitialMode
from ..sdk.event_blocks import ToolInvocation
from .frame import FrameIn, FrameOut
from .frame_codec import check_output, decode_edited_input, decode_edited_output, encode_frame
from .moniker import MonikerContext

#: Seconds that the goodbye may take: the Core may be away, and whoever ends a session waits.
CLOSE_TIMEOUT_S: Final = 2.0


@dataclass
class StepAttempt:
    """A step that is being tried.

    Args:
        frame: What it is given: with a person's edit, from that on.
        read: The last message that it read, of each conversation; known once it has given a frame.
    """

    frame: FrameIn
    read: Mapping[str, str] = field(default_factory=dict)


#: Does a step.
StepFunction = Callable[[FrameIn], Awaitable[Any]]


class DebuggedRun:
    """The debugger, as far as there is one.

    Args:
        moniker: What steps are called there.
        log: Told once that there is none.
        close_timeout_s: Seconds that the goodbye may take.
    """

    def __init__(
        self, moniker: str, log: logging.Logger, close_timeout_s: float = CLOSE_TIMEOUT_S
    ) -> None:
        self._close_timeout_s = close_timeout_s
        self.dbg: AsyncAgentStepper | None = None
        self.task: MonikerContext | None = None
        """What the moniker works with: it loses the debugger where we do."""
        self._moniker = moniker
        self._log = log

    async def open(
        self, name: str, *, step: bool, url: str | None = None, token: str | None = None
    ) -> None:
        """Open a run, if there is a debugger.

        Args:
            name: What it is called.
            step: Whether it begins stepping.
            url: Where it connects to; None: the Core is discovered.
            token: The agent token there.
        """
        mode: InitialMode = "step" if step else "continue"
        try:
            self.dbg = await AsyncAgentStepper.connect(
                name, url=url, token=token, stop_on_entry=False, mode=mode
            )
        except (AgentStepperError, OSError) as error:
            self._log.warning("the debugger doesn't show %s: %s", name, error)

    @property
    def is_halted(self) -> bool:
        """Whether it waits at a halt point. From any thread."""
        dbg = self.dbg
        return dbg is not None and dbg._current_session().link.is_halted

    def on_halted(self, callback: Callable[[], None]) -> None:
        """Call this, on any thread, each time that `is_halted` may be another."""
        if self.dbg is not None:
            self.dbg._current_session().link.on_halted(callback)

    async def step(self, attempt: StepAttempt, run_step: StepFunction) -> FrameOut:
        """Do a step, in a person's hands where a debugger is there.

        Args:
            attempt: The step.
            run_step: Does it.

        Raises:
            StepFrameError: What the step gave, or a person's edit, is no frame.
            ToolDeniedError: A person denied the step.
            AgentStopped: A person pressed Stop.
        """
        if self.dbg is None:
            return await _run_checked(attempt, run_step)
        call = self.dbg.tool(self._moniker, encode_frame(attempt.frame))
        has_begun, out, own_result = False, None, None
        try:
            async with call:
                has_begun = True
                if not call.skipped:
                    self._apply_edit(call, attempt)
                    out = await _run_checked(attempt, run_step)
                    own_result = call.result = encode_frame(out)
        except ConnectionLostError as error:
            if has_begun and out is None:
                raise  # something that the step asked for got lost
            self._drop_debugger(error)
            return await _run_checked(attempt, run_step) if out is None else out
        if out is not None and call.result is own_result:
            return out
        return decode_edited_output(call.result, attempt.frame)

    async def close(self, error: BaseException | None) -> None:
        """End the run; where the Core is away, its goodbye is left to the connection.

        Args:
            error: What ended the session; None where it is done.
        """
        dbg, self.dbg = self.dbg, None
        if dbg is None:
            return
        kind = None if error is None else type(error)
        try:
            async with asyncio.timeout(self._close_timeout_s):
                await dbg.__aexit__(kind, error, None)
        except (TimeoutError, AgentStepperError) as why:
            self._log.info("The run of %s could not be closed: %r", dbg.program_name, why)

    def _apply_edit(self, call: ToolInvocation, attempt: StepAttempt) -> None:
        if call.name != self._moniker:
            text = f"A step of {self._moniker} can't be replaced by a step of {call.name!r}."
            raise StepFrameError(text, edited=True)
        if call.args != encode_frame(attempt.frame):
            attempt.frame = decode_edited_input(call.args)

    def _drop_debugger(self, error: ConnectionLostError) -> None:
        dbg, self.dbg = self.dbg, None
        if self.task is not None:
            self.task.dbg = None
        name = self._moniker if dbg is None else dbg.program_name
        self._log.warning("the debugger no longer shows %s: %s", name, error)


async def _run_checked(attempt: StepAttempt, run_step: StepFunction) -> FrameOut:
    return check_output(await run_step(attempt.frame), attempt.frame)
