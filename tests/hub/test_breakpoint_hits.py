"""Whatever runs and stops do: hits live are hits on the recorded run, and are the same after a resume;
so are the marks of effect checks.

A scripted agent tells its breakpoints of all it does, as the SDK does. What a run is, and where its
connection or its Core goes away, is chance.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Iterable
from typing import Any, Final

import msgspec
import pytest
from msgspec import UNSET

from agentstepper_nb.core.breakpoints import BreakpointEngine, EffectChecks, ObservedPoint, dry_run
from agentstepper_nb.core.effects import EffectTracker, replay_history
from agentstepper_nb.hub import Hub
from agentstepper_nb.protocol.agent import LeaseMessage
from agentstepper_nb.protocol.breakpoint_rules import (
    BreakpointRule,
    CostBudget,
    Reaction,
    Repeated,
    TokenBudget,
    Touched,
)
from agentstepper_nb.protocol.data_model import (
    ChangeKind,
    EventKind,
    EventOutcome,
    EventSide,
    Failure,
    FileChange,
    RunMode,
    Usage,
)
from agentstepper_nb.protocol.records import Record, RunHistory
from agentstepper_nb.store import MemoryStore
from tests.helpers.loops import settle
from tests.hub.harness import Json, ScriptedAgent, open_hub

RUNS: Final = 20
MANY_RUNS: Final = 1000
STEPS: Final = 24

KINDS: Final = (EventKind.LLM_QUERY, EventKind.TOOL_INVOCATION, EventKind.CUSTOM)
NAMES: Final = {
    EventKind.LLM_QUERY: ("gpt-a", "gpt-b", None),
    EventKind.TOOL_INVOCATION: ("ls", "run_tests", "run_it", "write_file"),
    EventKind.CUSTOM: ("retrieval",),
}
WRITE: Final = {"path": "src/a.py", "content": "x = 1"}
DATA: Final[list[Json]] = [
    *("hi", 7, {"a": 1, "b": [1.0]}, {"b": [1.0], "a": 1}, None),
    {"Tool": "write_file", "Argument": WRITE},
    {"Tool": "write_file", "Argument": WRITE | {"content": "x = 2"}},
    "wrote 5 characters to src/a.py",
    {"exit_code": 1, "status": "ok"},
]
PATHS: Final = ("src/a.py", "src/b.py", "tests/a.py")
CONDITIONS: Final = (
    *[None] * 6,
    "data == 'hi'",
    "data.a == 1 or depth > 0",
    "run.tokens > 150",
    "run.events % 3 == 0",
    "effect",
    "'no_effect' in effect or 'exit_code' in effect",
    "contains(text, '1.0')",
)
WATCHES: Final = (
    *[None] * 5,
    TokenBudget(limit=120),
    CostBudget(limit=0.5),
    Repeated(times=2),
    Touched(path="src/*"),
)


class LastingStore(MemoryStore):
    """Gives a Core that starts again what the one before kept."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[Record] = []

    def load(self) -> Iterable[Record]:
        return list(self.records)

    def append(self, records: Any, *args: Any, **named: Any) -> None:
        self.records += records
        super().append(records, *args, **named)


