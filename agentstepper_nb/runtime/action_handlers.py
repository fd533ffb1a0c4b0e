"""What each kind of action does to its session."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, TypeVar

import msgspec
from msgspec import Struct

from ..errors import AgentStopped, CommandError
from ..protocol.runtime import LIVE, Action, ActionKind, ActionStatus, AgentState, SessionStatus
from ..protocol.runtime_store_messages import ActionCompletion, SessionWrite
from ..protocol.runtime_wire import (
    CreateAgentPayload,
    DestroyPayload,
    InputPayload,
    InterruptPayload,
)
from .dispatcher import LOST_CLAIM_CODES, Handler, describe_error
from .session_host import SessionHost

if TYPE_CHECKING:
    from .session_agent import SessionAgent


Payload = TypeVar("Payload", bound=Struct)


class ActionHandlers:
    """Does actions on the sessions that live in this worker.

    Args:
        household: Those.
    """

    def __init__(self, session_host: SessionHost) -> None:
        self._session_host = session_host
        self._runtime_context = session_host.runtime_context

    def table(self) -> Mapping[ActionKind, Handler]:
        """What does each kind."""
        return {
            ActionKind.CREATE: self.create,
            ActionKind.PAUSE: self.pause,
            ActionKind.RESUME: self.resume,
            ActionKind.INTERRUPT: self.interrupt,
            ActionKind.INPUT: self.input,
            ActionKind.DESTROY: self.destroy,
        }

    async def create(self, action: Action, state: AgentState | None) -> None:
        """Have a session begin; where it can't, it ends as an error."""
        state = _known(action, state)
        if state.status is not SessionStatus.CREATED:
            await self._only_finish(action, state)  # it began by this action, or before it
            return
        try:
            decode_payload(action, CreateAgentPayload)
            agent = self._session_host.new_agent(state)
            with self._session_host.registry.expecting(agent):
                await agent.created(self._done(action))
        except (Exception, AgentStopped, BaseExceptionGroup) as error:
            if isinstance(error, CommandError) and error.code in LOST_CLAIM_CODES:
                raise
            await self._session_host.fail_session(state, error, (self._failed(action, error),))

    async def pause(self, action: Action, state: AgentState | None) -> None:
        """Let a session halt after the step that is under way."""
        await self._let(action, state, lambda agent, finish: agent.pause(finish))

    async def resume(self, action: Action, state: AgentState | None) -> None:
        """Let it go on."""
        await self._let(action, state, lambda agent, finish: agent.resume(finish))

    async def interrupt(self, action: Action, state: AgentState | None) -> None:
        """Put guidance in the place of what its next frame was to be told."""
        guidance = decode_payload(action, InterruptPayload).guidance
        await self._let(action, state, lambda agent, finish: agent.interrupt(guidance, finish))

    async def input(self, action: Action, state: AgentState | None) -> None:
        """Tell its next frame something besides."""
        text = decode_payload(action, InputPayload).text
        await self._let(action, state, lambda agent, finish: agent.input(text, finish))

    async def destroy(self, action: Action, state: AgentState | None) -> None:
        """End it; one that has ended is as it was to be."""
        timeout_s = decode_payload(action, DestroyPayload).timeout_s
        state = _known(action, state)
        if state.status not in LIVE:
            await self._only_finish(action, state)
            return
        try:
            await self._let(action, state, lambda agent, finish: agent.destroy(timeout_s, finish))
        except CommandError as error:
            if error.code != "session_over":
                raise
            await self._only_finish(action, state)  # it ended after this was claimed

    # ---- finding ------------------------------------------------------------------------------------

    async def _let(
        self,
        action: Action,
        state: AgentState | None,
        do: Callable[[SessionAgent, ActionCompletion], Awaitable[None]],
    ) -> None:
        """Let the agent of the action's session do it; it lives here from now on."""
        state = _known(action, state)
        if state.status not in LIVE:
            raise CommandError(
                "session_over", f"The session has ended, it is {state.status}: create another."
            )
        try:
            agent = await self._session_host.host_session(state)
        except CommandError as error:
            await self._session_host.fail_session(state, error, (self._failed(action, error),))
        else:
            await do(agent, self._done(action))

    # ---- finishing ----------------------------------------------------------------------------------

    def _done(self, action: Action) -> ActionCompletion:
        return self._finish(action, ActionStatus.DONE, None)

    def _failed(self, action: Action, error: BaseException) -> ActionCompletion:
        return self._finish(action, ActionStatus.FAILED, describe_error(error))

    def _finish(self, action: Action, status: ActionStatus, error: str | None) -> ActionCompletion:
        return ActionCompletion(
            id=action.id,
            owner=self._runtime_context.owner,
            status=status,
            error=error,
            processed_at=self._runtime_context.clock(),
        )

    async def _only_finish(self, action: Action, state: AgentState) -> None:
        await self._runtime_context.recorder.write(
            SessionWrite(
                session_id=action.session_id,
                epoch=state.epoch,
                owner=self._runtime_context.owner,
                finished=(self._done(action),),
            )
        )


def decode_payload(action: Action, kind: type[Payload]) -> Payload:
    """What an action was given.

    Args:
        action: Its payload may be any JSON; none is an empty one.
        kind: What it has to be.

    Raises:
        CommandError: `invalid_message`: what it is instead.
    """
    try:
        return msgspec.convert({} if action.payload is None else action.payload, kind)
    except (msgspec.ValidationError, RecursionError) as error:
        raise CommandError(
            "invalid_message", f"The payload is none of {action.kind}: {error}."
        ) from None


def _known(action: Action, state: AgentState | None) -> AgentState:
    """The action's session: a queue has no actions without one."""
    if state is None:
        raise CommandError("unknown_session", f"There is no session {action.session_id!r}.")
    return state
