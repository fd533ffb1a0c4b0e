"""Whoever watches misses nothing, in whatever order reading and writing come."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentstepper_nb.hub.runtime.topics import TopicLimits
from agentstepper_nb.protocol.runtime import (
    Action,
    AgentState,
    ConversationMessage,
    Participant,
    ParticipantRole,
    SessionStatus,
)
from agentstepper_nb.protocol.runtime_requests import LeaveConversation, TopicEvent
from agentstepper_nb.protocol.runtime_store_messages import (
    ActionQuery,
    MessageQuery,
    ParticipantQuery,
    StepQuery,
)
from agentstepper_nb.store.runtime.base import RuntimeStore
from tests.hub.runtime.harness import RuntimeHarness, open_harness

#: What happens, one after the other.
DEEDS = (
    *("step", "step", "say", "pause", "work", "work", "finish"),
    *("leave", "join", "observe"),
)
TOPICS = ("session:s", "conversation:c")


class SlowStore:
    """A store whose methods take their time, before and after they have done what is asked.

    Args:
        store: The store.
        turns: Turns of the loop that each takes.
    """

    def __init__(self, store: RuntimeStore, turns: list[int]) -> None:
        self._store = store
        self._turns = turns

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        method = getattr(self._store, name)

        async def slowly(*ask: Any) -> Any:
            await self._delay()
            answer = await method(*ask)
            if name in ("states", "steps", "actions", "messages", "participants"):
                await self._delay()  # what was read gets old
            return answer

        return slowly

    async def _delay(self) -> None:
        if self._turns:
            await turns(self._turns.pop())


async def turns(most: int) -> None:
    for _ in range(most):
        await asyncio.sleep(0)


@dataclass
class TopicWatcher:
    """What a watcher of a session and its conversation knows: the last row told under each id counts.

    Args:
        desk: Whom it asks for what it missed while it was behind.
    """

    harness: RuntimeHarness
    states: dict[str, AgentState] = field(default_factory=dict)
    steps: dict[str, Any] = field(default_factory=dict)
    actions: dict[str, Action] = field(default_factory=dict)
    messages: dict[str, ConversationMessage] = field(default_factory=dict)
    participants: dict[str, Participant] = field(default_factory=dict)
    last: dict[str, int] = field(default_factory=dict)

    async def receive(self, notice: TopicEvent) -> None:
        if notice.event == "begin":
            await self._catch_up(notice)
        else:
            assert notice.n == self.last[notice.topic] + 1
        self.states.update({each.session_id: each for each in notice.states})
        self.steps.update({each.id: each for each in notice.steps})
        self.actions.update({each.id: each for each in notice.actions})
        self.messages.update({each.message_id: each for each in notice.messages})
        self.participants.update({each.participant_id: each for each in notice.participants})
        self.last[notice.topic] = notice.n

    async def _catch_up(self, notice: TopicEvent) -> None:
        """Ask for rows that a `begin` has only the last of."""
        store = self.harness.store
        if notice.topic == "session:s":
            done = max((each.iteration for each in self.steps.values()), default=-1)
            ask = StepQuery(session_id="s", min_iteration=done + 1)
            self.steps.update({each.id: each for each in (await store.steps(ask)).steps})
            actions = (await store.actions(ActionQuery(session_id="s"))).actions
            self.actions.update({each.id: each for each in actions})
        else:
            heard = list(self.messages)[-1] if self.messages else None
            messages = (
                await store.messages(MessageQuery(conversation_id="c", after=heard))
            ).messages
            self.messages.update({each.message_id: each for each in messages})


class RandomActions:
    """A session, its worker and a user, who do what is drawn."""

    def __init__(self, harness: RuntimeHarness) -> None:
        self.harness = harness
        self.working: Action | None = None

    async def perform(self, deed: str) -> None:
        """One deed."""
        harness = self.harness
        match deed:
            case "step":
                await harness.step("s", messages=(harness.make_message("s", str(harness.clock())),))
            case "say":
                await harness.post_message(str(harness.clock()))
            case "pause":
                await harness.enqueue("agent_pause", "s")
            case "work":
                self.working = await harness.claim() or self.working
            case "finish" if self.working is not None:
                working, self.working = self.working, None
                await harness.finish(working, SessionStatus.PAUSED)
            case "join" | "observe":
                await harness.join_session(
                    "s",
                    role=ParticipantRole.OBSERVER if deed == "observe" else ParticipantRole.MEMBER,
                )
            case "leave":
                found = await harness.store.participants(ParticipantQuery(conversation_id="c"))
                await harness.runtime.leave(
                    LeaveConversation(
                        conversation_id="c", participant_id=found.participants[-1].participant_id
                    )
                )


async def watch(view: TopicWatcher, topic: str, pauses: list[int]) -> None:
    async with aclosing(view.harness.watch(topic)) as notices:
        async for notice in notices:
            await view.receive(notice)
            if pauses:
                await turns(pauses.pop())


async def last_number(harness: RuntimeHarness, topic: str) -> int:
    async with aclosing(harness.watch(topic)) as notices:
        return (await anext(notices)).n


async def scene(
    deeds: list[str], dawdling: list[int], pauses: list[int], limits: TopicLimits
) -> None:
    async with open_harness(lambda store: SlowStore(store, dawdling), limits) as harness:  # type: ignore[arg-type,return-value]
        await harness.conversation()
        await harness.create("s", conversation_id="c")
        await harness.begin("s")
        play, view = RandomActions(harness), TopicWatcher(harness)
        watching = [asyncio.create_task(watch(view, topic, list(pauses))) for topic in TOPICS]
        for deed in deeds:
            await play.perform(deed)
        last = {topic: await last_number(harness, topic) for topic in TOPICS}
        while view.last != last:
            await asyncio.sleep(0)
        await compare(harness, view)
    await asyncio.gather(*watching)  # they end with the runtime


async def compare(harness: RuntimeHarness, view: TopicWatcher) -> None:
    """The watcher knows what the store has."""
    state = await harness.state("s")
    assert view.states["s"] == state
    steps = (await harness.store.steps(StepQuery(session_id="s", limit=1000))).steps
    assert list(view.steps.values()) == list(steps)
    assert sorted(view.messages) == sorted(
        each.message_id for each in await harness.list_messages()
    )
    seats = (await harness.store.participants(ParticipantQuery(conversation_id="c"))).participants
    assert sorted(view.participants) == sorted(each.participant_id for each in seats)
    for seat in seats:
        assert view.participants[seat.participant_id] == seat
    kept = {each.id: each for each in await harness.actions("s")}
    assert view.actions == kept


small = st.integers(0, 6)


@pytest.mark.slow
@given(
    deeds=st.lists(st.sampled_from(DEEDS), max_size=25),
    dawdling=st.lists(small, max_size=80),
    pauses=st.lists(small, max_size=30),
    room=st.sampled_from([1, 3, 256]),
)
def test_a_watcher_knows_what_the_store_has(
    deeds: list[str], dawdling: list[int], pauses: list[int], room: int
) -> None:
    asyncio.run(scene(deeds, dawdling, pauses, TopicLimits(max_waiting=room)))


async def test_each_deed_does_something() -> None:
    async with open_harness() as harness:
        await harness.conversation()
        await harness.create("s", conversation_id="c")
        await harness.begin("s")
        play = RandomActions(harness)
        for deed in DEEDS:
            await play.perform(deed)
        state = await harness.state("s")
        assert (state.iteration, state.status) == (2, SessionStatus.PAUSED)
        assert [each.event_type for each in await harness.list_messages()] == [
            *("joined", "step", "step", "message", "left", "joined")
        ]
