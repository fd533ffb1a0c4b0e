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
from .draft import Draft
from .kinds import CONVERSATIONS, CURSORS, MESSAGES, PARTICIPANTS


async def save_conversation(draft: Draft, ask: Conversation) -> Conversation:
    """See `RuntimeStore.save_conversation`."""
    if await draft.get(CONVERSATIONS, ask.conversation_id) != ask:
        draft.put(CONVERSATIONS, ask)
    return ask


async def join(draft: Draft, ask: Participant) -> Participant:
    """See `RuntimeStore.join`."""
    await require_conversation(draft, ask.conversation_id)
    there: Participant | None = await draft.get(PARTICIPANTS, ask.participant_id)
    there = there or await _here(draft, ask)
    if there is None:
        draft.put(PARTICIPANTS, ask)
    return there or ask


async def leave(draft: Draft, ask: EndParticipation) -> Participant:
    """See `RuntimeStore.leave`."""
    participant: Participant | None = await draft.get(PARTICIPANTS, ask.participant_id)
    if participant is None:
        raise CommandError("unknown_participant", f"There is no participant {ask.participant_id}.")
    if participant.left_at is None:
        participant = replace(participant, left_at=ask.at)
        draft.put(PARTICIPANTS, participant)
    return participant


async def append(draft: Draft, message: ConversationMessage) -> bool:
    """Add a message to its conversation; False where it is there already.

    Raises:
        CommandError: `unknown_conversation`.
    """
    if await draft.get(MESSAGES, message.message_id) is not None:
        return False
    await require_conversation(draft, message.conversation_id)
    draft.put(MESSAGES, message)
    return True


async def advance(draft: Draft, ask: ConversationCursor) -> ConversationCursor:
    """See `RuntimeStore.advance`."""
    new = await place(draft, ask.conversation_id, ask.last_message_id)
    kept: ConversationCursor | None = await draft.get(CURSORS, CURSORS.key_of(ask))
    if kept is not None and await place(draft, ask.conversation_id, kept.last_message_id) >= new:
        return kept
    draft.put(CURSORS, ask)
    return ask


async def place(draft: Draft, conversation: str, message: str) -> int:
    """The number of a message: those after it have greater ones.

    Raises:
        CommandError: `unknown_message_id`: this conversation has none of this id.
    """
    found: ConversationMessage | None = await draft.get(MESSAGES, message)
    if found is None or found.conversation_id != conversation:
        raise CommandError(
            "unknown_message_id", f"Conversation {conversation} has no message {message}."
        )
    return draft.n_of(MESSAGES, found)


async def require_conversation(draft: Draft, conversation: str) -> None:
    """See that there is such a conversation.

    Raises:
        CommandError: `unknown_conversation`.
    """
    if await draft.get(CONVERSATIONS, conversation) is None:
        raise CommandError("unknown_conversation", f"There is no conversation {conversation}.")


async def _here(draft: Draft, ask: Participant) -> Participant | None:
    """The same user or session, where it takes part and hasn't left."""
    who = "user_id" if ask.kind is ParticipantKind.USER else "session_id"
    found: list[Participant] = await draft.matching(
        PARTICIPANTS, conversation_id=ask.conversation_id, kind=ask.kind
    )
    same = (each for each in found if getattr(each, who) == getattr(ask, who) is not None)
    return next((each for each in same if each.left_at is None), None)
