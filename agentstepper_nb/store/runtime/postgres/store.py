"""The runtime's store in PostgreSQL, which several Cores can use at once."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import uuid
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Final, TypeVar

from msgspec.structs import replace

from ....errors import StoreError
from ....protocol.runtime import AgentState, Conversation, ConversationCursor, Participant
from ....protocol.runtime_store_messages import (
    ActionList,
    AdoptedSessions,
    AdoptSessions,
    AgentSessionCreated,
    ChangedRows,
    ClaimAction,
    ClaimedAction,
    CreateAgentSession,
    DiscardAction,
    EndParticipation,
    EnqueueActions,
    PostMessage,
    ReleaseLeases,
    RenewedLeases,
    RenewLeases,
    RetryAction,
    RetrySession,
    RuntimeStoreInfo,
    SessionWrite,
    SessionWriteResult,
)
from ....protocol.store_info import Durability
from ..sqlite import conversations, dead_letters, fleet, mutations, queries, routes
from ..sqlite import queue as rules
from . import changes, queue, retention
from .changes import OnChange
from .database import Database
from .statements import Statements, as_sqlite
from .transactions import Transactions, Work

T = TypeVar("T")
Params = TypeVar("Params")
log = logging.getLogger(__name__)

#: Seconds to wait for a lost server: as long as a restart takes.
RETRY_S: Final = 5.0
#: Calls that are done at the same time, each on a connection of its own.
_MAX_CONNECTIONS: Final = 8


def _writes(
    work: Callable[[Statements, Params], T],
) -> Callable[[PostgresRuntimeStore, Params], Coroutine[Any, Any, T]]:
    """A method of the store that changes something."""

    async def method(store: PostgresRuntimeStore, request: Params) -> T:
        return await store._call(store._transactions.write, lambda c: work(c, request))

    return method


def _reads(
    work: Callable[[Any, Params], T],
) -> Callable[[PostgresRuntimeStore, Params], Coroutine[Any, Any, T]]:
    """A method of the store that reads the tables."""

    async def method(store: PostgresRuntimeStore, request: Params) -> T:
        return await store._call(store._transactions.read, lambda c: work(c, request))

    return method


# ---- what is locked before SQLite's statements change it ----------------------------------------------


def _create(connection: Statements, request: CreateAgentSession) -> AgentSessionCreated:
    joined = [each for each in (request.participant, request.message) if each is not None]
    queue.lock_conversations(connection, [each.conversation_id for each in joined])
    return rules.create(as_sqlite(connection), request)


def _enqueue(connection: Statements, request: EnqueueActions) -> ActionList:
    queue.lock_sessions(connection, [each.session_id for each in request.actions])
    return rules.enqueue(as_sqlite(connection), request)


def _renew(connection: Statements, request: RenewLeases) -> RenewedLeases:
    queue.lock_sessions_of(connection, request.owner)
    return rules.renew(as_sqlite(connection), request)


def _release(connection: Statements, request: ReleaseLeases) -> None:
    queue.lock_sessions_of(connection, request.owner)
    rules.release(as_sqlite(connection), request)


def _retry(connection: Statements, request: RetrySession) -> AgentState:
    queue.lock_sessions(connection, [request.session_id])
    return rules.retry(as_sqlite(connection), request)


def _retry_action(connection: Statements, request: RetryAction) -> ActionList:
    queue.lock_action(connection, request.id)
    return dead_letters.retry_action(as_sqlite(connection), request)


def _discard_action(connection: Statements, request: DiscardAction) -> ActionList:
    queue.lock_action(connection, request.id)
    return dead_letters.discard_action(as_sqlite(connection), request)


def _write(connection: Statements, request: SessionWrite) -> SessionWriteResult:
    queue.lock_sessions(connection, [request.session_id])
    said = [each.conversation_id for each in request.messages]
    read = [each.conversation_id for each in request.cursors]
    queue.lock_conversations(connection, [*said, *read])
    return mutations.write(as_sqlite(connection), request)


def _save_conversation(connection: Statements, request: Conversation) -> Conversation:
    return conversations.save_conversation(as_sqlite(connection), request)


def _join(connection: Statements, request: Participant) -> Participant:
    queue.lock_conversations(connection, [request.conversation_id])
    return conversations.join(as_sqlite(connection), request)


def _leave(connection: Statements, request: EndParticipation) -> Participant:
    return conversations.leave(as_sqlite(connection), request)


def _post(connection: Statements, request: PostMessage) -> SessionWriteResult:
    queue.lock_sessions(connection, [each.session_id for each in request.actions])
    queue.lock_conversations(connection, [request.message.conversation_id])
    return mutations.post(as_sqlite(connection), request)


def _advance(connection: Statements, request: ConversationCursor) -> ConversationCursor:
    queue.lock_conversations(connection, [request.conversation_id])
    return conversations.advance(as_sqlite(connection), request)


class PostgresRuntimeStore:
    """Stores the runtime's rows in PostgreSQL. It has each method of `RuntimeStore`.

    It connects at the first call, and again after a connection was lost: the interrupted call is then
    executed exactly once.

    Args:
        location: The database, as `postgresql://USER@HOST:PORT/NAME`; missing tables are created.
        durability: `SYNC` and `DURABLE` answer once a call is synced, `RELAXED` before.
        retry_s: Seconds to wait for a lost server before calls fail.

    Raises:
        StoreError: The location is invalid.
    """

    create = _writes(_create)
    enqueue = _writes(_enqueue)
    renew = _writes(_renew)
    release = _writes(_release)
    retry = _writes(_retry)
    retry_action = _writes(_retry_action)
    discard_action = _writes(_discard_action)
    write = _writes(_write)
    save_conversation = _writes(_save_conversation)
    join = _writes(_join)
    leave = _writes(_leave)
    post = _writes(_post)
    advance = _writes(_advance)
    actions = _reads(queries.find_actions)
    states = _reads(queries.find_states)
    steps = _reads(queries.find_steps)
    sessions = _reads(queries.find_sessions)
    conversations = _reads(queries.find_conversations)
    participants = _reads(queries.find_participants)
    messages = _reads(queries.find_messages)
    cursor = _reads(queries.find_cursor)
    prune = _writes(retention.prune)
    changes = _reads(changes.find_changes)
    loads = _reads(routes.count_loads)
    fleet = _reads(fleet.read_fleet)

    def __init__(
        self,
        location: str,
        durability: Durability = Durability.DURABLE,
        *,
        retry_s: float = RETRY_S,
    ) -> None:
        self._database = Database(location, durability)
        self._core = uuid.uuid4().hex
        self._transactions = Transactions(self._database, self._core, retry_s)
        self._threads = ThreadPoolExecutor(_MAX_CONNECTIONS, "agentstepper-postgres")
        self._listening: asyncio.Task[None] | None = None
        self._is_closed = False

    async def claim(self, request: ClaimAction) -> ClaimedAction:
        """Claim the next ready action."""
        return await self._call(self._claim, request)

    async def adopt(self, request: AdoptSessions) -> AdoptedSessions:
        """Take sessions whose owner's lease has expired."""
        return await self._call(self._adopt, request)

    async def info(self) -> RuntimeStoreInfo:
        """Report the store's location, and the number of open actions and sessions."""
        return await self._call(self._transactions.read, self._read_info)

    def follow(self, on_change: OnChange) -> None:
        """Report other Cores' changes from now on; see `SharedRuntimeStore`."""
        listener = changes.ChangeListener(
            self._database, self._core, self._read_changes, on_change, log
        )
        self._listening = asyncio.create_task(listener.run(), name="changes of other Cores")

    async def close(self) -> None:
        """Finish the calls in progress, and close the store. Idempotent. A call that waits for a lost
        server fails at once.
        """
        self._is_closed = True
        self._transactions.stop_waiting()
        try:
            await self._stop_listening()
        finally:
            await asyncio.to_thread(self._threads.shutdown)
            self._transactions.close()

    async def _stop_listening(self) -> None:
        listening, self._listening = self._listening, None
        if listening is not None:
            listening.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await listening

    # ---- on a thread --------------------------------------------------------------------------------

    async def _call(self, work: Callable[[Params], T], request: Params) -> T:
        if self._is_closed:
            raise StoreError(f"{self._database.place} is closed: open it again.")
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, partial(work, request))

    def _claim(self, request: ClaimAction) -> ClaimedAction:
        """Claim in a transaction only if there is work: workers ask often."""
        if not self._transactions.peek(lambda c: queue.has_claimable(c, request)):
            return ClaimedAction()
        return self._transactions.write(lambda c: queue.claim(c, request))

    def _adopt(self, request: AdoptSessions) -> AdoptedSessions:
        if not self._transactions.peek(lambda c: queue.has_adoptable(c, request)):
            return AdoptedSessions(states=())
        return self._transactions.write(lambda c: queue.adopt(c, request))

    def _read_info(self, connection: Statements) -> RuntimeStoreInfo:
        ((size,),) = connection.execute(
            "SELECT sum(pg_total_relation_size(oid))::bigint FROM pg_class"
            " WHERE relnamespace = 'agentstepper'::regnamespace AND relkind = 'r'"
        )
        info = queries.read_info(as_sqlite(connection), None)
        return replace(info, kind="postgresql", place=self._database.place, size=size)

    async def _read_changes(self, numbers: Sequence[int]) -> ChangedRows:
        work: Work[ChangedRows] = lambda c: changes.find_changes_of(c, numbers)  # noqa: E731
        return await self._call(self._transactions.read, work)
