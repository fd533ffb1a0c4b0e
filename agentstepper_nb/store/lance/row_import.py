"""Writes the rows of a `lance:` store into a store, by the methods that every store has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Final

from msgspec.structs import replace

from ...errors import CommandError
from ...protocol.runtime import (
    Action,
    ActionKind,
    ActionStatus,
    AgentState,
    AgentStep,
    Conversation,
    ConversationMessage,
)
from ...protocol.runtime_store_messages import (
    ConversationQuery,
    CreateAgentSession,
    EnqueueActions,
    PostMessage,
    SessionWrite,
    StateQuery,
)
from ..runtime.base import RuntimeStore
from .old_store import OldRows

_OWNER: Final = "import-lance"


@dataclass
class ImportReport:
    """The result of an import.

    Args:
        counts: The number of rows that the store has now, by table.
        refused: The reason for each row that the store refused.
    """

    counts: Counter[str] = field(default_factory=Counter)
    refused: list[str] = field(default_factory=list)


class RowImport:
    """Writes rows, each table's in order: stores number rows as they are written.

    Rows that the store has already don't change, so that an interrupted import can be run again.
    Leases aren't imported: no worker has the sessions, and claimed actions are queued again.

    Args:
        store: The store, which no worker may use meanwhile.
        rows: The rows.
    """

    def __init__(self, store: RuntimeStore, rows: OldRows) -> None:
        self._store = store
        self._rows = rows
        self._states = {state.session_id: state for state in rows["agent_state"]}
        self._report = ImportReport()

    async def run(self) -> ImportReport:
        """Write all rows.

        Raises:
            StoreError: The store can't write.
        """
        await self._write_each("conversations", self._write_conversation)
        await self._write_each("actions", self._write_action)
        await self._write_each("agent_state", self._check_session)
        await self._write_each("agent_steps", self._write_step)
        await self._write_each("conversation_participants", self._store.join)
        await self._write_each("conversation_messages", self._write_message)
        await self._write_each("session_cursors", self._store.advance)
        return self._report

    async def _write_each(self, table: str, write: Callable[[Any], Awaitable[object]]) -> None:
        for row in self._rows[table]:
            try:
                await write(row)
            except CommandError as error:
                self._report.refused.append(f"{table}: {error.message}")
            else:
                self._report.counts[table] += 1

    async def _write_conversation(self, conversation: Conversation) -> None:
        query = ConversationQuery(conversation_id=conversation.conversation_id)
        if not (await self._store.conversations(query)).conversations:
            await self._store.save_conversation(conversation)

    async def _write_action(self, action: Action) -> None:
        if action.status is ActionStatus.CLAIMED:
            action = replace(action, status=ActionStatus.QUEUED, owner=None, lease_until=None)
        state = self._states.get(action.session_id)
        if action.kind is ActionKind.CREATE and state is not None:
            state = replace(state, owner=None, lease_until=None)
            await self._store.create(CreateAgentSession(state=state, action=action))
        else:
            await self._store.enqueue(EnqueueActions(actions=(action,)))

    async def _check_session(self, state: AgentState) -> None:
        """Check that the session was created with its creating action."""
        await self._read_session(state.session_id)

    async def _write_step(self, step: AgentStep) -> None:
        state = await self._read_session(step.session_id)
        owner = state.owner or _OWNER
        await self._store.write(
            SessionWrite(session_id=state.session_id, epoch=state.epoch, owner=owner, steps=(step,))
        )

    async def _read_session(self, session_id: str) -> AgentState:
        """Read a session from the store: it may have continued since an earlier import."""
        found = await self._store.states(StateQuery(session_id=session_id))
        if not found.states:
            raise CommandError(
                "unknown_session", f"The action that created session {session_id} is missing."
            )
        return found.states[0]

    async def _write_message(self, message: ConversationMessage) -> None:
        await self._store.post(PostMessage(message=message))