class LeasedAgent(ScriptedAgent):
    """An agent that decides by its lease; or has none, and waits everywhere.

    Args:
        leased: Whether it takes leases.
    """

    def __init__(self, *, leased: bool) -> None:
        super().__init__()
        self.leased = leased
        self._breakpoints = BreakpointEngine("P", (), "", EffectChecks)
        self._lease: LeaseMessage | None = None

    async def connected(self, hub: Hub, **fields: Json) -> None:
        answer = await self.connect(hub, **fields)
        self.hub = hub
        if self.sent_texts:
            self.resend_after(answer["received"])
        self._read(await self.connection.receive("lease"))

    def _read(self, body: Json) -> None:
        self._lease = msgspec.convert(body, LeaseMessage)
        self._breakpoints.set(self._lease.breakpoints)

    async def reach_and_decide(
        self, id: str, event: str, point: ObservedPoint, chance: random.Random
    ) -> None:
        """Reach a halt point, and go on past it."""
        for body in self.connection.take_bodies("lease"):
            self._read(body)
        decided: Json = {"waits": True}
        if self.leased:
            assert self._lease is not None
            verdict = self._breakpoints.evaluate(point)
            waits = self._lease.mode is RunMode.STEP or verdict.halts
            decided = {"waits": waits, "epoch": self._lease.epoch, "stops": verdict.hits}
            decided["stop_error"] = verdict.error
        said = {"outcome": point.outcome, "failure": point.failure, "usage": point.usage}
        body = {"event": event, "side": point.side, "data": json.loads(point.data)} | decided
        self.reach(id, **body | msgspec.to_builtins(said))
        if decided["waits"]:
            await self._wait_for_answer(id, chance)

    async def _wait_for_answer(self, id: str, chance: random.Random) -> None:
        answer = asyncio.ensure_future(self.connection.receive("answer", breakpoint=id))
        while not answer.done():
            leases = [each["body"] for each in self.connection.sent if each["type"] == "lease"]
            for body in leases:
                self._read(body)
            if id in self.hub.run("r").pending:
                commands = self.hub.commands
                does = commands.step if chance.random() < 0.3 else commands.resume
                self.hub.perform(does("r", self.hub.clock()))
                leases = [each["body"] for each in self.connection.sent if each["type"] == "lease"]
                for body in leases:
                    self._read(body)
            await asyncio.sleep(0)
        await answer

    def changed(self, number: int, path: str) -> None:
        """Change a file of the workspace."""
        change = FileChange(path=path, kind=ChangeKind.CHANGED)
        changes = msgspec.to_builtins([change])
        self.send("commit", id=f"c{number}", at=1.0, title="t", changes=changes)
        self._breakpoints.record_changes((change,))


async def lived(
    seed: int, breakpoints: list[BreakpointRule], *, leased: bool, lost: Iterable[int]
) -> RunHistory:
    """Live a run of chance: the same for the same seed, wherever it is interrupted.

    Args:
        seed: Of its chance.
        breakpoints: Those that are set before it begins.
        leased: Whether its agent takes leases.
        lost: Steps before which the connection goes away, or the Core starts again.
    """
    chance, people = random.Random(seed), random.Random(f"{seed} {lost}")
    store, interrupted = LastingStore(), set(lost)
    hub = await open_hub(store)
    for breakpoint in breakpoints:
        hub.perform(hub.commands.rules.set_breakpoint(breakpoint))
    agent = LeasedAgent(leased=leased)
    await agent.connected(hub)
    open_events: list[tuple[str, EventKind, str | None]] = []
    for number in range(STEPS):
        if number in interrupted:
            if people.random() < 0.5:
                await hub.close()
                hub = await open_hub(store)
            else:
                agent.disconnect()
            await agent.connected(hub, acknowledged=0)
        if people.random() < 0.1:
            hub.perform(hub.commands.halt("r"))
        await step(agent, number, chance, people, open_events)
    agent.send_bye()
    await settle()  # a Core that started again reads what came before first
    await hub.wait_recorded()
    history = await hub.history("r")
    await hub.close()
    return history


async def step(
    agent: LeasedAgent,
    number: int,
    chance: random.Random,
    people: random.Random,
    open_events: list[tuple[str, EventKind, str | None]],
) -> None:
    """The agent's next step: a change, a message, an event that begins, or one that ends."""
    way, data = chance.random(), json.dumps(chance.choice(DATA)).encode()
    depth = len(open_events)
    if way < 0.15:
        agent.changed(number, chance.choice(PATHS))
    elif way < 0.2:
        agent.begin(f"d{number}", "debug_message", data="look")
    elif open_events and (way < 0.6 or depth > 2):
        event, kind, name = open_events.pop()
        outcome = chance.choice((EventOutcome.OK, EventOutcome.OK, EventOutcome.ERROR))
        failure = Failure(type="E", message="m") if outcome is EventOutcome.ERROR else None
        used = Usage(input_tokens=chance.randrange(50), cost=chance.choice((None, 0.25)))
        usage = used if kind is EventKind.LLM_QUERY else None
        point = ObservedPoint(
            kind, EventSide.END, name, data, depth - 1, outcome, failure, usage, event=event
        )
        await agent.reach_and_decide(f"b{number}", event, point, people)
    else:
        event, kind = f"e{number}", chance.choice(KINDS)
        name = chance.choice(NAMES[kind])
        agent.begin(event, kind, name=name, parent=open_events[-1][0] if open_events else None)
        open_events.append((event, kind, name))
        point = ObservedPoint(kind, EventSide.BEGIN, name, data, depth, event=event)
        await agent.reach_and_decide(f"b{number}", event, point, people)


