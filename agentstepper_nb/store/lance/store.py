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
from .row_store import RowStore
from .table_specs import (
    ACTIONS,
    CONVERSATIONS,
    CURSORS,
    MESSAGES,
    PARTICIPANTS,
    STATES,
    STEPS,
    TableSpec,
)
from .tables import Tables
from .transaction import Transaction

RequestT = TypeVar("RequestT")
ResponseT = TypeVar("ResponseT")

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
        cls, folder: Path, program: str = "agentstepper worker", timeout_s: float = 0.0
    ) -> LanceRuntimeStore:
        """Open the store of a folder, which belongs to this process until it is closed.

        Args:
            folder: Made where it is missing.
            program: What this process is, for whoever comes second.
            timeout_s: Seconds to wait for whoever has it.

        Raises:
            StoreLockedError: Another process has it.
            NewerStoreError: A newer program wrote it.
            StoreError: It can't be used, is damaged, or LanceDB isn't installed.
        """
        try:
            await asyncio.to_thread(__import__, "lancedb")  # takes seconds
        except ImportError as error:
            raise StoreError(_MISSING) from error
        return cls(await RowStore.open(folder, program, timeout_s))

    # ---- the queue ----------------------------------------------------------------------------------

    async def create(self, request: CreateAgentSession) -> AgentSessionCreated:
        """Make a session. See `RuntimeStore.create`."""
        return await self._change(queue.create, request)

    async def enqueue(self, request: EnqueueActions) -> ActionList:
        """Enqueue actions. See `RuntimeStore.enqueue`."""
        return await self._change(queue.enqueue, request)

    async def claim(self, request: ClaimAction) -> ClaimedAction:
        """Claim the next ready action. See `RuntimeStore.claim`."""
        return await self._change(queue.claim, request)

    async def renew(self, request: RenewLeases) -> RenewedLeases:
        """Make leases last. See `RuntimeStore.renew`."""
        return await self._change(queue.renew, request)

    async def adopt(self, request: AdoptSessions) -> AgentStateList:
        """Take sessions that nobody has any more. See `RuntimeStore.adopt`."""
        return await self._change(queue.adopt, request)

    async def release(self, request: ReleaseLeases) -> None:
        """Cut leases. See `RuntimeStore.release`."""
        await self._change(queue.release, request)

    async def write(self, request: SessionWrite) -> SessionWriteResult:
        """Keep what became of a session. See `RuntimeStore.write`."""
        return await self._change(session_writes.write, request)

    # ---- conversations ------------------------------------------------------------------------------

    async def save_conversation(self, request: Conversation) -> Conversation:
        """Keep a conversation. See `RuntimeStore.save_conversation`."""
        return await self._change(conversations.save_conversation, request)

    async def join(self, request: Participant) -> Participant:
        """Add a participant. See `RuntimeStore.join`."""
        return await self._change(conversations.join, request)

    async def leave(self, request: EndParticipation) -> Participant:
        """A participant leaves. See `RuntimeStore.leave`."""
        return await self._change(conversations.leave, request)

    async def post(self, request: PostMessage) -> SessionWriteResult:
        """Append a message and enqueue actions. See `RuntimeStore.post`."""
        return await self._change(queue.post, request)

    async def advance(self, request: ConversationCursor) -> ConversationCursor:
        """Note how far a session has read. See `RuntimeStore.advance`."""
        return await self._change(conversations.advance, request)

    # ---- reading ------------------------------------------------------------------------------------

    async def actions(self, request: ActionQuery) -> ActionList:
        """Actions, the oldest first."""
        return await self._read(queries.actions, request, ACTIONS)

    async def states(self, request: StateQuery) -> AgentStateList:
        """Snapshots, the newest first."""
        return await self._read(queries.states, request, STATES)

    async def steps(self, request: StepQuery) -> AgentStepList:
        """Steps, by iteration and seq."""
        return await self._read(queries.steps, request, STEPS)

    async def sessions(self, request: AgentSessionQuery) -> AgentSessionList:
        """An agent's sessions, the newest first."""
        return await self._read(queries.sessions, request, STATES, STEPS)

    async def conversations(self, request: ConversationQuery) -> ConversationList:
        """Conversations, the newest first."""
        return await self._read(queries.conversations, request, CONVERSATIONS)

    async def participants(self, request: ParticipantQuery) -> ParticipantList:
        """Participants of a conversation, in the order in which they joined."""
        return await self._read(queries.participants, request, PARTICIPANTS)

    async def messages(self, request: MessageQuery) -> ConversationMessageList:
        """Messages of a conversation. See `RuntimeStore.messages`."""
        after: int | None = None
        if request.after is not None:
            placed = partial(
                conversations.message_number,
                conversation=request.conversation_id,
                message=request.after,
            )
            after = await self._row_store.peek(placed)
        return await self._row_store.read(
            lambda tables: queries.messages(tables, request, after), MESSAGES
        )

    async def cursor(self, request: CursorQuery) -> CursorResult:
        """How far a session has read."""
        key = CURSORS.key_of(request)
        return CursorResult(
            cursor=await self._row_store.peek(lambda transaction: transaction.get(CURSORS, key))
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

    async def _change(
        self, change: Callable[[Transaction, RequestT], Awaitable[ResponseT]], request: RequestT
    ) -> ResponseT:
        return await self._row_store.run_transaction(
            lambda transaction: change(transaction, request)
        )

    async def _read(
        self,
        query: Callable[[Tables, RequestT], Awaitable[ResponseT]],
        request: RequestT,
        *specs: TableSpec,
    ) -> ResponseT:
        return await self._row_store.read(lambda tables: query(tables, request), *specs)


def _size(folder: Path) -> int:
    """The bytes of all files; one that goes meanwhile has none."""
    size = 0
    for message_number, _, files in os.walk(folder):
        for name in files:
            try:
                size += (Path(message_number) / name).stat().st_size
            except FileNotFoundError:
                continue
    return size
