"""Conversations and their participants. Each change is also posted in the conversation."""

from __future__ import annotations

import asyncio

import msgspec

from ...errors import CommandError, ProtocolError
from ...protocol.runtime import (
    LIVE_STATUSES,
    Conversation,
    ConversationMessage,
    ConversationStatus,
    Participant,
    ParticipantKind,
    SenderType,
)
from ...protocol.runtime_requests import (
    LeaveConversation,
    NewConversation,
    NewParticipant,
    SetConversation,
)
from ...protocol.runtime_store_messages import EndParticipation, ParticipantQuery, PostMessage
from ...protocol.session_creation import make_join_message, make_participant_message
from . import lookups
from .context import RowUpdates, RuntimeServices


class ConversationService:
    """Creates and closes conversations, and adds and removes participants.

    Changes run one after another, so that what a change has read is still true when it writes.

    Args:
        context: The services of the runtime.
    """

    def __init__(self, context: RuntimeServices) -> None:
        self._context = context
        self._store = context.store
        self._lock = asyncio.Lock()

    async def create(self, request: NewConversation) -> Conversation:
        """Create a conversation; if the id exists, return the existing one."""
        async with self._lock:
            if request.conversation_id is not None:
                known = await lookups.find_conversation(self._store, request.conversation_id)
                if known is not None:
                    return known
            return await self._save(
                Conversation(
                    conversation_id=request.conversation_id or self._context.new_id(),
                    title=request.title,
                    created_by=request.created_by,
                    tags=request.tags,
                    created_at=self._context.clock(),
                )
            )

    async def set(self, request: SetConversation) -> Conversation:
        """Change the given attributes: the title, the tags, or the status.

        Raises:
            CommandError: `unknown_conversation`.
        """
        async with self._lock:
            known = await lookups.get_conversation(self._store, request.conversation_id)
            requested = msgspec.structs.replace(
                known,
                status=known.status
                if request.status is None
                else ConversationStatus(request.status),
                title=known.title if request.title is None else request.title,
                tags=known.tags if request.tags is None else request.tags,
            )
            if requested == known:
                return known
            saved = await self._save(requested)
            if saved.status is not known.status:
                await self._post_message(self._make_status_message(saved))
            return saved

    async def join(self, request: NewParticipant) -> Participant:
        """Add a participant to a conversation; an existing participant is returned unchanged.

        Raises:
            ProtocolError: `invalid_message`: the request names no participant.
            CommandError: `unknown_conversation`, `conversation_closed`; `unknown_session`,
                `unknown_agent`, `session_over`.
        """
        async with self._lock:
            await lookups.get_open_conversation(self._store, request.conversation_id)
            requested = await self._find_participant(request)
            participant = await self._store.join(requested)
            if participant.participant_id == requested.participant_id:
                self._context.publish(RowUpdates(participants=(participant,)))
                await self._post_message(make_join_message(self._context.new_id(), participant))
            return participant

    async def leave(self, request: LeaveConversation) -> Participant:
        """Remove a participant; one that has left already is returned unchanged.

        Raises:
            CommandError: `unknown_conversation`, `unknown_participant`.
        """
        async with self._lock:
            known = await self._participant(request.conversation_id, request.participant_id)
            if known.left_at is not None:
                return known
            leave = EndParticipation(
                participant_id=request.participant_id, at=self._context.clock()
            )
            participant = await self._store.leave(leave)
            self._context.publish(RowUpdates(participants=(participant,)))
            await self._post_message(self._make_left_message(participant))
            return participant

    # ---- parts --------------------------------------------------------------------------------------

    async def _save(self, requested: Conversation) -> Conversation:
        saved = await self._store.save_conversation(requested)
        self._context.publish(RowUpdates(conversations=(saved,)))
        return saved

    async def _post_message(self, message: ConversationMessage) -> None:
        written = await self._store.post(PostMessage(message=message))
        self._context.publish(RowUpdates(messages=written.messages))

    async def _find_participant(self, request: NewParticipant) -> Participant:
        """Make the participant that a request describes."""
        user_id = agent_id = session_id = None
        if request.kind is ParticipantKind.USER:
            if request.user_id is None:
                raise _missing("user_id", "it names the user who joins")
            user_id = request.user_id
        else:
            agent_id, session_id = await self._live_session(request)
        return Participant(
            participant_id=self._context.new_id(),
            conversation_id=request.conversation_id,
            kind=request.kind,
            user_id=user_id,
            agent_id=agent_id,
            session_id=session_id,
            role=request.role,
            delivery=request.delivery,
            hears=request.hears,
            joined_at=self._context.clock(),
        )

    async def _live_session(self, request: NewParticipant) -> tuple[str, str]:
        if request.session_id is not None:
            state = await lookups.get_session(self._store, request.session_id)
        elif request.agent_id is not None:
            state = await lookups.get_latest_session(self._store, request.agent_id)
        else:
            raise _missing("session_id", "it names the session that joins")
        if state.status not in LIVE_STATUSES:
            raise CommandError(
                "session_over",
                f"The session {state.session_id[:80]!r} has ended, so it can't join.",
                field="session_id",
            )
        return state.agent_id, state.session_id

    async def _participant(self, conversation_id: str, participant_id: str) -> Participant:
        await lookups.get_conversation(self._store, conversation_id)
        found = await self._store.participants(ParticipantQuery(conversation_id=conversation_id))
        for participant in found.participants:
            if participant.participant_id == participant_id:
                return participant
        raise CommandError(
            "unknown_participant",
            f"There is no participant {participant_id[:80]!r} in this conversation.",
            field="participant_id",
        )

    def _make_left_message(self, participant: Participant) -> ConversationMessage:
        at = participant.left_at or self._context.clock()
        return make_participant_message(self._context.new_id(), participant, "left", at)

    def _make_status_message(self, conversation: Conversation) -> ConversationMessage:
        """Make the message that a conversation was closed or reopened."""
        closed = conversation.status is ConversationStatus.CLOSED
        return ConversationMessage(
            message_id=self._context.new_id(),
            conversation_id=conversation.conversation_id,
            created_at=self._context.clock(),
            sender_type=SenderType.SYSTEM,
            text="The conversation was closed." if closed else "The conversation was opened again.",
            event_type="closed" if closed else "opened",
        )


def _missing(field: str, why: str) -> ProtocolError:
    return ProtocolError("invalid_message", f"{field}: the field is missing; {why}.", field)
