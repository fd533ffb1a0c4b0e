"""Checks and enqueues actions: their session, their payload, and duplicates.

An action with a known `idem_key`, and a creation with a known `session_id`, return the existing action
or session, and change nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

import msgspec
from msgspec import Struct

from ...errors import CommandError, ProtocolError
from ...protocol.runtime import (
    LIVE_STATUSES,
    Action,
    ActionKind,
    ActionStatus,
    AgentState,
    ConversationMessage,
    ConversationStatus,
    SenderType,
)
from ...protocol.runtime_requests import (
    ActionEnqueued,
    CreateAgentPayload,
    InputPayload,
    NewAction,
    RetryAgentSession,
    RetryFailedAction,
)
from ...protocol.runtime_store_messages import (
    ActionList,
    ActionQuery,
    DiscardAction,
    EnqueueActions,
    PostMessage,
    RetryAction,
    RetrySession,
)
from ...protocol.session_creation import add_participant, make_creation
from ...store.runtime import schedules
from . import lookups
from .admission import Admission
from .context import RowUpdates, RuntimeServices, derive_id, is_due
from .payloads import check_payload, encode_payload, refuse_large
from .unfit_sessions import UnfitSessions

Row = TypeVar("Row", bound=Struct)


class ActionService:
    """Enqueues the actions that clients request of agents.

    Args:
        context: The services of the runtime.
        admission: Limits the open actions and live sessions.
        check_agent: Refuses agents that may not be created here, or returns them with allowed
            settings; it may read the file system.
        unfit: Ends destroyed sessions that no worker can run.
    """

    def __init__(
        self,
        context: RuntimeServices,
        admission: Admission,
        check_agent: Callable[[CreateAgentPayload], CreateAgentPayload],
        unfit: UnfitSessions,
    ) -> None:
        self._context = context
        self._admission = admission
        self._check_agent = check_agent
        self._unfit = unfit

    async def act(self, request: NewAction) -> ActionEnqueued:
        """Enqueue an action; `agent_create` creates its session too.

        Args:
            request: The action.

        Returns:
            The action in the queue, and its session.

        Raises:
            ProtocolError: `invalid_message`: a field is missing, or the payload has another form.
            CommandError: `unknown_session`, `unknown_agent`, `session_over`; for a creation
                `unknown_conversation`, `conversation_closed`, `outside_roots`, `session_exists`;
                `too_large`; `busy`.
        """
        payload = check_payload(request.kind, request.payload)
        refuse_large(request.payload, "payload")
        refuse_large(request.metadata, "metadata")
        request = await self._find_due_time(request)
        known = await self._known(request.idem_key)
        if known is not None:
            return ActionEnqueued(action=known, session_id=known.session_id, is_new=False)
        if isinstance(payload, CreateAgentPayload):
            return await self._create(request, payload)
        state = await self._target(request)
        refusal = await self._admission.find_refusal(request.kind)
        if refusal is not None:
            raise refusal
        with self._admission.admitted(request.kind):
            return await self._enqueue(request, payload, state)

    async def _enqueue(
        self, request: NewAction, payload: Struct, state: AgentState
    ) -> ActionEnqueued:
        """Enqueue an action for a session that there is."""
        if isinstance(payload, InputPayload) and payload.message_id is None and _is_once(request):
            message = await self._make_input_message(request, payload, state)
            if message is not None:
                return await self._post(request, payload, state, message)
        action = self._action(request, payload, state.agent_id, state.session_id)
        stored = (await self._context.store.enqueue(EnqueueActions(actions=(action,)))).actions[0]
        enqueued = self._publish_enqueued(action, stored)
        if request.kind is ActionKind.DESTROY and is_due(stored, self._context.clock()):
            await self._unfit.end_if_unfit(state)
        return enqueued

    async def retry(self, request: RetryAgentSession) -> AgentState:
        """Resume a session that ended with an error; see `RuntimeStore.retry`."""
        state = await self._context.store.retry(
            RetrySession(session_id=request.session_id, now=self._context.clock())
        )
        self._context.publish(RowUpdates(states=(state,)))
        return state

    async def retry_action(self, request: RetryFailedAction) -> ActionList:
        """Enqueue a failed action's payload again; see `RuntimeStore.retry_action`."""
        retried = await self._context.store.retry_action(
            RetryAction(id=request.id, new_id=self._context.new_id(), now=self._context.clock())
        )
        self._context.publish(RowUpdates(actions=retried.actions))
        return retried

    async def discard_action(self, request: DiscardAction) -> ActionList:
        """Discard a failed action from the dead letters; see `RuntimeStore.discard_action`."""
        request = msgspec.structs.replace(request, now=self._context.clock())
        discarded = await self._context.store.discard_action(request)
        states = await self._find_unbegun_sessions(discarded)
        self._context.publish(RowUpdates(actions=discarded.actions, states=states))
        return discarded

    async def _find_unbegun_sessions(self, discarded: ActionList) -> tuple[AgentState, ...]:
        """Find the sessions that never begin, since their creations were cancelled."""
        found = [
            await lookups.find_state(self._context.store, action.session_id)
            for action in discarded.actions
            if action.kind is ActionKind.CREATE and action.status is ActionStatus.DISCARDED
        ]
        return tuple(state for state in found if state is not None)

    async def _find_due_time(self, request: NewAction) -> NewAction:
        """Return the request with `not_before` set to the time of the first occurrence.

        Raises:
            ProtocolError: `invalid_message`: the schedule is invalid.
        """
        if request.cron is None:
            return request
        how = (self._context.clock(), request.not_before, request.every, request.cron)
        try:
            # On a thread: an expression that names no time takes long.
            due = await asyncio.to_thread(schedules.find_first_due, *how)
        except ValueError as error:
            raise ProtocolError("invalid_message", f"cron: {error}", "cron") from None
        return msgspec.structs.replace(request, not_before=due)

    # ---- creating -----------------------------------------------------------------------------------

    async def _create(self, request: NewAction, payload: CreateAgentPayload) -> ActionEnqueued:
        if request.agent_id is None:
            raise _missing("agent_id", "agent_create needs the id of the agent.")
        payload = await asyncio.to_thread(self._check_agent, payload)
        session_id = request.session_id or self._new_session(request.idem_key)
        refusal = await self._admission.find_refusal(request.kind)
        if refusal is not None and not await self._is_known(session_id):
            raise refusal
        with self._admission.admitted(request.kind):
            return await self._create_session(request, payload, request.agent_id, session_id)

    async def _create_session(
        self, request: NewAction, payload: CreateAgentPayload, agent_id: str, session_id: str
    ) -> ActionEnqueued:
        action = self._action(request, payload, agent_id, session_id)
        create = make_creation(action, payload)
        if payload.conversation_id is not None and not await self._is_known(session_id):
            await lookups.get_open_conversation(
                self._context.store, payload.conversation_id, "payload.conversation_id"
            )
            ids = self._context.new_id(), self._context.new_id()
            create = add_participant(create, payload, *ids)
        created = await self._context.store.create(create)
        if created.state.agent_id != request.agent_id:
            raise CommandError(
                "session_exists",
                f"The session {session_id[:80]!r} belongs to the agent "
                f"{created.state.agent_id[:80]!r}. Create the agent with another session id.",
                field="session_id",
            )
        if created.is_new:
            self._context.publish(
                RowUpdates(
                    states=(created.state,),
                    actions=(created.action,),
                    participants=_as_tuple(create.participant),
                    messages=_as_tuple(create.message),
                )
            )
        return ActionEnqueued(
            action=created.action, session_id=created.state.session_id, is_new=created.is_new
        )

    def _new_session(self, idem_key: str | None) -> str:
        """Make an id for a session that its client gave none. The same key gives the same id."""
        return self._context.new_id() if idem_key is None else derive_id("session", idem_key)

    async def _is_known(self, session_id: str) -> bool:
        return await lookups.find_state(self._context.store, session_id) is not None

    # ---- for sessions that there are ----------------------------------------------------------------

    async def _target(self, request: NewAction) -> AgentState:
        """Find an action's session. Destroying an ended session isn't an error."""
        if request.session_id is not None:
            state = await lookups.get_session(self._context.store, request.session_id)
            if request.agent_id not in (None, state.agent_id):
                raise CommandError(
                    "unknown_session",
                    f"The session {request.session_id[:80]!r} belongs to the agent "
                    f"{state.agent_id[:80]!r}. Leave `agent_id` out, or correct it.",
                    field="agent_id",
                )
        elif request.agent_id is not None:
            state = await lookups.get_latest_session(self._context.store, request.agent_id)
        else:
            raise _missing(
                "session_id", "name the session, or set agent_id to use the agent's latest session."
            )
        if state.status not in LIVE_STATUSES and request.kind is not ActionKind.DESTROY:
            raise CommandError(
                "session_over",
                f"The session {state.session_id[:80]!r} of {state.agent_id[:80]!r} has "
                "ended. Create another session.",
                field="session_id" if request.session_id is not None else "agent_id",
            )
        return state

    async def _make_input_message(
        self, request: NewAction, payload: InputPayload, state: AgentState
    ) -> ConversationMessage | None:
        """Make an input's message for its session's conversation; None if the session has none."""
        if state.conversation_id is None:
            return None
        store = self._context.store
        conversation = await lookups.find_conversation(store, state.conversation_id)
        if conversation is None or conversation.status is ConversationStatus.CLOSED:
            return None
        if not await lookups.list_participants(store, state.conversation_id, state.session_id):
            return None
        key = request.idem_key
        return ConversationMessage(
            message_id=self._context.new_id() if key is None else derive_id("message", key),
            conversation_id=state.conversation_id,
            created_at=self._context.clock(),
            sender_type=SenderType.USER,
            user_id="user",
            text=payload.text,
            event_type="input",
        )

    async def _post(
        self,
        request: NewAction,
        payload: InputPayload,
        state: AgentState,
        message: ConversationMessage,
    ) -> ActionEnqueued:
        """Enqueue an input, and post it in the conversation."""
        linked_payload = msgspec.structs.replace(payload, message_id=message.message_id)
        action = self._action(request, linked_payload, state.agent_id, state.session_id)
        written = await self._context.store.post(PostMessage(message=message, actions=(action,)))
        self._context.publish(RowUpdates(messages=written.messages, actions=written.actions))
        known = None if written.actions else await self._known(request.idem_key)
        return ActionEnqueued(
            action=known or action, session_id=state.session_id, is_new=bool(written.actions)
        )

    async def _known(self, idem_key: str | None) -> Action | None:
        if idem_key is None:
            return None
        found = await self._context.store.actions(ActionQuery(idem_key=idem_key, limit=1))
        return found.actions[0] if found.actions else None

    def _publish_enqueued(self, action: Action, stored: Action) -> ActionEnqueued:
        fresh = stored.id == action.id
        if fresh:
            self._context.publish(RowUpdates(actions=(stored,)))
        return ActionEnqueued(action=stored, session_id=stored.session_id, is_new=fresh)

    def _action(
        self, request: NewAction, payload: Struct, agent_id: str, session_id: str
    ) -> Action:
        id = self._context.new_id()
        is_periodic = request.every is not None or request.cron is not None
        return Action(
            id=id,
            created_at=self._context.clock(),
            kind=request.kind,
            agent_id=agent_id,
            session_id=session_id,
            urgency=request.urgency,
            payload=encode_payload(payload),
            metadata=request.metadata,
            idem_key=request.idem_key,
            not_before=request.not_before,
            every=request.every,
            cron=request.cron,
            series_id=id if is_periodic else None,
        )


def _is_once(request: NewAction) -> bool:
    """Whether an action is due once and now: only such an input is posted in its conversation."""
    return request.not_before is None and request.every is None


def _missing(field: str, why: str) -> ProtocolError:
    return ProtocolError("invalid_message", f"{field}: the field is missing; {why}", field)


def _as_tuple(row: Row | None) -> tuple[Row, ...]:
    return () if row is None else (row,)
