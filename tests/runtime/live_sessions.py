"""Sessions that live in a test: over a real store, with monikers that do as a test says."""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

from agentstepper_nb.protocol.runtime import (
    Action,
    ActionKind,
    ActionStatus,
    AgentLimits,
    AgentState,
    AgentStep,
    Conversation,
    ConversationMessage,
    SessionStatus,
)
from agentstepper_nb.protocol.runtime_store_messages import (
    ActionCompletion,
    ActionQuery,
    AdoptSessions,
    ClaimAction,
    CreateAgentSession,
    EnqueueActions,
    MessageQuery,
    ReleaseLeases,
    SessionWrite,
    SessionWriteResult,
    StateQuery,
    StepQuery,
)
from agentstepper_nb.runtime.frame import FrameIn, FrameOut
from agentstepper_nb.runtime.message_reader import read_unread
from agentstepper_nb.runtime.moniker import Moniker, MonikerContext, MonikerFactory
from agentstepper_nb.runtime.session_agent import SessionAgent
from agentstepper_nb.runtime.session_writer import RuntimeContext
from agentstepper_nb.store.runtime.sqlite import SqliteRuntimeStore

#: Seconds that a claim lasts, by the harness's clock, which nobody moves but the test.
LEASE = 10_000.0

Does = Callable[[FrameIn], Awaitable[Any]]


def count(frame: FrameIn, **given: Any) -> FrameOut:
    """A step that counts in its state."""
    number = (frame.state or 0) + 1
    fields = {"step": frame.step, "next_step": f"n/{number}", "state": number, "done": False}
    return FrameOut(**fields | {"text": f"step {number}"} | given)


class FakeMoniker(Moniker):
    """Does its steps as a function says."""

    name = "test"
    stop_on_done = True

    def __init__(self, task: MonikerContext, does: Does, wait: float = 0.0) -> None:
        super().__init__(task)
        self.closed = False
        self._does = does
        self._wait = wait

    async def step(self, frame: FrameIn) -> FrameOut:
        given: FrameOut = await self._does(frame)
        return given

    def step_interval_s(self) -> float:
        return self._wait

    async def close(self) -> None:
        self.closed = True


class ManualSteps:
    """Steps that a test lets go one by one, and the frames that were given."""

    def __init__(self) -> None:
        self.frames: list[FrameIn] = []
        self._begun: asyncio.Queue[FrameIn] = asyncio.Queue()
        self._go: asyncio.Queue[Callable[[FrameIn], Any]] = asyncio.Queue()

    async def __call__(self, frame: FrameIn) -> Any:
        self.frames.append(frame)
        self._begun.put_nowait(frame)
        return (await self._go.get())(frame)

    async def wait_for_begin(self) -> FrameIn:
        """Wait until a step begins that nobody waited for."""
        return await self._begun.get()

    def finish_step(self, gives: Callable[[FrameIn], Any] = count) -> None:
        """Let a step give this."""
        self._go.put_nowait(gives)

    async def run_step(self, gives: Callable[[FrameIn], Any] = count) -> FrameIn:
        """Let the next step begin, and give this."""
        frame = await self.wait_for_begin()
        self.finish_step(gives)
        return frame


