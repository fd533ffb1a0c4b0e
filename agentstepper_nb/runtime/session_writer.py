"""A session's snapshot, and the one way by which it changes: each change is kept, in its turn."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from ..errors import CommandError
from ..protocol.runtime import (
    LIVE_STATUSES,
    AgentState,
    AgentStep,
    ConversationCursor,
    ConversationMessage,
)
from ..protocol.runtime_store_messages import ActionCompletion, SessionWrite
from ..protocol.text_escaping import replace_surrogates

if TYPE_CHECKING:
    from .message_reader import ReadUnread
    from .model_gate import ModelGate
    from .process_executor import ProcessPool
    from .remote_queue import RemoteQueue


#: Characters of an error that are kept.
MAX_ERROR_CHARACTERS: Final = 10_000


def to_storable_text(text: str) -> str:
    """An error that can be kept: without half characters, which no JSON has, and not endless.

    Args:
        text: As it was raised: it must never be why its action, or its step, can't be kept.
    """
    plain = replace_surrogates(text)
    return plain if len(plain) <= MAX_ERROR_CHARACTERS else f"{plain[:MAX_ERROR_CHARACTERS]}…"


class Stopwatch:
    """Counts the seconds between `start` and `stop`, of all times together.

    Args:
        clock: Gives seconds; where they go back, nothing is counted.
        before: Seconds that were counted before.
    """

    def __init__(self, clock: Callable[[], float], before: float = 0.0) -> None:
        self._clock = clock
        self._before = before
        self._since: float | None = None

    def start(self) -> None:
        """Count from now on."""
        if self._since is None:
            self._since = self._clock()

    def stop(self) -> None:
        """Count no more, until it is started again."""
        self._before, self._since = self.total(), None

    def total(self) -> float:
        """Seconds, so far."""
        if self._since is None:
            return self._before
        return self._before + max(0.0, self._clock() - self._since)


@dataclass(frozen=True)
class RuntimeContext:
    """The context in which the agents of sessions run.

    Args:
        owner: The worker's name in its claims.
        recorder: Stores the changes of sessions.
        data_dir: The folder of this installation's runs.
        log: The worker's log.
        clock: Returns POSIX seconds.
        new_id: Makes ids.
        debugger: Whether sessions are shown in the debugger.
        pool: The worker's step processes; None: all steps run on the event loop.
        cancel_grace_s: Seconds until a cancelled step that hasn't ended is cancelled again.
        run_close_timeout_s: The most seconds to close a run in the debugger.
        model_gate: Delays model calls whose rate the Core limits.
        read_unread: Reads messages for monikers.
    """

    owner: str
    recorder: RemoteQueue
    data_dir: Path
    log: logging.Logger
    clock: Callable[[], float]
    new_id: Callable[[], str]
    debugger: bool = True
    pool: ProcessPool | None = None
    cancel_grace_s: float = 1.0
    run_close_timeout_s: float = 2.0
    model_gate: ModelGate | None = None
    read_unread: ReadUnread | None = None


class StepRunnerState(
    Struct,
    frozen=True,
    kw_only=True,
    omit_defaults=True,
    rename={"pending_guidance": "given", "end_reason": "note"},  # as stored
):
    """The runner's own part of a snapshot.

    Args:
        pending_guidance: The guidance of the current step, until the step is stored.
        end_reason: The limit that ended the session, if one did.
    """

    pending_guidance: Any = None
    end_reason: str | None = None

    @classmethod
    def from_state(cls, state: AgentState) -> StepRunnerState:
        """Read the runner's part of a snapshot."""
        context_fields = state.context if isinstance(state.context, dict) else {}
        return cls(
            pending_guidance=context_fields.get("given"), end_reason=context_fields.get("note")
        )

    def store_in(self, state: AgentState) -> AgentState:
        """A snapshot with this one."""
        return replace(state, context=to_builtins(self) or None)


#: The refusals that mean that another worker has the session, or that the session is gone.
LOST_SESSION_CODES: Final = frozenset({"stale_epoch", "session_over"})


@dataclass(frozen=True)
class SessionChange:
    """A change of a session that is stored atomically.

    Args:
        state: The new snapshot; None: the snapshot is unchanged.
        steps: The new steps.
        messages: The steps' messages in the conversation.
        finished: The actions that the change completes.
        cursors: The new reading positions in conversations.
    """

    state: AgentState | None = None
    steps: tuple[AgentStep, ...] = ()
    messages: tuple[ConversationMessage, ...] = ()
    finished: tuple[ActionCompletion, ...] = ()
    cursors: tuple[ConversationCursor, ...] = ()


#: Makes a change of the snapshot as it is when the change's turn has come.
ChangeMaker = Callable[[AgentState], SessionChange]


