"""The client's methods for conversations of people and background agents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec.structs import replace

from ...protocol import runtime_methods as methods
from ...protocol.runtime import (
    Conversation,
    ConversationCursor,
    ConversationMessage,
    ConversationStatus,
    Delivery,
    Hearing,
    Json,
    Participant,
    ParticipantKind,
    ParticipantRole,
)
from ...protocol.runtime_requests import (
    LeaveConversation,
    NewConversation,
    NewMessage,
    NewParticipant,
    SetConversation,
)
from ...protocol.runtime_store_messages import (
    DEFAULT_LIMIT,
    ConversationQuery,
    CursorQuery,
    MessageQuery,
    ParticipantQuery,
)
from ...rpc.service_client import ServiceClient
from .actions import find_enum_member, make_id
from .pages import read_pages


class ConversationClient:
    """The client's methods that create, post to and read conversations."""

    _core: ServiceClient  # asks the Core

    async def create_conversation(
        self,
        title: str = "",
        *,
        created_by: str = "user",
        tags: Sequence[str] = (),
        conversation_id: str | None = None,
    ) -> Conversation:
        """Create a conversation. If `conversation_id` exists, return that conversation."""
        request = NewConversation(
            title=title,
            created_by=created_by,
            tags=tuple(tags),
            conversation_id=conversation_id or make_id(),
        )
        return await self._core.call(methods.CREATE_CONVERSATION, request)

    async def set_conversation(
        self,
        conversation_id: str,
        *,
        status: Literal["open", "closed"] | None = None,
        title: str | None = None,
        tags: Sequence[str] | None = None,
    ) -> Conversation:
        """Change a conversation's title or tags; `status="closed"` closes the conversation."""
        request = SetConversation(
            conversation_id=conversation_id,
            status=status,
            title=title,
            tags=None if tags is None else tuple(tags),
        )
        return await self._core.call(methods.SET_CONVERSATION, request)

    async def conversations(
        self,
        *,
        conversation_id: str | None = None,
        status: str | None = None,
        tag: str | None = None,
        limit: int = DEFAULT_LIMIT,
        offset: int = 0,
    ) -> list[Conversation]:
        """List conversations, newest first."""
        request = ConversationQuery(
            conversation_id=conversation_id,
            status=None if status is None else find_enum_member(ConversationStatus, status),
            tag=tag,
        )

        async def read_page(limit: int, offset: int) -> tuple[tuple[Conversation, ...], bool]:
            page = replace(request, limit=limit, offset=offset)
            found = await self._core.call(methods.CONVERSATIONS, page)
            return found.conversations, found.more

        return await read_pages(read_page, limit, offset)

    async def join(
        self,
        conversation_id: str,
        *,
        user_id: str | None = None,
        session_id: str | None = None,
        agent_id: str | None = None,
        role: str = "member",
        delivery: str = "push",
        hears: str = "users",
    ) -> Participant:
        """Add a user (`user_id`) or a session to a conversation.

        Args:
            conversation_id: The conversation.
            user_id: The user.
            session_id: The session.
            agent_id: The agent whose latest session joins, if no session is named.
            role: `owner`, `member`, or `observer`; an observer never posts.
            delivery: Whether the messages are passed to the session (`push`), or the session reads
                them (`pull`).
            hears: Whose messages are passed to a `push` session: those of people only (`users`), or
                those that other sessions post by their steps as well (`all`). Two sessions that
                hear each other answer each other without end, unless one of them stops.
        """
        request = NewParticipant(
            conversation_id=conversation_id,
            kind=ParticipantKind.SESSION if user_id is None else ParticipantKind.USER,
            user_id=user_id,
            agent_id=agent_id,
            session_id=session_id,
            role=find_enum_member(ParticipantRole, role),
            delivery=find_enum_member(Delivery, delivery),
            hears=find_enum_member(Hearing, hears),
        )
        return await self._core.call(methods.JOIN, request)

    async def leave(self, conversation_id: str, participant_id: str) -> Participant:
        """Remove a participant from a conversation."""
        request = LeaveConversation(conversation_id=conversation_id, participant_id=participant_id)
        return await self._core.call(methods.LEAVE, request)

    async def participants(
        self, conversation_id: str, *, present_only: bool = False
    ) -> list[Participant]:
        """List a conversation's participants; with `present_only`, without those who have left."""
        request = ParticipantQuery(conversation_id=conversation_id, is_present=present_only)
        return list((await self._core.call(methods.PARTICIPANTS, request)).participants)

    async def post(
        self, conversation_id: str, text: str, user_id: str = "user", data: Json = None
    ) -> ConversationMessage:
        """Post a message to a conversation; every session that takes part gets it."""
        request = NewMessage(
            conversation_id=conversation_id,
            user_id=user_id,
            text=text,
            data=data,
            idem_key=make_id(),  # so that it can be said again
        )
        return await self._core.call(methods.POST_MESSAGE, request)

    async def messages(
        self, conversation_id: str, after: str | None = None, limit: int = DEFAULT_LIMIT
    ) -> list[ConversationMessage]:
        """List a conversation's messages, oldest first; only those after the id `after`."""
        rows: list[ConversationMessage] = []
        more = True
        while more and len(rows) < limit:
            request = MessageQuery(
                conversation_id=conversation_id,
                after=rows[-1].message_id if rows else after,
                limit=limit - len(rows),
            )
            found = await self._core.call(methods.MESSAGES, request)
            rows += found.messages
            more = found.more
        return rows

    async def unread(
        self, session_id: str, conversation_id: str, limit: int = DEFAULT_LIMIT
    ) -> list[ConversationMessage]:
        """List the messages of others that a `pull` session has not read, oldest first.

        The list stays the same until `mark_read` records how far the session has read.
        """
        query = CursorQuery(session_id=session_id, conversation_id=conversation_id)
        at = (await self._core.call(methods.CURSOR, query)).cursor
        after = None if at is None else at.last_message_id
        while True:
            page = await self.messages(conversation_id, after, limit)
            others = [message for message in page if message.session_id != session_id]
            if others or len(page) < limit:
                return others
            after = page[-1].message_id

    async def mark_read(self, session_id: str, conversation_id: str, message_id: str) -> None:
        """Record that a session has read up to this message. The mark never moves back."""
        read = ConversationCursor(
            session_id=session_id, conversation_id=conversation_id, last_message_id=message_id
        )
        await self._core.call(methods.ADVANCE, read)
