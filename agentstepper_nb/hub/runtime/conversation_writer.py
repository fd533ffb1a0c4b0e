"""Posts the output of sessions' steps in their conversations, and as inputs to other sessions."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable

from msgspec.structs import replace

from ...errors import ProtocolError
from ...protocol.runtime import (
    LIVE_STATUSES,
    Action,
    ActionKind,
    ConversationMessage,
    ConversationStatus,
    Delivery,
    Hearing,
    Participant,
    ParticipantRole,
)
from ...protocol.runtime_requests import InputPayload
from ...protocol.runtime_store_messages import ParticipantQuery, SessionWrite
from ...protocol.step_messages import make_step_message
from . import lookups
from .context import RuntimeServices, derive_id
from .payloads import check_payload, encode_payload


class ConversationWriter:
    """Adds to workers' writes the messages and the inputs for the sessions that receive the messages.

    A worker posts in the conversation that its session was created in. The session may have joined
    others since; only the Core knows them.

    Args:
        context: The services of the runtime.
    """

    def __init__(self, context: RuntimeServices) -> None:
        self._context = context
        self._store = context.store
        self._conversations: dict[str, set[str]] = {}  # of each session that takes part in any
        self._is_loaded = False
        self._forgotten = 0  # how often
        self._lock = asyncio.Lock()

    def note(self, participants: Iterable[Participant]) -> None:
        """Apply changes of participants."""
        for each in participants:
            if each.session_id is None:
                continue
            conversations = self._conversations.setdefault(each.session_id, set())
            if each.left_at is None:
                conversations.add(each.conversation_id)
            else:
                conversations.discard(each.conversation_id)
            if not conversations:
                del self._conversations[each.session_id]

    def forget(self) -> None:
        """Drop the known participants: some of their changes were missed."""
        self._conversations.clear()
        self._is_loaded = False
        self._forgotten += 1

    async def complete(self, request: SessionWrite) -> SessionWrite:
        """Return a write with all messages that it posts, and the inputs for sessions that receive them.

        Messages that the session may not post are left out: observers and former participants may not
        post, and nobody may post in a closed conversation.
        """
        await self._load()
        messages: list[ConversationMessage] = []
        actions: list[Action] = []
        for message in (*request.messages, *self._make_missing(request)):
            participants = await self._find_audience(message, request.session_id)
            if participants is None:
                self._context.log.info(
                    "a message of session %r was not posted: the session is an observer or has left, "
                    "or the conversation is closed",
                    request.session_id,
                )
                continue
            messages.append(message)
            actions += await self._make_inputs(message, participants)
        return replace(request, messages=tuple(messages), actions=tuple(actions))

    async def _load(self) -> None:
        """Read all present participants once; `note` applies later changes, until `forget`."""
        if self._is_loaded:
            return
        async with self._lock:
            while not self._is_loaded:
                forgotten = self._forgotten
                found = await self._store.participants(ParticipantQuery(is_present=True))
                self.note(found.participants)
                self._is_loaded = forgotten == self._forgotten  # else it may be of before

    def _make_missing(self, request: SessionWrite) -> Iterable[ConversationMessage]:
        """Make the steps' messages for conversations that the worker doesn't know."""
        posted = {message.conversation_id for message in request.messages}
        joined = self._conversations.get(request.session_id, set()) - posted
        for step in request.steps:
            if step.event_seq == 0:
                for conversation in sorted(joined):
                    message_id = derive_id("step", step.id, conversation)
                    yield make_step_message(step, conversation, message_id)

    async def _find_audience(
        self, message: ConversationMessage, session_id: str
    ) -> tuple[Participant, ...] | None:
        """The other participants of a message's conversation; None if the session may not post there."""
        conversation = await lookups.find_conversation(self._store, message.conversation_id)
        if conversation is None or conversation.status is ConversationStatus.CLOSED:
            return None
        there = await lookups.list_participants(self._store, message.conversation_id)
        own = [each for each in there if each.session_id == session_id]
        if all(each.role is ParticipantRole.OBSERVER for each in own):
            return None
        return tuple(each for each in there if each.session_id != session_id)

    async def _make_inputs(
        self, message: ConversationMessage, participants: tuple[Participant, ...]
    ) -> list[Action]:
        """Make the inputs of the sessions that receive the messages of other sessions, too."""
        text = message.text
        if not text and message.data is not None:
            text = json.dumps(message.data, ensure_ascii=False)
        hearing = {each.session_id for each in participants if each.session_id and _hears_all(each)}
        if not text or not hearing or not self._is_input(text, message):
            return []
        inputs = []
        for session_id in sorted(hearing):
            state = await lookups.find_state(self._store, session_id)
            if state is None or state.status not in LIVE_STATUSES:
                continue
            inputs.append(
                Action(
                    id=self._context.new_id(),
                    created_at=message.created_at,
                    kind=ActionKind.INPUT,
                    agent_id=state.agent_id,
                    session_id=session_id,
                    payload=encode_payload(InputPayload(text=text, message_id=message.message_id)),
                    metadata={
                        "conversation_id": message.conversation_id,
                        "agent_id": message.agent_id,
                    },
                    idem_key=derive_id("heard", message.message_id, session_id),
                )
            )
        return inputs

    def _is_input(self, text: str, message: ConversationMessage) -> bool:
        """Whether a message's text can be an input of other sessions: a worker refuses a longer one."""
        try:
            check_payload(ActionKind.INPUT, {"text": text})
        except ProtocolError as error:
            self._context.log.warning(
                "a message of session %r was not sent to other sessions: %s",
                *(message.session_id, error.message),
            )
            return False
        return True


def _hears_all(participant: Participant) -> bool:
    return participant.delivery is Delivery.PUSH and participant.hears is Hearing.ALL
