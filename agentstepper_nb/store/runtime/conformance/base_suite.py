"""The base of the suite's parts: hooks, stores that are closed after a test, and rows to store."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import wraps
from typing import Any, ClassVar, Final

from msgspec.structs import replace

from ....errors import CommandError
from ....protocol.routes import WorkerOffer
from ....protocol.runtime import (
    Action,
    ActionKind,
    ActionStatus,
    AgentState,
    AgentStep,
    Conversation,
    ConversationMessage,
    Participant,
    ParticipantKind,
    ParticipantRole,
    SenderType,
    SessionStatus,
)
from ....protocol.runtime_store_messages import (
    ActionCompletion,
    ActionQuery,
    AgentSessionCreated,
    ClaimAction,
    ClaimedAction,
    CreateAgentSession,
    EnqueueActions,
    SessionWrite,
    SessionWriteResult,
    StateQuery,
)
from ..base import RuntimeStore

#: When everything begins, and how long a lease lasts.
START_TIME: Final = 1_000_000.0
LEASE_S: Final = 10.0


class BaseSuite:
    """A part of the suite.

    Attributes:
        random_schedules: The number of random schedules in randomised tests, each of some dozens of
            calls.
    """

    random_schedules: ClassVar[int] = 5

    def __init_subclass__(cls, **named: Any) -> None:
        """Make the tests plain functions, which any runner can call."""
        super().__init_subclass__(**named)
        for name, test in inspect.getmembers(cls, inspect.iscoroutinefunction):
            if name.startswith("test_"):
                setattr(cls, name, _on_loop(test))

    # ---- hooks --------------------------------------------------------------------------------------

    async def open(self) -> RuntimeStore:
        """A new store, with nothing in it."""
        raise NotImplementedError

    async def reopen(self, store: RuntimeStore) -> RuntimeStore:
        """Close a store, and open its data again; a store in memory returns itself."""
        raise NotImplementedError

    async def delete_snapshot(self, store: RuntimeStore, session_id: str) -> None:
        """Delete a session's snapshot behind the store's back; its steps stay."""
        raise NotImplementedError

    async def write_raw_state(self, store: RuntimeStore, session_id: str, text: str) -> None:
        """Put a text where the snapshot's `state` has JSON, as another program would."""
        raise NotImplementedError

    @asynccontextmanager
    async def opened_store(self) -> AsyncIterator[RuntimeStore]:
        """A new store, which is closed at the end."""
        store = await self.open()
        try:
            yield store
        finally:
            await store.close()


