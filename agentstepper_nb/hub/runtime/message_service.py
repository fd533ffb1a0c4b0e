"""Messages of conversations: posted by users, and read by sessions."""

from __future__ import annotations

import asyncio
import json

from msgspec import Struct

from ...errors import CommandError, ProtocolError
from ...protocol.runtime import (
    LIVE_STATUSES,
    Action,
    ActionKind,
    AgentState,
    ConversationCursor,
    ConversationMessage,
    Delivery,
    Participant,
    ParticipantRole,
    SenderType,
)
from ...protocol.runtime_requests import AdvanceCursor, NewMessage
from ...protocol.runtime_store_messages import (
    ConversationMessageList,
    CursorQuery,
    Limit,
    MessageQuery,
    PostMessage,
)
from . import lookups
from .context import RowUpdates, RuntimeServices, derive_id
from .payloads import check_payload, encode_payload, refuse_large


class MessageService:
    """Posts users' messages, and returns unread messages to sessions that pull them.

    Args:
        context: The services of the runtime.
        max_answer_bytes: Bytes of JSON that the messages have which a session reads at once.
    """

    def __init__(
        self, context: RuntimeServices, max_answer_bytes: int = lookups.MAX_ANSWER_BYTES
    ) -> None:
        self._context = context
        self._store = context.store
        self._max_answer_bytes = max_answer_bytes

    async def say(self, request: NewMessage) -> ConversationMessage:
        """Post a user's message, and enqueue it for each live session that participates with push
        delivery.

        A message with a known `idem_key` returns the existing message.

        Args:
            request: The message, its sender and its conversation.

        Raises:
            ProtocolError: `invalid_message`: the message is empty.
            CommandError: `unknown_conversation`, `conversation_closed`; `may_not_post`: the user
                joined as an observer; `too_large`.
        """
        input_payload = _make_input_payload(request)
        refuse_large(request.data, "data")
        known = await self._known(request)
        if known is not None:
            return known
        await lookups.get_open_conversation(self._store, request.conversation_id)
        participants = await lookups.list_participants(self._store, request.conversation_id)
        if any(
            participant.user_id == request.user_id and participant.role is ParticipantRole.OBSERVER
            for participant in participants
        ):
            raise CommandError(
                "may_not_post",
                f"{request.user_id[:80]!r} may not post as an observer. Leave the "
                "conversation, and join it as a member.",
                field="user_id",
            )
        message = ConversationMessage(
            message_id=_derive_message_id(request) or self._context.new_id(),
            conversation_id=request.conversation_id,
            created_at=self._context.clock(),
            sender_type=SenderType.USER,
            user_id=request.user_id,
            text=request.text,
            data=request.data,
            event_type="message",
        )
        listeners = await self._find_listeners(participants)
        actions = tuple(self._input(message, input_payload, state) for state in listeners)
        written = await self._store.post(PostMessage(message=message, actions=actions))
        self._context.publish(RowUpdates(messages=written.messages, actions=written.actions))
        if written.messages:
            return message
        return await self._known(request) or message  # another one with the same key was faster

    async def read_on(self, request: AdvanceCursor) -> ConversationMessageList:
        """Return others' messages after a session's last read one, and advance the session's cursor.

        An empty answer means that there are no more messages for now.

        Raises:
            CommandError: `unknown_session`, `unknown_conversation`; `unknown_participant`: the session
                doesn't participate.
        """
        await lookups.get_session(self._store, request.session_id)
        await lookups.get_conversation(self._store, request.conversation_id)
        if not await lookups.list_participants(
            self._store, request.conversation_id, request.session_id
        ):
            raise CommandError(
                "unknown_participant",
                f"The session {request.session_id[:80]!r} doesn't take part in this "
                "conversation. Add the session as a participant first.",
                field="session_id",
            )
        at = CursorQuery(session_id=request.session_id, conversation_id=request.conversation_id)
        cursor = (await self._store.cursor(at)).cursor
        read = await self._read_others(request, None if cursor is None else cursor.last_message_id)
        return ConversationMessageList(messages=read)

    async def advance(self, request: ConversationCursor) -> ConversationCursor:
        """Set a session's cursor. Sessions that advance it themselves read messages again after a crash.

        Raises:
            CommandError: `unknown_session`, `unknown_conversation`, `unknown_message_id`.
        """
        await lookups.get_session(self._store, request.session_id)
        await lookups.get_conversation(self._store, request.conversation_id)
        try:
            return await self._store.advance(request)
        except CommandError as error:
            raise CommandError(error.code, error.message, field="last_message_id") from None

    # ---- parts --------------------------------------------------------------------------------------

    async def _known(self, request: NewMessage) -> ConversationMessage | None:
        """Find the message that was posted with the same key."""
        id = _derive_message_id(request)
        if id is None:
            return None
        return await lookups.find_message(self._store, request.conversation_id, id)

    async def _read_others(
        self, request: AdvanceCursor, after: str | None
    ) -> tuple[ConversationMessage, ...]:
        """Return others' messages from the first page that has any."""
        while True:
            found = await self._page(request.conversation_id, after, request.limit)
            # The session never sees what the cursor passes and the answer has no room for.
            page = lookups.select_fitting(found, self._max_answer_bytes)
            if page:
                after = page[-1].message_id
                await self._store.advance(
                    ConversationCursor(
                        session_id=request.session_id,
                        conversation_id=request.conversation_id,
                        last_message_id=after,
                    )
                )
            others = tuple(each for each in page if each.session_id != request.session_id)
            if others or len(page) == len(found) < request.limit:
                return others

    async def _page(
        self, conversation_id: str, after: str | None, limit: Limit
    ) -> tuple[ConversationMessage, ...]:
        request = MessageQuery(conversation_id=conversation_id, after=after, limit=limit)
        return (await self._store.messages(request)).messages

    async def _find_listeners(self, participants: tuple[Participant, ...]) -> list[AgentState]:
        """Find the sessions to which a message is pushed."""
        ids = {
            participant.session_id: None
            for participant in participants
            if participant.session_id is not None and participant.delivery is Delivery.PUSH
        }
        states = await asyncio.gather(*(lookups.find_state(self._store, id) for id in ids))
        return [state for state in states if state is not None and state.status in LIVE_STATUSES]

    def _input(
        self, message: ConversationMessage, input_payload: Struct, state: AgentState
    ) -> Action:
        payload = {**encode_payload(input_payload), "message_id": message.message_id}
        return Action(
            id=self._context.new_id(),
            created_at=message.created_at,
            kind=ActionKind.INPUT,
            agent_id=state.agent_id,
            session_id=state.session_id,
            payload=payload,
            metadata={"conversation_id": message.conversation_id, "user_id": message.user_id},
            idem_key=derive_id("heard", message.message_id, state.session_id),
        )


def _derive_message_id(request: NewMessage) -> str | None:
    """Derive a message's id from the client's key; None if there is no key."""
    key = request.idem_key
    return None if key is None else derive_id("said", request.conversation_id, key)


def _make_input_payload(request: NewMessage) -> Struct:
    """Make the input for sessions from a message: its text or, without a text, its data."""
    if not request.text and request.data is None:
        raise ProtocolError(
            "invalid_message", "text: the message has neither text nor data.", "text"
        )
    text = request.text or json.dumps(request.data, ensure_ascii=False)
    try:
        return check_payload(ActionKind.INPUT, {"text": text})
    except ProtocolError as error:
        raise ProtocolError(error.code, error.message, "text" if request.text else "data") from None
