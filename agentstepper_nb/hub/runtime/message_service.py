"""What is said in conversations, and who hears it."""

from __future__ import annotations

import asyncio
import json

from msgspec import Struct

from ...errors import CommandError, ProtocolError
from ...protocol.runtime import (
    LIVE,
    Action,
    ActionKind,
    AgentState,
    ConversationMessage,
    ConversationStatus,
    Cursor,
    Delivery,
    Participant,
    Role,
    SenderType,
)
from ...protocol.runtime_asks import CursorQuery, Limit, MessageQuery, Messages, Post
from ...protocol.runtime_wire import NewMessage, ReadOn
from ...store.runtime.base import RuntimeStore
from . import lookups
from .context import News, RuntimeContext, derived
from .payloads import checked, kept, refuse_large


class MessageService:
    """Posts what users say, and gives sessions that pull what they haven't read.

    Args:
        context: What it works with.
    """

    def __init__(self, context: RuntimeContext) -> None:
        self._context = context
        self._store = context.store

    async def say(self, ask: NewMessage) -> ConversationMessage:
        """Post what a user says, and enqueue it for each session that takes part, hears by push and
        hasn't ended. What was posted with the same `idem_key` is answered as it stands.

        Args:
            ask: Who says what, and where.

        Raises:
            ProtocolError: `invalid_message`: it says nothing.
            CommandError: `unknown_conversation`, `conversation_closed`; `may_not_post`: the user
                joined as an observer; `too_large`.
        """
        told = _told(ask)
        refuse_large(ask.data, "data")
        known = await self._known(ask)
        if known is not None:
            return known
        await lookups.open_conversation(self._store, ask.conversation_id)
        seats = await lookups.seats(self._store, ask.conversation_id)
        if any(seat.user_id == ask.user_id and seat.role is Role.OBSERVER for seat in seats):
            raise CommandError(
                "may_not_post",
                f"{ask.user_id[:80]!r} is an observer here: leave, and join as a member.",
                field="user_id",
            )
        message = ConversationMessage(
            message_id=_id_of(ask) or self._context.new_id(),
            conversation_id=ask.conversation_id,
            created_at=self._context.clock(),
            sender_type=SenderType.USER,
            user_id=ask.user_id,
            text=ask.text,
            data=ask.data,
            event_type="message",
        )
        listening = await self._listening(seats)
        actions = tuple(self._input(message, told, state) for state in listening)
        written = await self._store.post(Post(message=message, actions=actions))
        self._context.tell(News(messages=written.messages, actions=written.actions))
        if written.messages:
            return message
        return await self._known(ask) or message  # another one with the same key was faster

    async def read_on(self, ask: ReadOn) -> Messages:
        """Give a session what others said after what it read last, and note that it read it. An empty
        answer means that there is nothing more for now.

        Raises:
            CommandError: `unknown_session`, `unknown_conversation`; `unknown_participant`: the session
                takes no part.
        """
        await lookups.session(self._store, ask.session_id)
        await lookups.conversation(self._store, ask.conversation_id)
        if not await lookups.seats(self._store, ask.conversation_id, ask.session_id):
            raise CommandError(
                "unknown_participant",
                f"The session {ask.session_id[:80]!r} takes no part in this conversation: let it join.",
                field="session_id",
            )
        at = CursorQuery(session_id=ask.session_id, conversation_id=ask.conversation_id)
        cursor = (await self._store.cursor(at)).cursor
        read = await self._others(ask, None if cursor is None else cursor.last_message_id)
        return Messages(messages=read)

    async def advance(self, ask: Cursor) -> Cursor:
        """Note how far a session has read: for who reads by itself, and so hears again what got lost.

        Raises:
            CommandError: `unknown_session`, `unknown_conversation`, `unknown_message_id`.
        """
        await lookups.session(self._store, ask.session_id)
        await lookups.conversation(self._store, ask.conversation_id)
        try:
            return await self._store.advance(ask)
        except CommandError as error:
            raise CommandError(error.code, error.message, field="last_message_id") from None

    # ---- parts --------------------------------------------------------------------------------------

    async def _known(self, ask: NewMessage) -> ConversationMessage | None:
        """What was posted with the same key."""
        id = _id_of(ask)
        if id is None:
            return None
        return await lookups.find_message(self._store, ask.conversation_id, id)

    async def _others(self, ask: ReadOn, after: str | None) -> tuple[ConversationMessage, ...]:
        """What others said, of the first page that has any."""
        while True:
            page = await self._page(ask.conversation_id, after, ask.limit)
            if page:
                after = page[-1].message_id
                await self._store.advance(
                    Cursor(
                        session_id=ask.session_id,
                        conversation_id=ask.conversation_id,
                        last_message_id=after,
                    )
                )
            others = tuple(each for each in page if each.session_id != ask.session_id)
            if others or len(page) < ask.limit:
                return others

    async def _page(
        self, conversation_id: str, after: str | None, limit: Limit
    ) -> tuple[ConversationMessage, ...]:
        ask = MessageQuery(conversation_id=conversation_id, after=after, limit=limit)
        return (await self._store.messages(ask)).messages

    async def _listening(self, seats: tuple[Participant, ...]) -> list[AgentState]:
        """The sessions that are to be handed what is said."""
        ids = {
            seat.session_id: None
            for seat in seats
            if seat.session_id is not None and seat.delivery is Delivery.PUSH
        }
        states = await asyncio.gather(*(lookups.find_state(self._store, id) for id in ids))
        return [state for state in states if state is not None and state.status in LIVE]

    def _input(self, message: ConversationMessage, told: Struct, state: AgentState) -> Action:
        payload = {**kept(told), "message_id": message.message_id}
        return Action(
            id=self._context.new_id(),
            created_at=message.created_at,
            kind=ActionKind.INPUT,
            agent_id=state.agent_id,
            session_id=state.session_id,
            payload=payload,
            metadata={"conversation_id": message.conversation_id, "user_id": message.user_id},
            idem_key=derived("heard", message.message_id, state.session_id),
        )


def _id_of(ask: NewMessage) -> str | None:
    """The id that follows from the client's key; None where there is no key."""
    key = ask.idem_key
    return None if key is None else derived("said", ask.conversation_id, key)


def _told(ask: NewMessage) -> Struct:
    """What is said as sessions are told it: the text or, where there is none, the data."""
    if not ask.text and ask.data is None:
        raise ProtocolError("invalid_message", "text: it is empty, and there is no data.", "text")
    text = ask.text or json.dumps(ask.data, ensure_ascii=False)
    try:
        return checked(ActionKind.INPUT, {"text": text})
    except ProtocolError as error:
        raise ProtocolError(error.code, error.message, "text" if ask.text else "data") from None


async def admitted(
    store: RuntimeStore, session_id: str, messages: tuple[ConversationMessage, ...]
) -> tuple[ConversationMessage, ...]:
    """What of a session's messages may be posted: observers never post, nor who has left, and nobody
    where a conversation is closed.

    Args:
        store: The store.
        session_id: The session.
        messages: What it says.
    """
    return tuple([each for each in messages if await _admits(store, session_id, each)])


async def _admits(store: RuntimeStore, session_id: str, message: ConversationMessage) -> bool:
    conversation = await lookups.find_conversation(store, message.conversation_id)
    if conversation is None or conversation.status is ConversationStatus.CLOSED:
        return False
    seats = await lookups.seats(store, message.conversation_id, session_id)
    return any(seat.role is not Role.OBSERVER for seat in seats)
