"""The runtime's store in LanceDB."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

from ...errors import StoreError
from ...protocol.runtime import Conversation, ConversationCursor, Participant
from ...protocol.runtime_store_messages import (
    ActionList,
    ActionQuery,
    AdoptSessions,
    AgentSessionCreated,
    AgentSessionList,
    AgentSessionQuery,
    AgentStateList,
    AgentStepList,
    ClaimAction,
    ClaimedAction,
    ConversationList,
    ConversationMessageList,
    ConversationQuery,
    CreateAgentSession,
    CursorQuery,
    CursorResult,
    EndParticipation,
    EnqueueActions,
    MessageQuery,
    ParticipantList,
    ParticipantQuery,
    PostMessage,
    ReleaseLeases,
    RenewedLeases,
    RenewLeases,
    RuntimeStoreInfo,
    SessionWrite,
    SessionWriteResult,
    StateQuery,
    StepQuery,
)
from . import conversations, queries, queue, session_writes
from .draft import Draft
from .kinds import (
    ACTIONS,
    CONVERSATIONS,
    CURSORS,
    MESSAGES,
    PARTICIPANTS,
    STATES,
    STEPS,
    Kind,
)
from .row_store import RowStore
from .tables import Tables

Asked = TypeVar("Asked")
Given = TypeVar("Given")

_MISSING: Final = (
    'LanceDB isn\'t installed: run `pip install "agentstepper_nb[lance]"`, or choose '
    "another runtime_store."
)


class LanceRuntimeStore:
    """Keeps the runtime's rows in LanceDB's tables. See `RuntimeStore`; made by `open`.

    Args:
        row_store: Stores and reads them.
    """

    def __init__(self, row_store: RowStore) -> None:
        self._row_store = row_store

    @classmethod
    async def open(
        cls, folder: Path, what: str = "agentstepper worker", patience: float = 0.0
    ) -> LanceRuntimeStore:
        """Open the store of a folder, which belongs to this process until it is closed.

        Args:
            folder: Made where it is missing.
            what: What this process is, for whoever comes second.
            patience: Seconds to wait for whoever has it.

        Raises:
            StoreLockedError: Another process has it.
            NewerStoreError: A newer program wrote it.
            StoreError: It can't be used, is damaged, or LanceDB isn't installed.
        """
        try:
            await asyncio.to_thread(__import__, "lancedb")  # takes seconds
        except ImportError as error:
            raise StoreError(_MISSING) from error
        return cls(await RowStore.open(folder, what, patience))

    # ---- the queue ----------------------------------------------------------------------------------

    async def create(self, ask: CreateAgentSession) -> AgentSessionCreated:
        """Make a session. See `RuntimeStore.create`."""
        return await self._change(queue.create, ask)

    async def enqueue(self, ask: EnqueueActions) -> ActionList:
        """Enqueue actions. See `RuntimeStore.enqueue`."""
        return await self._change(queue.enqueue, ask)

    async def claim(self, ask: ClaimAction) -> ClaimedAction:
        """Claim the next ready action. See `RuntimeStore.claim`."""
        return await self._change(queue.claim, ask)

    async def renew(self, ask: RenewLeases) -> RenewedLeases:
        """Make leases last. See `RuntimeStore.renew`."""
        return await self._change(queue.renew, ask)

    async def adopt(self, ask: AdoptSessions) -> AgentStateList:
        """Take sessions that nobody has any more. See `RuntimeStore.adopt`."""
        return await self._change(queue.adopt, ask)

    async def release(self, ask: ReleaseLeases) -> None:
        """Cut leases. See `RuntimeStore.release`."""
        await self._change(queue.release, ask)

    async def write(self, ask: SessionWrite) -> SessionWriteResult:
        """Keep what became of a session. See `RuntimeStore.write`."""
        return await self._change(session_writes.write, ask)

    # ---- conversations ------------------------------------------------------------------------------

    async def save_conversation(self, ask: Conversation) -> Conversation:
        """Keep a conversation. See `RuntimeStore.save_conversation`."""
        return await self._change(conversations.save_conversation, ask)

    async def join(self, ask: Participant) -> Participant:
        """Add a participant. See `RuntimeStore.join`."""
        return await self._change(conversations.join, ask)

    async def leave(self, ask: EndParticipation) -> Participant:
        """A participant leaves. See `RuntimeStore.leave`."""
        return await self._change(conversations.leave, ask)

    async def post(self, ask: PostMessage) -> SessionWriteResult:
        """Append a message and enqueue actions. See `RuntimeStore.post`."""
        return await self._change(queue.post, ask)

    async def advance(self, ask: ConversationCursor) -> ConversationCursor:
        """Note how far a session has read. See `RuntimeStore.advance`."""
        return await self._change(conversations.advance, ask)

    # ---- reading ------------------------------------------------------------------------------------

    async def actions(self, ask: ActionQuery) -> ActionList:
        """Actions, the oldest first."""
        return await self._read(queries.actions, ask, ACTIONS)

    async def states(self, ask: StateQuery) -> AgentStateList:
        """Snapshots, the newest first."""
        return await self._read(queries.states, ask, STATES)

    async def steps(self, ask: StepQuery) -> AgentStepList:
        """Steps, by iteration and seq."""
        return await self._read(queries.steps, ask, STEPS)

    async def sessions(self, ask: AgentSessionQuery) -> AgentSessionList:
        """An agent's sessions, the newest first."""
        return await self._read(queries.sessions, ask, STATES, STEPS)

    async def conversations(self, ask: ConversationQuery) -> ConversationList:
        """Conversations, the newest first."""
        return await self._read(queries.conversations, ask, CONVERSATIONS)

    async def participants(self, ask: ParticipantQuery) -> ParticipantList:
        """Participants of a conversation, in the order in which they joined."""
        return await self._read(queries.participants, ask, PARTICIPANTS)

    async def messages(self, ask: MessageQuery) -> ConversationMessageList:
        """Messages of a conversation. See `RuntimeStore.messages`."""
        after: int | None = None
        if ask.after is not None:
            placed = partial(
                conversations.place, conversation=ask.conversation_id, message=ask.after
            )
            after = await self._row_store.look(placed)
        return await self._row_store.read(
            lambda tables: queries.messages(tables, ask, after), MESSAGES
        )

    async def cursor(self, ask: CursorQuery) -> CursorResult:
        """How far a session has read."""
        key = CURSORS.key_of(ask)
        return CursorResult(
            cursor=await self._row_store.look(lambda draft: draft.get(CURSORS, key))
        )

    async def info(self) -> RuntimeStoreInfo:
        """Where it keeps, and how much is open."""
        folder, index = self._row_store.folder, self._row_store.index
        return RuntimeStoreInfo(
            kind="lance",
            place=str(folder),
            live=len(index.states),
            open=len(index.actions),
            size=await asyncio.to_thread(_size, folder),
        )

    async def close(self) -> None:
        """Finish what was begun, and let the folder go. Idempotent."""
        await self._row_store.close()

    async def _change(self, plan: Callable[[Draft, Asked], Awaitable[Given]], ask: Asked) -> Given:
        return await self._row_store.change(lambda draft: plan(draft, ask))

    async def _read(
        self, query: Callable[[Tables, Asked], Awaitable[Given]], ask: Asked, *kinds: Kind
    ) -> Given:
        return await self._row_store.read(lambda tables: query(tables, ask), *kinds)


def _size(folder: Path) -> int:
    """The bytes of all files; one that goes meanwhile has none."""
    size = 0
    for place, _, files in os.walk(folder):
        for name in files:
            try:
                size += (Path(place) / name).stat().st_size
            except FileNotFoundError:
                continue
    return size