def stops_by_chance(chance: random.Random) -> list[BreakpointRule]:
    return [
        BreakpointRule(
            id=f"s{number}",
            program=chance.choice(("P", "*", "*", "Q")),
            kind=chance.choice((None, None, None, None, *KINDS)),
            side=chance.choice((None, None, *EventSide)),
            name=chance.choice((*[None] * 8, "run_*", "gpt-?")),
            on_error=chance.random() < 0.1,
            condition=chance.choice(CONDITIONS),
            watch=chance.choice(WATCHES),
            hit_count=chance.choice((1, 1, 1, 2, 3)),
            once=chance.random() < 0.3,
            reaction=chance.choice(tuple(Reaction)),
            enabled=chance.random() < 0.9,
        )
        for number in range(chance.randrange(2, 6))
    ]


def marks(history: RunHistory) -> list[Any]:
    return [(point.seq, point.effects) for point in history.halt_points if point.effects]


def replayed_marks(history: RunHistory) -> list[Any]:
    """The marks that a recorded run has, made anew."""
    bare = [msgspec.structs.replace(point, effects=UNSET) for point in history.halt_points]
    whole = msgspec.structs.replace(history, halt_points=tuple(bare))
    made = replay_history(whole, EffectTracker(EffectChecks()))
    return [(point.seq, point.effects) for point in made if point.effects]


def hits(history: RunHistory, breakpoint: str) -> tuple[int, ...]:
    return tuple(point.seq for point in history.halt_points if breakpoint in point.breakpoints)


async def agree(seed: int) -> int:
    """Show it for one seed: how many hits there were."""
    chance = random.Random(seed)
    breakpoints, leased = stops_by_chance(chance), chance.random() < 0.7
    lost = sorted(chance.sample(range(1, STEPS), chance.choice((1, 1, 2, 3))))
    history = await lived(seed, breakpoints, leased=leased, lost=())
    resumed = await lived(seed, breakpoints, leased=leased, lost=lost)
    ids = [[each.id for each in each.halt_points[:-1]] for each in (history, resumed)]
    assert ids[0] == ids[1]  # the last is the Core's own
    assert marks(history) == marks(resumed) == replayed_marks(history)
    assert history.run.effects == resumed.run.effects
    for breakpoint in breakpoints:
        live = hits(history, breakpoint.id)
        counted = [each for each in history.run.hits if each.breakpoint == breakpoint.id]
        assert [(each.count, each.last) for each in counted] == (
            [(len(live), live[-1])] if live else []
        )
        recorded = dry_run(breakpoint, history)
        assert recorded.error is None
        in_force = breakpoint.enabled and breakpoint.program != "Q"
        assert live == (recorded.hits if in_force else ()), breakpoint
        assert hits(resumed, breakpoint.id) == live, (breakpoint, lost)
    assert resumed.run.hits == history.run.hits
    return sum(each.count for each in history.run.hits)


@pytest.mark.slow
def test_hits_live_are_those_of_the_recorded_run_and_after_a_resume() -> None:
    found = [asyncio.run(agree(seed)) for seed in range(RUNS)]
    assert sum(map(bool, found)) > RUNS / 2  # most of them show something


@pytest.mark.soak
def test_many_hits_live_are_those_of_the_recorded_run_and_after_a_resume() -> None:
    for seed in range(RUNS, MANY_RUNS):
        asyncio.run(agree(seed))