class SessionHarness:
    """A worker of a store, and sessions in it. It is their recorder.

    Args:
        data_dir: The folder of runs.
        context: More of `RuntimeContext`.
    """

    def __init__(self, data_dir: Path, **context: Any) -> None:
        self.store = SqliteRuntimeStore(None)
        self.now = 1000.0
        self.owner = "worker 1"
        self.session_id = "s"
        self.writes: list[SessionWrite] = []
        self.moniker: FakeMoniker | None = None
        self.agents: list[SessionAgent] = []
        self.on_write: Callable[[SessionWrite], Awaitable[None]] | None = None
        self._changed = asyncio.Condition()
        self._data_dir = data_dir
        self._context = {"debugger": False, **context}
        self._ids = itertools.count(1)

    async def write(self, ask: SessionWrite) -> SessionWriteResult:
        if self.on_write is not None:
            await self.on_write(ask)
        written = await self.store.write(ask)
        self.writes.append(ask)
        async with self._changed:
            self._changed.notify_all()
        return written

    def new_id(self) -> str:
        return f"id{next(self._ids):05}"

    # ---- sessions -----------------------------------------------------------------------------------

    async def create(self, **given: Any) -> tuple[AgentState, ActionCompletion]:
        """A session that was created and is claimed, with its action's end."""
        state = AgentState(
            **{
                "agent_id": "a",
                "session_id": self.session_id,
                "moniker": "test",
                "created_at": self.now,
                "updated_at": self.now,
            }
            | given
        )
        action = self._action(ActionKind.CREATE)
        if state.conversation_id is not None:
            await self.store.save_conversation(
                Conversation(conversation_id=state.conversation_id, created_at=self.now)
            )
        await self.store.create(CreateAgentSession(state=state, action=action))
        claimed = await self._claim()
        assert claimed is not None
        return claimed, self.finish(action.id)

    async def start_agent(self, does: Does | MonikerFactory, **given: Any) -> SessionAgent:
        """An agent that lives."""
        wait = given.pop("wait", 0.0)
        limits = given.pop("limits", {})
        state, finish = await self.create(limits=AgentLimits(**limits), **given)
        agent = self.agent(state, does, wait)
        await agent.record_created(finish)
        agent.start()
        return agent

    def agent(
        self, state: AgentState, does: Does | MonikerFactory, wait: float = 0
    ) -> SessionAgent:
        """An agent of a session, which doesn't live yet."""

        def make(task: MonikerContext) -> Moniker:
            self.moniker = FakeMoniker(task, does, wait)  # type: ignore[arg-type]
            return self.moniker

        real = isinstance(does, type)
        runtime_context = RuntimeContext(
            owner=self.owner,
            recorder=self,
            data_dir=self._data_dir,
            log=logging.getLogger("agentstepper_nb.test"),
            clock=lambda: self.now,
            new_id=self.new_id,
            read_unread=partial(read_unread, self.store),
            **self._context,
        )
        agent = SessionAgent(state, does if real else make, runtime_context)  # type: ignore[arg-type]
        self.agents.append(agent)
        return agent

    async def take_over(self) -> AgentState:
        """Another worker has the session now, as after a kill."""
        await self.store.release(ReleaseLeases(owner=self.owner, until=self.now))
        self.owner = f"worker {int(self.owner.split()[1]) + 1}"
        adopted = await self.store.adopt(
            AdoptSessions(owner=self.owner, now=self.now, lease_until=self.now + LEASE)
        )
        (state,) = adopted.states
        return state

    # ---- actions ------------------------------------------------------------------------------------

    def finish(self, id: str) -> ActionCompletion:
        """An action's end, in this worker."""
        return ActionCompletion(
            id=id, owner=self.owner, status=ActionStatus.DONE, processed_at=self.now
        )

    async def action(self, kind: ActionKind) -> ActionCompletion:
        """Have an action enqueued and claimed; its end."""
        action = self._action(kind)
        await self.store.enqueue(EnqueueActions(actions=(action,)))
        await self._claim()
        return self.finish(action.id)

    async def pause(self, agent: SessionAgent) -> None:
        await agent.pause(await self.action(ActionKind.PAUSE))

    async def resume(self, agent: SessionAgent) -> None:
        await agent.resume(await self.action(ActionKind.RESUME))

    async def interrupt(self, agent: SessionAgent, text: str) -> None:
        await agent.interrupt(text, await self.action(ActionKind.INTERRUPT))

    async def input(self, agent: SessionAgent, text: str) -> None:
        await agent.input(text, await self.action(ActionKind.INPUT))

    async def destroy(self, agent: SessionAgent, timeout_s: float = 60) -> None:
        await agent.destroy(timeout_s, await self.action(ActionKind.DESTROY))

    def _action(self, kind: ActionKind) -> Action:
        return Action(
            id=self.new_id(),
            created_at=self.now,
            kind=kind,
            agent_id="a",
            session_id=self.session_id,
        )

    async def _claim(self) -> AgentState | None:
        claimed = await self.store.claim(
            ClaimAction(owner=self.owner, now=self.now, lease_until=self.now + LEASE)
        )
        assert claimed.action is not None
        return claimed.state

    # ---- what is kept -------------------------------------------------------------------------------

    async def state(self) -> AgentState:
        (state,) = (await self.store.states(StateQuery(session_id=self.session_id))).states
        return state

    async def steps(self) -> list[AgentStep]:
        return list((await self.store.steps(StepQuery(session_id=self.session_id))).steps)

    async def messages(self) -> list[ConversationMessage]:
        return list((await self.store.messages(MessageQuery(conversation_id="c"))).messages)

    async def open_actions(self) -> list[Action]:
        found = await self.store.actions(ActionQuery(session_id=self.session_id))
        return [action for action in found.actions if action.status is not ActionStatus.DONE]

    async def wait_until(self, true: Callable[[AgentState], bool]) -> AgentState:
        """Wait until the kept snapshot is as asked."""
        async with self._changed:
            while not true(state := await self.state()):
                await self._changed.wait()
        return state

    async def wait_for_iteration(self, number: int) -> AgentState:
        return await self.wait_until(lambda state: state.iteration >= number)

    async def wait_for_status(self, status: SessionStatus) -> AgentState:
        return await self.wait_until(lambda state: state.status is status)


@asynccontextmanager
async def harness(data_dir: Path, **context: Any) -> AsyncIterator[SessionHarness]:
    """A harness whose agents end with the test."""
    made = SessionHarness(data_dir, **context)
    try:
        yield made
    finally:
        made.on_write = None
        for agent in made.agents:
            await agent.suspend()
        await made.store.close()
