"""A runtime over a store in memory, with a clock and ids to foresee; and short words for it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from itertools import count
from typing import Any

import pytest
from msgspec import convert
from msgspec.structs import replace

from agentstepper_nb.errors import CommandError, ProtocolError
from agentstepper_nb.hub.runtime import Runtime
from agentstepper_nb.hub.runtime.topics import DEFAULT_TOPIC_LIMITS, TopicLimits
from agentstepper_nb.protocol.runtime import (
    Action,
    ActionStatus,
    AgentState,
    AgentStep,
    ConversationMessage,
    Participant,
    ParticipantKind,
    SenderType,
    SessionStatus,
)
from agentstepper_nb.protocol.runtime_requests import (
    ActionEnqueued,
    NewAction,
    NewConversation,
    NewMessage,
    NewParticipant,
    TopicEvent,
    WatchTopic,
)
from agentstepper_nb.protocol.runtime_store_messages import (
    ActionCompletion,
    ActionQuery,
    ClaimAction,
    MessageQuery,
    SessionWrite,
    SessionWriteResult,
    StateQuery,
)
from agentstepper_nb.store.runtime.base import RuntimeStore
from agentstepper_nb.store.runtime.sqlite import SqliteRuntimeStore

LOG = logging.getLogger("agentstepper_nb.test")


class SettableClock:
    """Each time it is asked it is a millisecond later."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        self.now += 0.001
        return self.now


