"""Conversations: participants, messages, and read cursors of sessions."""

from __future__ import annotations

import sqlite3

from ....errors import CommandError
from ....protocol.runtime import (
    Conversation,
    ConversationCursor,
    ConversationMessage,
    Participant,
    ParticipantKind,
)
from ....protocol.runtime_store_messages import EndParticipation
from .row_codec import CONVERSATIONS, CURSORS, MESSAGES, PARTICIPANTS, find_row, make_select


def save_conversation(connection: sqlite3.Connection, request: Conversation) -> Conversation:
    """See `RuntimeStore.save_conversation`."""
    row = CONVERSATIONS.encode_row(request)
    changed = connection.execute(
        CONVERSATIONS.update("conversation_id"), (*row, request.conversation_id)
    )
    if not changed.rowcount:
        connection.execute(CONVERSATIONS.insert(), row)
    return request


def join(connection: sqlite3.Connection, request: Participant) -> Participant:
    """See `RuntimeStore.join`."""
    require_conversation(connection, request.conversation_id)
    known = find_row(connection, PARTICIPANTS, "participant_id", request.participant_id)
    known = known or _find_present_participant(connection, request)
    if known is None:
        connection.execute(PARTICIPANTS.insert(), PARTICIPANTS.encode_row(request))
    return known or request


def leave(connection: sqlite3.Connection, request: EndParticipation) -> Participant:
    """See `RuntimeStore.leave`."""
    connection.execute(
        "UPDATE conversation_participants SET left_at = ?"
        " WHERE participant_id = ? AND left_at IS NULL",
        (request.at, request.participant_id),
    )
    participant = find_row(connection, PARTICIPANTS, "participant_id", request.participant_id)
    if participant is None:
        raise CommandError(
            "unknown_participant", f"There is no participant {request.participant_id}."
        )
    return participant


def append_message(connection: sqlite3.Connection, message: ConversationMessage) -> bool:
    """Add a message to its conversation; False where it is there already.

    Raises:
        CommandError: `unknown_conversation`.
    """
    if find_row(connection, MESSAGES, "message_id", message.message_id) is not None:
        return False
    require_conversation(connection, message.conversation_id)
    connection.execute(MESSAGES.insert(), MESSAGES.encode_row(message))
    return True


def advance(connection: sqlite3.Connection, request: ConversationCursor) -> ConversationCursor:
    """See `RuntimeStore.advance`."""
    new = find_message_number(connection, request.conversation_id, request.last_message_id)
    row = connection.execute(
        f"{make_select(CURSORS)} WHERE session_id = ? AND conversation_id = ?",
        (request.session_id, request.conversation_id),
    ).fetchone()
    if row is not None:
        stored_cursor = CURSORS.decode_row(row)
        if (
            find_message_number(connection, request.conversation_id, stored_cursor.last_message_id)
            >= new
        ):
            return stored_cursor
    connection.execute(
        CURSORS.insert().replace("INSERT", "INSERT OR REPLACE"), CURSORS.encode_row(request)
    )
    return request


def find_message_number(connection: sqlite3.Connection, conversation: str, message: str) -> int:
    """Find the number of a message: later messages have greater numbers.

    Raises:
        CommandError: `unknown_message_id`: the conversation has no such message.
    """
    row = connection.execute(
        "SELECT n FROM conversation_messages WHERE message_id = ? AND conversation_id = ?",
        (message, conversation),
    ).fetchone()
    if row is None:
        raise CommandError(
            "unknown_message_id", f"Conversation {conversation} has no message {message}."
        )
    return int(row[0])


def require_conversation(connection: sqlite3.Connection, conversation: str) -> None:
    """Check that a conversation exists.

    Raises:
        CommandError: `unknown_conversation`.
    """
    if find_row(connection, CONVERSATIONS, "conversation_id", conversation) is None:
        raise CommandError("unknown_conversation", f"There is no conversation {conversation}.")


def _find_present_participant(
    connection: sqlite3.Connection, request: Participant
) -> Participant | None:
    """Find the same user or session among the present participants."""
    who = "user_id" if request.kind is ParticipantKind.USER else "session_id"
    row = connection.execute(
        f"{make_select(PARTICIPANTS)} WHERE conversation_id = ? AND kind = ? AND {who} = ?"
        " AND left_at IS NULL LIMIT 1",
        (request.conversation_id, request.kind, getattr(request, who)),
    ).fetchone()
    return None if row is None else PARTICIPANTS.decode_row(row)
