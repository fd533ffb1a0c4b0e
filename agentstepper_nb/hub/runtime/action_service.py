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
    LIVE,
    Action,
    ActionKind,
    AgentState,
    ConversationMessage,
    ConversationStatus,
    Participant,
    ParticipantKind,
    SenderType,
)
from ...protocol.runtime_asks import ActionQuery, Create, Enqueue, Post
from ...protocol.runtime_wire import Acted, CreateAgent, Input, NewAction
from . import lookups
from .context import News, RuntimeContext, derived
from .conversation_service import arrival
from .payloads import checked, kept, refuse_large

Row = TypeVar("Row", bound=Struct)


class ActionService:
    """Enqueues what clients ask of agents.

    Args:
        context: What it works with.
        check_agent: Refuses agents that may not be created here, or gives them as they may; it may
            read the file system.
    """

    def __init__(
        self, context: RuntimeContext, check_agent: Callable[[CreateAgent], CreateAgent]
    ) -> None:
        self._context = context
        self._check_agent = check_agent

    async def act(self, ask: NewAction) -> Acted:
        """Enqueue an action; `agent_create` makes its session too.

        Args:
            ask: The action.

        Returns:
            The action that stands in the queue, and its session.

        Raises:
            ProtocolError: `invalid_message`: a field is missing, or the payload has another form.
            CommandError: `unknown_session`, `unknown_agent`, `session_over`; for a creation
                `unknown_conversation`, `conversation_closed`, `outside_roots`; `too_large`.
        """
        payload = checked(ask.kind, ask.payload)
        refuse_large(ask.payload, "payload")
        refuse_large(ask.metadata, "metadata")
        known = await self._known(ask.idem_key)
        if known is not None:
            return Acted(action=known, session_id=known.session_id, fresh=False)
        if isinstance(payload, CreateAgent):
            return await self._create(ask, payload)
        state = await self._target(ask)
        if isinstance(payload, Input) and payload.message_id is None:
            message = await self._spoken(ask, payload, state)
            if message is not None:
                return await self._post(ask, payload, state, message)
        action = self._action(ask, payload, state.agent_id, state.session_id)
        stored = (await self._context.store.enqueue(Enqueue(actions=(action,)))).actions[0]
        return self._acted(action, stored)

    # ---- creating -----------------------------------------------------------------------------------

    async def _create(self, ask: NewAction, payload: CreateAgent) -> Acted:
        if ask.agent_id is None:
            raise _missing("agent_id", "agent_create says whose session it is.")
        payload = await asyncio.to_thread(self._check_agent, payload)
        session_id = ask.session_id or self._new_session(ask.idem_key)
        action = self._action(ask, payload, ask.agent_id, session_id)
        create = Create(state=_begun(action, payload), action=action)
        if payload.conversation_id is not None and not await self._is_known(session_id):
            await lookups.open_conversation(
                self._context.store, payload.conversation_id, "payload.conversation_id"
            )
            create = self._with_seat(create, payload.conversation_id, payload)
        created = await self._context.store.create(create)
        if created.fresh:
            self._context.tell(
                News(
                    states=(created.state,),
                    actions=(created.action,),
                    participants=_all(create.participant),
                    messages=_all(create.message),
                )
            )
        return Acted(
            action=created.action, session_id=created.state.session_id, fresh=created.fresh
        )

    def _new_session(self, idem_key: str | None) -> str:
        """An id for a session that its client didn't name. Who creates with the same key at the same
        time means the same session.
        """
        return self._context.new_id() if idem_key is None else derived("session", idem_key)

    def _with_seat(self, create: Create, conversation_id: str, payload: CreateAgent) -> Create:
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
        message = arrival(self._context.new_id(), participant)
        return msgspec.structs.replace(create, participant=participant, message=message)

    async def _is_known(self, session_id: str) -> bool:
        return await lookups.find_state(self._context.store, session_id) is not None

    # ---- for sessions that there are ----------------------------------------------------------------

    async def _target(self, ask: NewAction) -> AgentState:
        """The session that is meant. Ending one that has ended is no error."""
        if ask.session_id is not None:
            state = await lookups.session(self._context.store, ask.session_id)
            if ask.agent_id not in (None, state.agent_id):
                raise CommandError(
                    "unknown_session",
                    f"The session {ask.session_id[:80]!r} is another agent's: leave `agent_id` out.",
                    field="agent_id",
                )
        elif ask.agent_id is not None:
            state = await lookups.latest(self._context.store, ask.agent_id)
        else:
            raise _missing("session_id", "name the session, or by agent_id the agent's latest.")
        if state.status not in LIVE and ask.kind is not ActionKind.DESTROY:
            raise CommandError(
                "session_over",
                f"The session {state.session_id[:80]!r} of {state.agent_id[:80]!r} has ended: create "
                "another.",
                field="session_id" if ask.session_id is not None else "agent_id",
            )
        return state

    async def _spoken(
        self, ask: NewAction, payload: Input, state: AgentState
    ) -> ConversationMessage | None:
        """An input as a message of the conversation that its session takes part in, if any."""
        if state.conversation_id is None:
            return None
        store = self._context.store
        conversation = await lookups.find_conversation(store, state.conversation_id)
        if conversation is None or conversation.status is ConversationStatus.CLOSED:
            return None
        if not await lookups.seats(store, state.conversation_id, state.session_id):
            return None
        key = ask.idem_key
        return ConversationMessage(
            message_id=self._context.new_id() if key is None else derived("message", key),
            conversation_id=state.conversation_id,
            created_at=self._context.clock(),
            sender_type=SenderType.USER,
            user_id="user",
            text=payload.text,
            event_type="input",
        )

    async def _post(
        self, ask: NewAction, payload: Input, state: AgentState, message: ConversationMessage
    ) -> Acted:
        """Enqueue an input, and have it stand in the conversation."""
        said = msgspec.structs.replace(payload, message_id=message.message_id)
        action = self._action(ask, said, state.agent_id, state.session_id)
        written = await self._context.store.post(Post(message=message, actions=(action,)))
        self._context.tell(News(messages=written.messages, actions=written.actions))
        known = None if written.actions else await self._known(ask.idem_key)
        return Acted(
            action=known or action, session_id=state.session_id, fresh=bool(written.actions)
        )

    async def _known(self, idem_key: str | None) -> Action | None:
        if idem_key is None:
            return None
        found = await self._context.store.actions(ActionQuery(idem_key=idem_key, limit=1))
        return found.actions[0] if found.actions else None

    def _acted(self, action: Action, stored: Action) -> Acted:
        fresh = stored.id == action.id
        if fresh:
            self._context.tell(News(actions=(stored,)))
        return Acted(action=stored, session_id=stored.session_id, fresh=fresh)

    def _action(self, ask: NewAction, payload: Struct, agent_id: str, session_id: str) -> Action:
        return Action(
            id=self._context.new_id(),
            created_at=self._context.clock(),
            kind=ask.kind,
            agent_id=agent_id,
            session_id=session_id,
            urgency=ask.urgency,
            payload=kept(payload),
            metadata=ask.metadata,
            idem_key=ask.idem_key,
        )


def _begun(action: Action, payload: CreateAgent) -> AgentState:
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
    return ProtocolError("invalid_message", f"{field}: it is missing; {why}", field)


def _all(row: Row | None) -> tuple[Row, ...]:
    return () if row is None else (row,)