class RuntimeHarness:
    """A runtime, and what clients and a worker called `w` ask of it.

    Args:
        store: Its store.
        name: What the ids that it gives begin with.
        limits: Of its topics.
    """

    def __init__(
        self,
        store: RuntimeStore,
        name: str = "id",
        limits: TopicLimits = DEFAULT_TOPIC_LIMITS,
    ) -> None:
        self.clock = SettableClock()
        self.store = store
        ids = count(1)
        self.runtime = Runtime(
            store,
            LOG,
            clock=self.clock,
            new_id=lambda: f"{name}{next(ids):04d}",
            topic_limits=limits,
        )
        self.worker_requests = 0
        self.runtime.on_worker_needed = self._record_worker_request

    def _record_worker_request(self) -> None:
        self.worker_requests += 1

    async def enqueue(self, kind: str, session: str | None = None, **fields: Any) -> ActionEnqueued:
        ask = convert({"kind": kind, "session_id": session, **fields}, NewAction)
        return await self.runtime.act(ask)

    async def create(self, session: str, agent: str = "ann", **payload: Any) -> ActionEnqueued:
        payload = {"moniker": "joke", **payload}
        return await self.enqueue("agent_create", session, agent_id=agent, payload=payload)

    async def conversation(self, id: str = "c") -> str:
        await self.runtime.create_conversation(NewConversation(conversation_id=id, title="Tea"))
        return id

    async def join_session(
        self, session: str, conversation: str = "c", **fields: Any
    ) -> Participant:
        ask = NewParticipant(
            conversation_id=conversation,
            kind=ParticipantKind.SESSION,
            session_id=session,
            **fields,
        )
        return await self.runtime.join(ask)

    async def join_user(self, user: str, conversation: str = "c", **fields: Any) -> Participant:
        ask = NewParticipant(
            conversation_id=conversation, kind=ParticipantKind.USER, user_id=user, **fields
        )
        return await self.runtime.join(ask)

    async def post_message(
        self, text: str, user: str = "user", **fields: Any
    ) -> ConversationMessage:
        ask = NewMessage(conversation_id="c", user_id=user, text=text, **fields)
        return await self.runtime.say(ask)

    # ---- the worker ---------------------------------------------------------------------------------

    async def claim(self, owner: str = "w") -> Action | None:
        now = self.clock()
        held = await self.open_actions()
        ask = ClaimAction(
            owner=owner,
            now=now,
            lease_until=now + 10,
            held=tuple(action.id for action in held if action.owner == owner),
        )
        return (await self.runtime.claim(ask)).action

    async def finish(
        self, action: Action, status: SessionStatus | None = None
    ) -> SessionWriteResult:
        """The worker is done with an action, and its session stands so now."""
        state = await self.state(action.session_id)
        over = ActionCompletion(
            id=action.id,
            owner=action.owner or "w",
            status=ActionStatus.DONE,
            processed_at=self.clock(),
        )
        return await self.write(
            state, None if status is None else replace(state, status=status), finished=(over,)
        )

    async def begin(self, session: str, status: SessionStatus = SessionStatus.RUNNING) -> None:
        """The worker claims the creation of a session and is done with it."""
        action = await self.claim()
        assert action is not None
        assert action.session_id == session
        await self.finish(action, status)

    async def step(
        self, session: str, text: str = "ha", data: Any = None, **rows: Any
    ) -> SessionWriteResult:
        """The session does a step."""
        state = await self.state(session)
        step = AgentStep(
            id=f"{session}-{state.iteration}",
            created_at=self.clock(),
            agent_id=state.agent_id,
            session_id=session,
            iteration=state.iteration,
            step_token="again",
            status=state.status,
            text=text,
            data=data,
        )
        after = replace(state, iteration=state.iteration + 1)
        return await self.write(state, after, steps=(step,), **rows)

    async def write(
        self, before: AgentState, after: AgentState | None, **rows: Any
    ) -> SessionWriteResult:
        self.last_write = SessionWrite(
            session_id=before.session_id, epoch=before.epoch, owner="w", state=after, **rows
        )
        return await self.runtime.write(self.last_write)

    def make_message(
        self, session: str, text: str = "ha", agent: str = "ann"
    ) -> ConversationMessage:
        """What a session says in the conversation."""
        return ConversationMessage(
            message_id=f"{session}-{text}",
            conversation_id="c",
            created_at=self.clock(),
            sender_type=SenderType.AGENT,
            agent_id=agent,
            session_id=session,
            text=text,
            event_type="step",
        )

    # ---- looking ------------------------------------------------------------------------------------

    async def state(self, session: str) -> AgentState:
        return (await self.store.states(StateQuery(session_id=session))).states[0]

    async def actions(self, session: str | None = None) -> list[Action]:
        return list((await self.store.actions(ActionQuery(session_id=session, limit=1000))).actions)

    async def open_actions(self) -> list[Action]:
        return [each for each in await self.actions() if each.processed_at is None]

    async def list_messages(self, conversation: str = "c") -> list[ConversationMessage]:
        ask = MessageQuery(conversation_id=conversation, limit=1000)
        return list((await self.store.messages(ask)).messages)

    async def list_texts(self) -> list[str]:
        return [message.text for message in await self.list_messages()]

    def watch(self, topic: str) -> AsyncGenerator[TopicEvent, None]:
        return self.runtime.watch(WatchTopic(topic=topic))


@asynccontextmanager
async def open_harness(
    wrap: Callable[[RuntimeStore], RuntimeStore] | None = None,
    limits: TopicLimits = DEFAULT_TOPIC_LIMITS,
) -> AsyncIterator[RuntimeHarness]:
    """A runtime over a store in memory."""
    store: RuntimeStore = SqliteRuntimeStore(None)
    harness = RuntimeHarness(wrap(store) if wrap else store, limits=limits)
    try:
        yield harness
    finally:
        await harness.runtime.close()


def run(
    test: Callable[[RuntimeHarness], Awaitable[None]], limits: TopicLimits = DEFAULT_TOPIC_LIMITS
) -> None:
    """Run a test with a desk of its own."""

    async def whole() -> None:
        async with open_harness(limits=limits) as harness:
            await test(harness)

    asyncio.run(whole())


def expect_refusal(code: str, field: str | None = None) -> Any:
    """Raises an error of this code, about this field."""
    return pytest.raises(
        (CommandError, ProtocolError),
        check=lambda error: error.code == code and field in (None, error.field),
    )
