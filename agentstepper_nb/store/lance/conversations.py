"""Conversations: who takes part, what is said, and how far each has read."""

from __future__ import annotations

from msgspec.structs import replace

from ...errors import CommandError
from ...protocol.runtime import (
    Conversation,
    ConversationCursor,
    ConversationMessage,
    Participant,
    ParticipantKind,
)
from ...protocol.runtime_store_messages import EndParticipation
from .table_specs import CONVERSATIONS, CURSORS, MESSAGES, PARTICIPANTS
from .transaction import Transaction


async def save_conversation(transaction: Transaction, request: Conversation) -> Conversation:
    """See `RuntimeStore.save_conversation`."""
    if await transaction.get(CONVERSATIONS, request.conversation_id) != request:
        transaction.put(CONVERSATIONS, request)
    return request


async def join(transaction: Transaction, request: Participant) -> Participant:
    """See `RuntimeStore.join`."""
    await require_conversation(transaction, request.conversation_id)
    there: Participant | None = await transaction.get(PARTICIPANTS, request.participant_id)
    there = there or await _find_participant(transaction, request)
    if there is None:
        transaction.put(PARTICIPANTS, request)
    return there or request


async def leave(transaction: Transaction, request: EndParticipation) -> Participant:
    """See `RuntimeStore.leave`."""
    participant: Participant | None = await transaction.get(PARTICIPANTS, request.participant_id)
    if participant is None:
        raise CommandError(
            "unknown_participant", f"There is no participant {request.participant_id}."
        )
    if participant.left_at is None:
        participant = replace(participant, left_at=request.at)
        transaction.put(PARTICIPANTS, participant)
    return participant


async def append(transaction: Transaction, message: ConversationMessage) -> bool:
    """Add a message to its conversation; False where it is there already.

    Raises:
        CommandError: `unknown_conversation`.
    """
    if await transaction.get(MESSAGES, message.message_id) is not None:
        return False
    await require_conversation(transaction, message.conversation_id)
    transaction.put(MESSAGES, message)
    return True


async def advance(transaction: Transaction, request: ConversationCursor) -> ConversationCursor:
    """See `RuntimeStore.advance`."""
    new = await message_number(transaction, request.conversation_id, request.last_message_id)
    stored: ConversationCursor | None = await transaction.get(CURSORS, CURSORS.key_of(request))
    if (
        stored is not None
        and await message_number(transaction, request.conversation_id, stored.last_message_id)
        >= new
    ):
        return stored
    transaction.put(CURSORS, request)
    return request


async def message_number(transaction: Transaction, conversation: str, message: str) -> int:
    """The number of a message: those after it have greater ones.

    Raises:
        CommandError: `unknown_message_id`: this conversation has none of this id.
    """
    found: ConversationMessage | None = await transaction.get(MESSAGES, message)
    if found is None or found.conversation_id != conversation:
        raise CommandError(
            "unknown_message_id", f"Conversation {conversation} has no message {message}."
        )
    return transaction.row_number(MESSAGES, found)


async def require_conversation(transaction: Transaction, conversation: str) -> None:
    """See that there is such a conversation.

    Raises:
        CommandError: `unknown_conversation`.
    """
    if await transaction.get(CONVERSATIONS, conversation) is None:
        raise CommandError("unknown_conversation", f"There is no conversation {conversation}.")


async def _find_participant(transaction: Transaction, request: Participant) -> Participant | None:
    """The same user or session, where it takes part and hasn't left."""
    who = "user_id" if request.kind is ParticipantKind.USER else "session_id"
    found: list[Participant] = await transaction.find_by_fields(
        PARTICIPANTS, conversation_id=request.conversation_id, kind=request.kind
    )
    same = (each for each in found if getattr(each, who) == getattr(request, who) is not None)
    return next((each for each in same if each.left_at is None), None)
