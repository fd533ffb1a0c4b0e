"""Conversations: who takes part, what is said, and how far each has read."""

from __future__ import annotations

import sqlite3

from ....errors import CommandError
from ....protocol.runtime import (
    Action,
    Conversation,
    ConversationMessage,
    Cursor,
    Participant,
    ParticipantKind,
)
from ....protocol.runtime_asks import Leave, Post, Written
from .actions import enqueue_one
from .rows import CONVERSATIONS, CURSORS, MESSAGES, PARTICIPANTS, find, select


def save_conversation(connection: sqlite3.Connection, ask: Conversation) -> Conversation:
    """See `RuntimeStore.save_conversation`."""
    row = CONVERSATIONS.row(ask)
    changed = connection.execute(
        CONVERSATIONS.update("conversation_id"), (*row, ask.conversation_id)
    )
    if not changed.rowcount:
        connection.execute(CONVERSATIONS.insert(), row)
    return ask


def join(connection: sqlite3.Connection, ask: Participant) -> Participant:
    """See `RuntimeStore.join`."""
    require_conversation(connection, ask.conversation_id)
    there = find(connection, PARTICIPANTS, "participant_id", ask.participant_id)
    there = there or _here(connection, ask)
    if there is None:
        connection.execute(PARTICIPANTS.insert(), PARTICIPANTS.row(ask))
    return there or ask


def leave(connection: sqlite3.Connection, ask: Leave) -> Participant:
    """See `RuntimeStore.leave`."""
    connection.execute(
        "UPDATE conversation_participants SET left_at = ?"
        " WHERE participant_id = ? AND left_at IS NULL",
        (ask.at, ask.participant_id),
    )
    participant = find(connection, PARTICIPANTS, "participant_id", ask.participant_id)
    if participant is None:
        raise CommandError(
            "unknown_participant", f"No participant has the id {ask.participant_id}."
        )
    return participant


def post(connection: sqlite3.Connection, ask: Post) -> Written:
    """See `RuntimeStore.post`."""
    messages = (ask.message,) if append(connection, ask.message) else ()
    actions: tuple[Action, ...] = ()
    for each in ask.actions:
        action, fresh = enqueue_one(connection, each)
        actions += (action,) if fresh else ()
    return Written(messages=messages, actions=actions)


def append(connection: sqlite3.Connection, message: ConversationMessage) -> bool:
    """Add a message to its conversation; False where it is there already.

    Raises:
        CommandError: `unknown_conversation`.
    """
    if find(connection, MESSAGES, "message_id", message.message_id) is not None:
        return False
    require_conversation(connection, message.conversation_id)
    connection.execute(MESSAGES.insert(), MESSAGES.row(message))
    return True


def advance(connection: sqlite3.Connection, ask: Cursor) -> Cursor:
    """See `RuntimeStore.advance`."""
    new = place(connection, ask.conversation_id, ask.last_message_id)
    row = connection.execute(
        f"{select(CURSORS)} WHERE session_id = ? AND conversation_id = ?",
        (ask.session_id, ask.conversation_id),
    ).fetchone()
    if row is not None:
        kept = CURSORS.value(row)
        if place(connection, ask.conversation_id, kept.last_message_id) >= new:
            return kept
    connection.execute(CURSORS.insert().replace("INSERT", "INSERT OR REPLACE"), CURSORS.row(ask))
    return ask


def place(connection: sqlite3.Connection, conversation: str, message: str) -> int:
    """The number of a message: those after it have greater ones.

    Raises:
        CommandError: `unknown_message_id`: this conversation has none of this id.
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
    """See that there is such a conversation.

    Raises:
        CommandError: `unknown_conversation`.
    """
    if find(connection, CONVERSATIONS, "conversation_id", conversation) is None:
        raise CommandError("unknown_conversation", f"No conversation has the id {conversation}.")


def _here(connection: sqlite3.Connection, ask: Participant) -> Participant | None:
    """The same user or session, where it takes part and hasn't left."""
    who = "user_id" if ask.kind is ParticipantKind.USER else "session_id"
    row = connection.execute(
        f"{select(PARTICIPANTS)} WHERE conversation_id = ? AND kind = ? AND {who} = ?"
        " AND left_at IS NULL LIMIT 1",
        (ask.conversation_id, ask.kind, getattr(ask, who)),
    ).fetchone()
    return None if row is None else PARTICIPANTS.value(row)
