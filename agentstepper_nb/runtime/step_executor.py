"""Where a session's steps run: its moniker and its run in the debugger, opened and closed as one."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from ..errors import AgentStepperError, AgentStopped
from ..json_log import add_log_fields
from .debugged_run import DebuggedRun, StepAttempt
from .frame import FrameOut
from .message_reader import MessageReader, ReadUnread
from .model_gate import ModelGate
from .moniker import Moniker, MonikerContext, MonikerFactory
from .step_messages import OpenSession

#: Seconds that a moniker has to close.
CLOSE_TIMEOUT_S: Final = 5.0
#: What a moniker's code may end with: none of it may end its worker, too.
STEP_FAILURE_TYPES: Final = (Exception, BaseExceptionGroup, SystemExit, asyncio.CancelledError)

#: Called, on any thread, each time that `StepExecutor.is_halted` may be another.
OnHalted = Callable[[], None]


class ProcessLostError(AgentStepperError):
    """The process of a step ended before the step did.

    Args:
        ending: How it ended, for a person: "was killed by signal 9".
        process: Which process.
        is_counted: Whether the step may be why: not where it waited for a person, or where the fork
            server ended.
    """

    def __init__(self, ending: str, process: str, *, is_counted: bool) -> None:
        super().__init__(f"The process of the step {ending}.")
        self.ending = ending
        self.process = process
        self.is_counted = is_counted


class StepExecutor(Protocol):
    """Runs the steps of one activation of a session."""

    #: Whether the steps share a process with those of other sessions.
    is_sharing: bool

    @property
    def is_open(self) -> bool:
        """Whether `open` has been called, and nothing has closed it since."""

    @property
    def is_halted(self) -> bool:
        """Whether the run waits at a halt point. From any thread."""

    @property
    def stops_on_done(self) -> bool:
        """Whether the moniker ends at a step that is done; known once it was opened."""

    @property
    def interval_s(self) -> float:
        """Seconds to wait after the last step; inf: until the session is told something."""

    def has_room(self) -> bool:
        """Whether `acquire` returns at once."""

    async def acquire(self) -> None:
        """Wait until the session may have a step: what it needs for one is its own until `set_idle`."""

    def set_idle(self, wait_s: float) -> None:
        """The session waits so many seconds: what it needs for a step may be taken from it."""

    async def open(self, session: OpenSession) -> str | None:
        """Make the moniker, and open a run.

        Args:
            session: Whose.

        Returns:
            The run's id; None where the debugger doesn't show it.
        """

    async def step(self, attempt: StepAttempt) -> FrameOut:
        """Run a step; raises what the step does, `AgentStopped` and `ProcessLostError`."""

    async def close(self, error: BaseException | None) -> None:
        """Close the moniker and the run. Idempotent.

        Args:
            error: What ended the session; None where it is done.
        """


@dataclass(frozen=True)
class StepSettings:
    """What a session's steps run with.

    Args:
        data_dir: The folder of this installation's runs.
        debugger: Whether sessions are shown in the debugger.
        log: The worker's.
        url: Where runs connect to; None: the Core is discovered.
        token: The agent token there.
        run_close_timeout_s: Seconds that the goodbye to the debugger may take.
        model_gate: Where model calls wait that the Core limits; None: none are.
        read_unread: Reads messages; None: there is no Core.
    """

    data_dir: Path
    debugger: bool
    log: logging.Logger
    url: str | None = None
    token: str | None = None
    run_close_timeout_s: float = 2.0
    model_gate: ModelGate | None = None
    read_unread: ReadUnread | None = None


class LocalStepExecutor:
    """Runs a session's steps on this event loop.

    Args:
        make_moniker: Makes the moniker.
        settings: What it runs with.
        on_halted: Called where the run halts, and where it goes on.
    """

    is_sharing = True

    def __init__(
        self,
        make_moniker: MonikerFactory,
        settings: StepSettings,
        on_halted: OnHalted,
    ) -> None:
        self._make_moniker = make_moniker
        self._settings = settings
        self._on_halted = on_halted
        self._debugged_run: DebuggedRun | None = None
        self._moniker: Moniker | None = None

    @property
    def is_open(self) -> bool:
        """See `StepExecutor`; so it is of all methods here."""
        return self._moniker is not None

    @property
    def is_halted(self) -> bool:
        """Whether the run waits for a person, or for a Core that is away."""
        run = self._debugged_run
        return run is not None and run.is_halted

    @property
    def stops_on_done(self) -> bool:
        """As the moniker says."""
        assert self._moniker is not None
        return self._moniker.stop_on_done

    @property
    def interval_s(self) -> float:
        """As the moniker says."""
        assert self._moniker is not None
        return max(0.0, self._moniker.step_interval_s())

    def has_room(self) -> bool:
        """Always: the loop is there."""
        return True

    async def acquire(self) -> None:
        """Nothing has to be waited for."""

    def set_idle(self, wait_s: float) -> None:
        """A session that waits takes nothing from others."""

    async def open(self, session: OpenSession) -> str | None:
        """Make the moniker, and open a run."""
        settings = self._settings
        self._debugged_run = run = DebuggedRun(
            session.moniker, settings.log, settings.run_close_timeout_s
        )
        if settings.debugger:
            name = f"{session.agent_id} · {session.moniker}"
            await run.open(name, step=session.step, url=settings.url, token=settings.token)
            run.on_halted(self._on_halted)
        run.task = context = MonikerContext(
            agent_id=session.agent_id,
            session_id=session.session_id,
            config=session.config,
            data_dir=settings.data_dir,
            dbg=run.dbg,
            log=settings.log,
            model_gate=settings.model_gate,
            conversation_id=session.conversation_id,
            messages=MessageReader(
                session.session_id, session.conversation_id, settings.read_unread
            ),
        )
        if run.dbg is not None:
            add_log_fields(run_id=run.dbg.run_id)
        self._moniker = self._make_moniker(context)
        return None if run.dbg is None else run.dbg.run_id

    async def step(self, attempt: StepAttempt) -> FrameOut:
        """Run a step."""
        assert self._debugged_run is not None
        assert self._moniker is not None
        reader = self._moniker.task.messages
        assert reader is not None
        reader.begin_step()
        out = await self._debugged_run.step(attempt, self._moniker.step)
        attempt.read = reader.positions
        return out

    async def close(self, error: BaseException | None) -> None:
        """Close the moniker and the run."""
        moniker, self._moniker = self._moniker, None
        if moniker is not None:
            try:
                async with asyncio.timeout(CLOSE_TIMEOUT_S):
                    await moniker.close()
            except (AgentStopped, *STEP_FAILURE_TYPES):
                session_id = moniker.task.session_id
                self._settings.log.exception(
                    "session %s: its moniker could not be closed", session_id
                )
        run, self._debugged_run = self._debugged_run, None
        if run is not None:
            await run.close(error)


def was_cancelled() -> bool:
    """Whether this task was cancelled, and not something that the step waited for."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def describe_failure(error: BaseException) -> str:
    """What a step or a moniker raised, for a person."""
    if isinstance(error, asyncio.CancelledError):
        return "The step was cancelled by code that it called."
    if isinstance(error, SystemExit):
        return f"The step's code tried to end the process: SystemExit({error.code!r})."
    if isinstance(error, AgentStepperError):
        return str(error)
    return f"{type(error).__name__}: {error}"
