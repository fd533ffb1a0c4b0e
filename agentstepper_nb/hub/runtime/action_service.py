"""What becomes an action: which session it is for, what it may carry, and which are the same.

An action whose `idem_key` is known, and a creation whose `session_id` is, answer what there is, and
change nothing.
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
    AgentState,
    ConversationMessage,
    ConversationStatus,
    Participant,
    ParticipantKind,
    SenderType,
)
from ...protocol.runtime_requests import ActionEnqueued, CreateAgentPayload, InputPayload, NewAction
from ...protocol.runtime_store_messages import (
    ActionQuery,
    CreateAgentSession,
    EnqueueActions,
    PostMessage,
)
from . import lookups
from .context import RowUpdates, RuntimeServices, derive_id
from .conversation_service import make_join_message
from .payloads import check_payload, encode_payload, refuse_large

Row = TypeVar("Row", bound=Struct)


class ActionService:
    """Enqueues what clients ask of agents.

    Args:
        context: What it works with.
        check_agent: Refuses agents that may not be created here, or gives them as they may; it may
            read the file system.
    """

    def __init__(
        self,
        context: RuntimeServices,
        check_agent: Callable[[CreateAgentPayload], CreateAgentPayload],
    ) -> None:
        self._context = context
        self._check_agent = check_agent

    async def act(self, request: NewAction) -> ActionEnqueued:
        """Enqueue an action; `agent_create` makes its session too.

        Args:
            request: The action.

        Returns:
            The action that stands in the queue, and its session.

        Raises:
            ProtocolError: `invalid_message`: a field is missing, or the payload has another form.
            CommandError: `unknown_session`, `unknown_agent`, `session_over`; for a creation
                `unknown_conversation`, `conversation_closed`, `outside_roots`; `too_large`.
        """
        payload = check_payload(request.kind, request.payload)
        refuse_large(request.payload, "payload")
        refuse_large(request.metadata, "metadata")
        known = await self._known(request.idem_key)
        if known is not None:
            return ActionEnqueued(action=known, session_id=known.session_id, is_new=False)
        if isinstance(payload, CreateAgentPayload):
            return await self._create(request, payload)
        state = await self._target(request)
        if isinstance(payload, InputPayload) and payload.message_id is None:
            message = await self._make_input_message(request, payload, state)
            if message is not None:
                return await self._post(request, payload, state, message)
        action = self._action(request, payload, state.agent_id, state.session_id)
        stored = (await self._context.store.enqueue(EnqueueActions(actions=(action,)))).actions[0]
        return self._publish_enqueued(action, stored)

    # ---- creating -----------------------------------------------------------------------------------

    async def _create(self, request: NewAction, payload: CreateAgentPayload) -> ActionEnqueued:
        if request.agent_id is None:
            raise _missing("agent_id", "agent_create needs the id of the agent.")
        payload = await asyncio.to_thread(self._check_agent, payload)
        session_id = request.session_id or self._new_session(request.idem_key)
        action = self._action(request, payload, request.agent_id, session_id)
        create = CreateAgentSession(state=_make_initial_state(action, payload), action=action)
        if payload.conversation_id is not None and not await self._is_known(session_id):
            await lookups.get_open_conversation(
                self._context.store, payload.conversation_id, "payload.conversation_id"
            )
            create = self._add_participant(create, payload.conversation_id, payload)
        created = await self._context.store.create(create)
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
        """An id for a session that its client didn't name. Who creates with the same key at the same
        time means the same session.
        """
        return self._context.new_id() if idem_key is None else derive_id("session", idem_key)

    def _add_participant(
        self, create: CreateAgentSession, conversation_id: str, payload: CreateAgentPayload
    ) -> CreateAgentSession:
        """The creation of a session that takes part in a conversation."""
        participant = Participant(
            participant_id=self._context.new_id(),
            conversation_id=conversation_id,
            kind=ParticipantKind.SESSION,
            agent_id=create.state.agent_id,
            session_id=create.state.session_id,
            delivery=payload.delivery,
            joined_at=create.state.created_at,
        )
        message = make_join_message(self._context.new_id(), participant)
        return msgspec.structs.replace(create, participant=participant, message=message)

    async def _is_known(self, session_id: str) -> bool:
        return await lookups.find_state(self._context.store, session_id) is not None

    # ---- for sessions that there are ----------------------------------------------------------------

    async def _target(self, request: NewAction) -> AgentState:
        """The session that is meant. Ending one that has ended is no error."""
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
        """An input as a message of the conversation that its session takes part in, if any."""
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
        """Enqueue an input, and have it stand in the conversation."""
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
        return Action(
            id=self._context.new_id(),
            created_at=self._context.clock(),
            kind=request.kind,
            agent_id=agent_id,
            session_id=session_id,
            urgency=request.urgency,
            payload=encode_payload(payload),
            metadata=request.metadata,
            idem_key=request.idem_key,
        )


def _make_initial_state(action: Action, payload: CreateAgentPayload) -> AgentState:
    """The snapshot of a session whose creation was just enqueued."""
    return AgentState(
        agent_id=action.agent_id,
        session_id=action.session_id,
        moniker=payload.moniker,
        config=payload.config,
        limits=payload.limits,
        conversation_id=payload.conversation_id,
        step=payload.step,
        created_at=action.created_at,
        updated_at=action.created_at,
    )


def _missing(field: str, why: str) -> ProtocolError:
    return ProtocolError("invalid_message", f"{field}: the field is missing; {why}", field)


def _as_tuple(row: Row | None) -> tuple[Row, ...]:
    return () if row is None else (row,)