class SessionWriter:
    """Holds and stores the snapshot of a session that this worker has.

    Args:
        state: The snapshot that was claimed.
        runtime_context: The context with the recorder.
        on_lost: Called when another worker has the session, or the session has ended elsewhere.
    """

    def __init__(
        self, state: AgentState, runtime_context: RuntimeContext, on_lost: Callable[[], None]
    ) -> None:
        self.stopwatch = Stopwatch(runtime_context.clock, state.ran_s)
        self._state = replace(state, owner=None, lease_until=None)
        self._runtime_context = runtime_context
        self._on_lost = on_lost
        self._lock = asyncio.Lock()
        self._writes: set[asyncio.Task[None]] = set()
        self._rejection: CommandError | None = None
        self._is_step_under_way = False

    @property
    def state(self) -> AgentState:
        """The snapshot, as it was kept last."""
        return self._state

    @property
    def has_ended(self) -> bool:
        """Whether the session has ended."""
        return self._state.status not in LIVE_STATUSES

    @property
    def is_step_under_way(self) -> bool:
        """Whether a step has begun, and hasn't ended."""
        return self._is_step_under_way

    async def begin_step(self, may_begin: Callable[[], bool]) -> bool:
        """Begin a step, unless a change that was kept before forbids it.

        Args:
            may_begin: Asked when the step's turn has come: no change is under way then.

        Returns:
            Whether it has begun.
        """
        async with self._lock:
            self._is_step_under_way = may_begin()
            return self._is_step_under_way

    def end_step(self) -> None:
        """The step has ended, and what became of it is kept."""
        self._is_step_under_way = False

    async def write(
        self,
        make_change: ChangeMaker,
        *,
        on_written: Callable[[], None] | None = None,
        allow_ended: bool = False,
    ) -> None:
        """Keep a change. It is kept, or refused, also where who asked is cancelled meanwhile.

        Args:
            make_change: Makes it.
            on_written: Called once it is kept, before any other change.
            allow_ended: Whether it may be of a session that has ended.

        Raises:
            CommandError: `session_over`; `stale_epoch`; what else the store says; and what
            `make_change` does.
        """
        task = asyncio.create_task(self._write(make_change, on_written, allow_ended))
        self._writes.add(task)
        task.add_done_callback(self._on_write_done)
        await asyncio.wait({task})  # which cancels nothing
        if task.cancelled():
            self._check_accepts_writes()
        task.result()

    async def consume_guidance(self) -> Any:
        """The guidance of a step that begins, None where there is none.

        It is this step's from now on, and the snapshot's until this step is kept. What comes
        meanwhile is the next one's.
        """
        async with self._lock:
            context = StepRunnerState.from_state(self._state)
            if context.pending_guidance is None and self._state.guidance is not None:
                context = replace(context, pending_guidance=self._state.guidance)
                self._state = context.store_in(replace(self._state, guidance=None))
            return context.pending_guidance

    def reject_writes(self, why: CommandError) -> None:
        """Keep nothing any more, and take back what is under way."""
        self._rejection = self._rejection or why
        for task in self._writes:
            task.cancel()

    def _check_accepts_writes(self) -> None:
        if self._rejection is not None:
            raise CommandError(self._rejection.code, self._rejection.message)

    async def _write(
        self, make_change: ChangeMaker, on_written: Callable[[], None] | None, allow_ended: bool
    ) -> None:
        async with self._lock:
            self._check_accepts_writes()
            if self.has_ended and not allow_ended:
                raise make_session_over_error(self._state.session_id)
            change = make_change(self._state)
            state = change.state
            if state is not None:
                now = self._runtime_context.clock()
                state = replace(state, updated_at=now, ran_s=self.stopwatch.total())
            await self._store_change(change, state)
            if state is not None:
                self._state = state
            if on_written is not None:
                on_written()

    async def _store_change(self, change: SessionChange, state: AgentState | None) -> None:
        request = SessionWrite(
            session_id=self._state.session_id,
            epoch=self._state.epoch,
            owner=self._runtime_context.owner,
            state=state,
            steps=change.steps,
            messages=change.messages,
            finished=change.finished,
            cursors=change.cursors,
        )
        try:
            await self._runtime_context.recorder.write(request)
        except CommandError as error:
            if error.code in LOST_SESSION_CODES:
                self._rejection = error
                self._on_lost()
            raise

    def _on_write_done(self, task: asyncio.Task[None]) -> None:
        self._writes.discard(task)
        if not task.cancelled():
            task.exception()  # heard: who asked may be gone


def make_session_over_error(session_id: str) -> CommandError:
    """What is said of an action for a session that has ended, or is about to."""
    return CommandError(
        "session_over",
        f"The session {session_id} has ended and accepts no more actions: create another.",
    )
