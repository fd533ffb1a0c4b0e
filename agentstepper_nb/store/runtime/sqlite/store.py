"""The runtime's store on disk: one connection writes, on a thread of its own, another reads."""

from __future__ import annotations

import asyncio
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from ....errors import StoreError
from ....protocol.runtime import Conversation, Cursor, Participant
from ....protocol.runtime_asks import (
    ActionQuery,
    Actions,
    Adopt,
    Claim,
    Claimed,
    ConversationQuery,
    Conversations,
    Create,
    Created,
    CursorAt,
    CursorQuery,
    Enqueue,
    Leave,
    MessageQuery,
    Messages,
    ParticipantQuery,
    Participants,
    Post,
    Release,
    Renew,
    Renewed,
    RuntimeStoreInfo,
    Sessions,
    SessionsOf,
    StateQuery,
    States,
    StepQuery,
    Steps,
    Write,
    Written,
)
from ....protocol.values import Durability
from . import queue, reads, summaries, talk, writing
from .file import failed, open_reader, open_writer
from .thread import Work, Writer

T = TypeVar("T")


class SqliteRuntimeStore:
    """Keeps the runtime's rows in a file. See `RuntimeStore`.

    Args:
        path: The file, whose folder's lock whoever calls holds; None keeps everything in memory.
        durability: When who is answered: see `thread.Writer`.

    Raises:
        NewerStoreError: A newer program wrote the file.
        StoreError: It can't be used.
    """

    def __init__(self, path: Path | None, durability: Durability = Durability.DURABLE) -> None:
        self._path = path
        connection = open_writer(path)
        self._reader: _Reader | None = None
        try:
            if path is not None:
                self._reader = _Reader(path)
            self._writer = Writer(connection, path, durability)
        except BaseException as error:
            if self._reader is not None:
                self._reader.close()
            connection.close()
            if path is not None and isinstance(error, sqlite3.Error):
                raise failed(path, error) from error
            raise

    # ---- the queue ----------------------------------------------------------------------------------

    async def create(self, ask: Create) -> Created:
        """Make a session. See `RuntimeStore.create`."""
        return await self._writer.call(lambda connection: queue.create(connection, ask))

    async def enqueue(self, ask: Enqueue) -> Actions:
        """Enqueue actions. See `RuntimeStore.enqueue`."""
        return await self._writer.call(lambda connection: queue.enqueue(connection, ask))

    async def claim(self, ask: Claim) -> Claimed:
        """Claim the next ready action. See `RuntimeStore.claim`."""
        return await self._writer.call(lambda connection: queue.claim(connection, ask))

    async def renew(self, ask: Renew) -> Renewed:
        """Make leases last. See `RuntimeStore.renew`."""
        return await self._writer.call(lambda connection: queue.renew(connection, ask))

    async def adopt(self, ask: Adopt) -> States:
        """Take sessions that nobody has any more. See `RuntimeStore.adopt`."""
        return await self._writer.call(lambda connection: queue.adopt(connection, ask))

    async def release(self, ask: Release) -> None:
        """Cut leases. See `RuntimeStore.release`."""
        await self._writer.call(lambda connection: queue.release(connection, ask))

    async def write(self, ask: Write) -> Written:
        """Keep what became of a session. See `RuntimeStore.write`."""
        return await self._writer.call(lambda connection: writing.write(connection, ask))

    # ---- conversations ------------------------------------------------------------------------------

    async def save_conversation(self, ask: Conversation) -> Conversation:
        """Keep a conversation. See `RuntimeStore.save_conversation`."""
        return await self._writer.call(lambda connection: talk.save_conversation(connection, ask))

    async def join(self, ask: Participant) -> Participant:
        """Add a participant. See `RuntimeStore.join`."""
        return await self._writer.call(lambda connection: talk.join(connection, ask))

    async def leave(self, ask: Leave) -> Participant:
        """A participant leaves. See `RuntimeStore.leave`."""
        return await self._writer.call(lambda connection: talk.leave(connection, ask))

    async def post(self, ask: Post) -> Written:
        """Append a message and enqueue actions. See `RuntimeStore.post`."""
        return await self._writer.call(lambda connection: talk.post(connection, ask))

    async def advance(self, ask: Cursor) -> Cursor:
        """Note how far a session has read. See `RuntimeStore.advance`."""
        return await self._writer.call(lambda connection: talk.advance(connection, ask))

    # ---- reading ------------------------------------------------------------------------------------

    async def actions(self, ask: ActionQuery) -> Actions:
        """Actions, the oldest first."""
        return await self._read(lambda connection: reads.actions(connection, ask))

    async def states(self, ask: StateQuery) -> States:
        """Snapshots, the newest first."""
        return await self._read(lambda connection: reads.states(connection, ask))

    async def steps(self, ask: StepQuery) -> Steps:
        """Steps, by iteration and seq."""
        return await self._read(lambda connection: reads.steps(connection, ask))

    async def sessions(self, ask: SessionsOf) -> Sessions:
        """An agent's sessions, the newest first."""
        return await self._read(lambda connection: summaries.sessions(connection, ask))

    async def conversations(self, ask: ConversationQuery) -> Conversations:
        """Conversations, the newest first."""
        return await self._read(lambda connection: reads.conversations(connection, ask))

    async def participants(self, ask: ParticipantQuery) -> Participants:
        """Participants of a conversation, in the order in which they joined."""
        return await self._read(lambda connection: reads.participants(connection, ask))

    async def messages(self, ask: MessageQuery) -> Messages:
        """Messages of a conversation. See `RuntimeStore.messages`."""
        return await self._read(lambda connection: reads.messages(connection, ask))

    async def cursor(self, ask: CursorQuery) -> CursorAt:
        """How far a session has read."""
        return await self._read(lambda connection: reads.cursor(connection, ask))

    async def info(self) -> RuntimeStoreInfo:
        """Where it keeps, and how much is open."""
        return await self._read(lambda connection: summaries.info(connection, self._path))

    async def close(self) -> None:
        """Finish what was begun, sync, and let go. Idempotent."""
        if self._reader is not None:
            await asyncio.to_thread(self._reader.close)
        await self._writer.close()

    async def _read(self, work: Work[T]) -> T:
        if self._reader is None:
            return await self._writer.call(work, writes=False)
        return await self._reader.read(work)


class _Reader:
    """A connection that only reads, and its thread. It sees all that was answered before."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection = open_reader(path)
        self._thread = ThreadPoolExecutor(1, "agentstepper-runtime-reader")
        self._closed = False

    async def read(self, work: Work[T]) -> T:
        if self._closed:
            raise StoreError(f"{self._path} is closed: open it again.")
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, partial(self._on_thread, work))

    def close(self) -> None:
        """Let go, once what was asked for is read. Blocks; idempotent."""
        self._closed = True
        self._thread.shutdown(wait=True)
        self._connection.close()

    def _on_thread(self, work: Work[Any]) -> Any:
        try:
            self._connection.execute("BEGIN")  # all statements see the same
            try:
                return work(self._connection)
            finally:
                self._connection.execute("ROLLBACK")
        except sqlite3.Error as error:
            raise failed(self._path, error) from error