def _on_loop(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    @wraps(test)
    def run(self: BaseSuite) -> None:
        async def main() -> None:
            await test(self)

        asyncio.run(main())

    return run


# ---- things to keep ---------------------------------------------------------------------------------


def make_state(session_id: str = "s", **fields: Any) -> AgentState:
    """A session's first snapshot."""
    first = AgentState(
        agent_id="agent",
        session_id=session_id,
        moniker="joke",
        created_at=START_TIME,
        updated_at=START_TIME,
    )
    return replace(first, **fields)


def make_action(
    id: str, session_id: str = "s", kind: ActionKind = ActionKind.INPUT, **fields: Any
) -> Action:
    """An action that waits."""
    first = Action(id=id, created_at=START_TIME, kind=kind, agent_id="agent", session_id=session_id)
    return replace(first, **fields)


def make_step(session_id: str = "s", iteration: int = 0, **fields: Any) -> AgentStep:
    """A session's step."""
    first = AgentStep(
        id=f"{session_id}/{iteration}",
        created_at=START_TIME + iteration,
        agent_id="agent",
        session_id=session_id,
        iteration=iteration,
        step_token=f"at {iteration}",
        next_step_token=f"at {iteration + 1}",
        status="running",
        text=f"step {iteration}",
    )
    return replace(first, **fields)


def make_conversation(conversation_id: str = "c", **fields: Any) -> Conversation:
    """A conversation."""
    return replace(Conversation(conversation_id=conversation_id, created_at=START_TIME), **fields)


def make_participant(participant_id: str, **fields: Any) -> Participant:
    """A user in a conversation."""
    first = Participant(
        participant_id=participant_id,
        conversation_id="c",
        kind=ParticipantKind.USER,
        user_id=f"user of {participant_id}",
        role=ParticipantRole.MEMBER,
        joined_at=START_TIME,
    )
    return replace(first, **fields)


def make_message(message_id: str, at: float = 0.0, **fields: Any) -> ConversationMessage:
    """Make a user's message, some seconds after the beginning."""
    first = ConversationMessage(
        message_id=message_id,
        conversation_id="c",
        created_at=START_TIME + at,
        sender_type=SenderType.USER,
        user_id="user",
        text=f"text of {message_id}",
    )
    return replace(first, **fields)


# ---- what is done with them -------------------------------------------------------------------------


async def create_session(
    store: RuntimeStore, session_id: str = "s", **fields: Any
) -> AgentSessionCreated:
    """Create a session, by the action `create ID`."""
    creation = make_action(f"create {session_id}", session_id, ActionKind.CREATE)
    return await store.create(
        CreateAgentSession(state=make_state(session_id, **fields), action=creation)
    )


async def enqueue_actions(store: RuntimeStore, *actions: Action) -> tuple[Action, ...]:
    """Enqueue actions."""
    return (await store.enqueue(EnqueueActions(actions=actions))).actions


async def claim_action(
    store: RuntimeStore,
    owner: str = "one",
    at: float = 0.0,
    running_action_ids: tuple[str, ...] = (),
    offer: WorkerOffer | None = None,
) -> ClaimedAction:
    """Claim, some seconds after the beginning, for as long as leases last."""
    now = START_TIME + at
    return await store.claim(
        ClaimAction(
            owner=owner,
            now=now,
            lease_until=now + LEASE_S,
            held=running_action_ids,
            offer=offer,
        )
    )


async def claim_action_id(
    store: RuntimeStore,
    owner: str = "one",
    at: float = 0.0,
    running_action_ids: tuple[str, ...] = (),
    offer: WorkerOffer | None = None,
) -> str | None:
    """Claim an action, and return its id."""
    found = (await claim_action(store, owner, at, running_action_ids, offer)).action
    return None if found is None else found.id


def make_completion(action_id: str, owner: str = "one", **fields: Any) -> ActionCompletion:
    """Make the completion of an action."""
    done = ActionCompletion(
        id=action_id, owner=owner, status=ActionStatus.DONE, processed_at=START_TIME + 1
    )
    return replace(done, **fields)


async def write_session(
    store: RuntimeStore, session_id: str = "s", **fields: Any
) -> SessionWriteResult:
    """Write of a session, in the epoch of its first owner."""
    request = SessionWrite(session_id=session_id, epoch=1, owner="one")
    return await store.write(replace(request, **fields))


async def finish_action(
    store: RuntimeStore, action_id: str, session_id: str = "s", **more: Any
) -> None:
    """End an action, and no more."""
    owner = more.get("owner", "one")
    await write_session(store, session_id, finished=(make_completion(action_id, owner),), **more)


async def begin_session(
    store: RuntimeStore,
    session_id: str = "s",
    owner: str = "one",
    status: SessionStatus = SessionStatus.RUNNING,
    **fields: Any,
) -> AgentState:
    """Create a session whose creation is claimed and done, with a given status and no other actions."""
    await create_session(store, session_id, **fields)
    found = await claim_action(store, owner)
    assert found.state is not None and found.state.session_id == session_id, "others wait"
    running_state = replace(found.state, status=status)
    finished = (make_completion(f"create {session_id}", owner),)
    await write_session(store, session_id, owner=owner, state=running_state, finished=finished)
    return await read_snapshot(store, session_id)


async def read_snapshot(store: RuntimeStore, session_id: str = "s") -> AgentState:
    """A session's snapshot."""
    (found,) = (await store.states(StateQuery(session_id=session_id))).states
    return found


async def read_action_ids(store: RuntimeStore, **query: Any) -> list[str]:
    """The ids of actions."""
    return [each.id for each in (await store.actions(ActionQuery(**query))).actions]


async def read_action(store: RuntimeStore, action_id: str) -> Action:
    """Read an action."""
    (found,) = (await store.actions(ActionQuery(id=action_id))).actions
    return found


async def assert_refused(code: str, call: Awaitable[object]) -> None:
    """Assert that a call is refused with a code."""
    try:
        await call
    except CommandError as error:
        assert error.code == code, f"refused with {error.code}, not with {code}"
    else:
        raise AssertionError(f"not refused, where {code} was expected")
