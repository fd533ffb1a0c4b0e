"""Rows that a session's creation writes: its first snapshot, and its place in a conversation.

The Core makes them from a client's request, and a store from the next periodic creation.
"""

from __future__ import annotations

from .runtime import (
    Action,
    AgentState,
    ConversationMessage,
    Participant,
    ParticipantKind,
    SenderType,
)
from .runtime_requests import CreateAgentPayload
from .runtime_store_messages import CreateAgentSession


def make_creation(action: Action, payload: CreateAgentPayload) -> CreateAgentSession:
    """The creation of a session that takes part in no conversation yet.

    Args:
        action: The action that creates it.
        payload: The action's payload.
    """
    state = AgentState(
        agent_id=action.agent_id,
        session_id=action.session_id,
        moniker=payload.moniker,
        moniker_version=payload.moniker_version,
        requires=payload.requires,
        config=payload.config,
        limits=payload.limits,
        conversation_id=payload.conversation_id,
        step=payload.step,
        created_at=action.created_at,
        updated_at=action.created_at,
    )
    return CreateAgentSession(state=state, action=action)


def add_participant(
    creation: CreateAgentSession,
    payload: CreateAgentPayload,
    participant_id: str,
    message_id: str,
) -> CreateAgentSession:
    """The creation of a session that takes part in the conversation of its payload.

    Args:
        creation: The creation without it.
        payload: The action's payload, with a conversation.
        participant_id: The id that the session has in the conversation.
        message_id: The id of the message that it joined.
    """
    assert payload.conversation_id is not None
    participant = Participant(
        participant_id=participant_id,
        conversation_id=payload.conversation_id,
        kind=ParticipantKind.SESSION,
        agent_id=creation.state.agent_id,
        session_id=creation.state.session_id,
        delivery=payload.delivery,
        hears=payload.hears,
        joined_at=creation.state.created_at,
    )
    return CreateAgentSession(
        state=creation.state,
        action=creation.action,
        participant=participant,
        message=make_join_message(message_id, participant),
    )


def make_join_message(message_id: str, participant: Participant) -> ConversationMessage:
    """The message that somebody joined.

    Args:
        message_id: Its id.
        participant: Who.
    """
    return make_participant_message(message_id, participant, "joined", participant.joined_at)


def make_participant_message(
    message_id: str, participant: Participant, what: str, at: float
) -> ConversationMessage:
    """The message of what a participant did.

    Args:
        message_id: Its id.
        participant: Who.
        what: What the participant did, in a word: it is the message's `event_type`, too.
        at: When, in POSIX seconds.
    """
    return ConversationMessage(
        message_id=message_id,
        conversation_id=participant.conversation_id,
        created_at=at,
        sender_type=SenderType.SYSTEM,
        user_id=participant.user_id,
        agent_id=participant.agent_id,
        session_id=participant.session_id,
        text=f"{participant.user_id or participant.agent_id} {what}.",
        data={"participant_id": participant.participant_id, "role": participant.role.value},
        event_type=what,
    )
