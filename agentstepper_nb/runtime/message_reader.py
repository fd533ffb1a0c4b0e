"""Reads conversations for monikers, from the session's cursor, which is stored with each step."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Final, Protocol

from msgspec import Struct

from ..errors import AgentStepperError
from ..protocol.runtime import ConversationMessage
from ..protocol.runtime_store_messages import (
    ConversationMessageList,
    CursorQuery,
    CursorResult,
    Limit,
    MessageQuery,
)

_NOWHERE: Final = (
    "The session {id} can't read messages: it was created in no conversation. Name one with "
    "`read_messages(conversation_id)`, or create the session with `conversation_id=…`."
)
_NO_CORE: Final = (
    "The session {id} can't read messages: its moniker runs without a worker. Run it in "
    "`agentstepper worker`."
)


class UnreadQuery(Struct, frozen=True, kw_only=True):
    """A query of the messages that a session hasn't read."""

    session_id: str
    conversation_id: str
    after: str | None  # the message that it read last; None: the one at its cursor
    limit: Limit


class UnreadMessages(Struct, frozen=True, kw_only=True):
    """The messages of others, oldest first."""

    messages: tuple[ConversationMessage, ...]
    last: str | None  # up to which message that is; None: nothing was ever said


#: Reads messages.
ReadUnread = Callable[[UnreadQuery], Awaitable[UnreadMessages]]


class MessageSource(Protocol):
    """The Core, or a way to it."""

    async def cursor(self, request: CursorQuery) -> CursorResult:
        """Return a session's reading position in a conversation."""

    async def messages(self, request: MessageQuery) -> ConversationMessageList:
        """Messages of a conversation, the oldest first."""


async def read_unread(source: MessageSource, query: UnreadQuery) -> UnreadMessages:
    """Read what others said, of the first page that has any.

    Args:
        source: Has the messages.
        query: Which.

    Raises:
        CommandError: `unknown_message_id`: the conversation has no such message.
    """
    after = query.after
    if after is None:
        where = CursorQuery(session_id=query.session_id, conversation_id=query.conversation_id)
        cursor = (await source.cursor(where)).cursor
        after = None if cursor is None else cursor.last_message_id
    while True:
        page = await source.messages(
            MessageQuery(conversation_id=query.conversation_id, after=after, limit=query.limit)
        )
        if page.messages:
            after = page.messages[-1].message_id
        others = tuple(each for each in page.messages if each.session_id != query.session_id)
        if others or not (page.more or len(page.messages) == query.limit):
            return UnreadMessages(messages=others, last=after)


class MessageReader:
    """Reads conversations for one activation of a session.

    Args:
        session_id: The session.
        conversation_id: The conversation that it was created in; None: in none.
        read: Reads messages; None: there is no Core.
    """

    def __init__(
        self, session_id: str, conversation_id: str | None, read: ReadUnread | None
    ) -> None:
        self._session_id = session_id
        self._conversation_id = conversation_id
        self._read = read
        self._positions: dict[str, str] = {}

    @property
    def positions(self) -> Mapping[str, str]:
        """The last message that the step has read, of each conversation."""
        return dict(self._positions)

    def begin_step(self) -> None:
        """A step begins, or is tried again: it reads from the session's cursors."""
        self._positions.clear()

    async def read(self, conversation_id: str | None, limit: int) -> list[ConversationMessage]:
        """See `MonikerContext.read_messages`."""
        where = conversation_id or self._conversation_id
        if where is None:
            raise AgentStepperError(_NOWHERE.format(id=self._session_id))
        if self._read is None:
            raise AgentStepperError(_NO_CORE.format(id=self._session_id))
        found = await self._read(
            UnreadQuery(
                session_id=self._session_id,
                conversation_id=where,
                after=self._positions.get(where),
                limit=limit,
            )
        )
        if found.last is not None:
            self._positions[where] = found.last
        return list(found.messages)
