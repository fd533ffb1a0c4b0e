"""The handlers of actions: each applies one kind of action to its session."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, TypeVar

import msgspec
from msgspec import Struct

from .. import typed_json
from ..errors import AgentStopped, CommandError
from ..protocol.runtime import (
    LIVE_STATUSES,
    Action,
    ActionKind,
    ActionStatus,
    AgentState,
    SessionStatus,
)
from ..protocol.runtime_requests import (
    CreateAgentPayload,
    DestroyPayload,
    InputPayload,
    InterruptPayload,
)
from ..protocol.runtime_store_messages import ActionCompletion, SessionWrite
from .dispatcher import LOST_CLAIM_CODES, Handler, describe_error
from .session_host import SessionHost

if TYPE_CHECKING:
    from .session_agent import SessionAgent


Payload = TypeVar("Payload", bound=Struct)


class ActionHandlers:
    """Does actions on the sessions that live in this worker.

    Args:
        session_host: Those.
    """

    def __init__(self, session_host: SessionHost) -> None:
        self._session_host = session_host
        self._runtime_context = session_host.runtime_context

    def by_kind(self) -> Mapping[ActionKind, Handler]:
        """The handler of each kind of action."""
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
        state = _require_state(action, state)
        if state.status is not SessionStatus.CREATED:
            await self._complete_only(action, state)  # it began by this action, or before it
            return
        try:
            decode_payload(action, CreateAgentPayload)
            agent = self._session_host.new_agent(state)
            with self._session_host.registry.register_pending(agent):
                await agent.record_created(self._make_done(action))
        except (Exception, AgentStopped, BaseExceptionGroup) as error:
            if isinstance(error, CommandError) and error.code in LOST_CLAIM_CODES:
                raise
            await self._session_host.fail_session(state, error, (self._make_failed(action, error),))

    async def pause(self, action: Action, state: AgentState | None) -> None:
        """Pause a session after its current step."""
        await self._run_on_agent(action, state, lambda agent, completion: agent.pause(completion))

    async def resume(self, action: Action, state: AgentState | None) -> None:
        """Resume a session."""
        await self._run_on_agent(action, state, lambda agent, completion: agent.resume(completion))

    async def interrupt(self, action: Action, state: AgentState | None) -> None:
        """Put guidance in the place of what its next frame was to be told."""
        guidance = decode_payload(action, InterruptPayload).guidance
        await self._run_on_agent(
            action, state, lambda agent, completion: agent.interrupt(guidance, completion)
        )

    async def input(self, action: Action, state: AgentState | None) -> None:
        """Tell its next frame something besides."""
        text = decode_payload(action, InputPayload).text
        await self._run_on_agent(
            action, state, lambda agent, completion: agent.input(text, completion)
        )

    async def destroy(self, action: Action, state: AgentState | None) -> None:
        """End it; one that has ended is as it was to be."""
        timeout_s = decode_payload(action, DestroyPayload).timeout_s
        state = _require_state(action, state)
        if state.status not in LIVE_STATUSES:
            await self._complete_only(action, state)
            return
        try:
            await self._run_on_agent(
                action, state, lambda agent, completion: agent.destroy(timeout_s, completion)
            )
        except CommandError as error:
            if error.code != "session_over":
                raise
            await self._complete_only(action, state)  # it ended after this was claimed

    # ---- finding ------------------------------------------------------------------------------------

    async def _run_on_agent(
        self,
        action: Action,
        state: AgentState | None,
        operation: Callable[[SessionAgent, ActionCompletion], Awaitable[None]],
    ) -> None:
        """Let the agent of the action's session do it; it lives here from now on."""
        state = _require_state(action, state)
        if state.status not in LIVE_STATUSES:
            raise CommandError(
                "session_over", f"The session has ended ({state.status}): create another."
            )
        try:
            agent = await self._session_host.host_session(state)
        except CommandError as error:
            if error.code in LOST_CLAIM_CODES:
                raise
            await self._session_host.fail_session(state, error, (self._make_failed(action, error),))
        else:
            await operation(agent, self._make_done(action))

    # ---- finishing ----------------------------------------------------------------------------------

    def _make_done(self, action: Action) -> ActionCompletion:
        return self._make_completion(action, ActionStatus.DONE, None)

    def _make_failed(self, action: Action, error: BaseException) -> ActionCompletion:
        return self._make_completion(action, ActionStatus.FAILED, describe_error(error))

    def _make_completion(
        self, action: Action, status: ActionStatus, error: str | None
    ) -> ActionCompletion:
        return ActionCompletion(
            id=action.id,
            owner=self._runtime_context.owner,
            status=status,
            error=error,
            processed_at=self._runtime_context.clock(),
        )

    async def _complete_only(self, action: Action, state: AgentState) -> None:
        await self._runtime_context.recorder.write(
            SessionWrite(
                session_id=action.session_id,
                epoch=state.epoch,
                owner=self._runtime_context.owner,
                finished=(self._make_done(action),),
            )
        )


def decode_payload(action: Action, kind: type[Payload]) -> Payload:
    """Decode the payload of an action.

    Args:
        action: The action. A missing payload is an empty one.
        kind: The class of the payload.

    Raises:
        CommandError: `invalid_message`: the payload isn't of this class.
    """
    try:
        return typed_json.convert({} if action.payload is None else action.payload, kind)
    except (msgspec.ValidationError, RecursionError) as error:
        raise CommandError(
            "invalid_message", f"The payload isn't a payload of {action.kind}: {error}."
        ) from None


def _require_state(action: Action, state: AgentState | None) -> AgentState:
    """The action's session: a queue has no actions without one."""
    if state is None:
        raise CommandError("unknown_session", f"There is no session {action.session_id!r}.")
    return state
