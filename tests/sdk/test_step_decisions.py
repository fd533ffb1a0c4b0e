"""Steps over random trees of events in threads: the agent, the Core and the record say the same.

Each message arrives at once here; `test_decision_order` has those that cross.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule
from msgspec import Raw

from agentstepper_nb.core import AnswerOutput, Debugger, LeaseGranted, Output, RecordOutput
from agentstepper_nb.hub import agent_messages
from agentstepper_nb.protocol.agent import EventBegun, HaltPointReached, ScopeEnded, Withdraw
from agentstepper_nb.protocol.answers import ResumeAnswer
from agentstepper_nb.protocol.data_model import EventKind, EventSide, Run, RunMode
from agentstepper_nb.protocol.step_targets import StepKind, StepTarget
from agentstepper_nb.sdk.live_scopes import LiveScopes
from agentstepper_nb.sdk.outbox import HaltLease
from agentstepper_nb.sdk.send_queue import PendingFutures
from tests.helpers.debugger_harness import replay_states
from tests.sdk.test_decision_order import AgentOutbox

Path = tuple[str, ...]
KINDS = [EventKind.LLM_QUERY, EventKind.TOOL_INVOCATION, EventKind.CUSTOM]


@dataclass
class Thread:
    """A thread of the agent: its path, and the events that are open in it."""

    path: Path
    around: tuple[str, ...]  # open events of the thread that started it
    open: list[str] = field(default_factory=list)
    waits_at: str | None = None
    children: int = 0


@dataclass
class Told:
    """A halt point, as the record has it, and whether the run halted there."""

    event: str
    side: EventSide
    kind: EventKind
    path: Path
    waits: bool


class Oracle:
    """Says where a step halts, by looking at all that happened since it began.

    Written after the table in docs/design/0025-stepping.md, and by events alone: no state is carried on.
    """

    def __init__(self) -> None:
        self.parents: dict[str, str | None] = {}
        self.paths: dict[str, Path] = {}
        self.ended: set[str] = set()
        self.over: set[Path] = set()  # threads that ended before the step began
        self.since: list[Told | Path] = []  # halt points, and scopes that ended
        self.step: tuple[StepKind, bool, Told] | None = None
        self.goal: str | None = None  # the event whose end is meant

    def begin(self, kind: StepKind, freeze: bool, at: Told) -> None:
        self.over |= {each for each in self.since if not isinstance(each, Told)}
        self.step, self.since, self.goal = (kind, freeze, at), [], None
        if kind is StepKind.OVER and at.side is EventSide.BEGIN:
            self.goal = at.event
        elif kind is StepKind.OUT:
            around = self.parents[at.event]
            self.goal = around if around is not None and around not in self.ended else None

    def depth(self, event: str) -> int:
        return len(self.ancestors(event))

    def ancestors(self, event: str) -> list[str]:
        found = []
        while (parent := self.parents[event]) is not None:
            found.append(parent)
            event = parent
        return found

    def halts(self, point: Told) -> bool:
        """Whether the run halts at a halt point that would wait; it is noted."""
        self.since.append(point)
        if self.step is None:
            return True
        _, freeze, at = self.step
        self.scope, self.reached = step_path(at.path), False
        over = set(self.over)
        self.leave(over)
        for each in self.since[:-1]:
            if isinstance(each, Told):
                self.look_at(each)
            else:
                over.add(each)
                self.leave(over)
        if not inside(point, self.scope):
            return freeze or (not self.reached and self.ends_goal(point))
        return self.reached or self.fits(point) or self.ends_goal(point)

    def leave(self, over: set[Path]) -> None:
        """Go on around the threads that have ended."""
        while self.scope in over:
            self.reached = self.reached or self.is_lost_by(self.scope)
            self.scope = step_path(self.scope[:-1])

    def look_at(self, point: Told) -> None:
        if self.reached:
            return
        if self.ends_goal(point):
            self.reached = True
            self.scope = self.scope if inside(point, self.scope) else step_path(point.path)
        elif point.waits and inside(point, self.scope):
            self.reached = self.fits(point)

    def is_lost_by(self, ended: Path) -> bool:
        """Whether what the step is for can't come any more once a scope has ended."""
        assert self.step is not None
        if self.goal is None:
            return self.step[0] is StepKind.OUT
        return self.paths[self.goal][: len(ended)] == ended

    def ends_goal(self, point: Told) -> bool:
        if self.goal is None or point.side is not EventSide.END:
            return False
        return point.event == self.goal or point.event in self.ancestors(self.goal)

    def fits(self, point: Told) -> bool:
        assert self.step is not None
        kind, _, at = self.step
        if kind is StepKind.INTO:
            return True
        if kind is StepKind.TO:
            return point.kind is EventKind.LLM_QUERY and point.side is EventSide.BEGIN
        if kind is StepKind.OVER and self.goal is None:
            return self.depth(point.event) <= self.depth(at.event)
        return False


def inside(point: Told, scope: Path) -> bool:
    return point.path[: len(scope)] == scope


def step_path(path: Path) -> Path:
    """The path up to its last thread."""
    while path and not path[-1].startswith("thread"):
        path = path[:-1]
    return path


class RandomSteps(RuleBasedStateMachine):
    """An agent's threads and a person who steps."""

    @initialize()
    def start(self) -> None:
        self.wire = AgentOutbox()
        self.waiting = PendingFutures()
        self.scopes = LiveScopes()
        outbox: Any = self.wire
        self.lease = HaltLease("P", outbox, self.waiting, scopes=self.scopes)
        self.debugger = Debugger()
        self.records: list[Any] = []
        self.epoch = self.count = 0
        self.threads = [Thread((), ())]
        self.oracle = Oracle()
        self.told: dict[str, Told] = {}
        self.freed: deque[str] = deque()
        self.deliver(self.debugger.start_run(Run(id="r", name="", program="P", started_at=0)))
        self.push(self.debugger.lease("r"))

    def deliver(self, outputs: list[Output]) -> None:
        self.records += [each.record for each in outputs if isinstance(each, RecordOutput)]
        for output in outputs:
            if isinstance(output, LeaseGranted):
                self.push(output)
        for output in outputs:
            if isinstance(output, AnswerOutput):
                self.waiting.complete(output.halt_point.id, ResumeAnswer())
                for thread in self.threads:
                    if thread.waits_at == output.halt_point.id:
                        thread.waits_at = None

    def push(self, leased: LeaseGranted) -> None:
        self.epoch += 1
        self.lease.accept_lease(agent_messages.encode_lease(leased, self.epoch))

    def arrive(self) -> None:
        while self.wire.sent:
            match self.wire.sent.popleft():
                case EventBegun() as event:
                    self.deliver(self.debugger.begin_event(agent_messages.decode_event(event, "r")))
                case HaltPointReached() as point:
                    reached = agent_messages.decode_point(point, "r")
                    self.deliver(self.debugger.reach_halt_point(reached, 0, leased=True))
                case Withdraw(halt_point=id):
                    self.deliver(self.debugger.withdraw("r", id, 0))
                case ScopeEnded(scope=scope):
                    self.deliver(self.debugger.end_scope("r", scope))

    def free(self, number: int) -> Thread | None:
        free = [thread for thread in self.threads if thread.waits_at is None]
        return free[number % len(free)] if free else None

    def reach(
        self, thread: Thread, event: str, side: EventSide, kind: EventKind, waits: bool = True
    ) -> None:
        self.count += 1
        path = self.oracle.paths[event]
        told = Told(event, side, kind, path, waits)
        id = f"b{self.count}"
        expected = self.oracle.halts(told) and waits
        begun: tuple[EventBegun, ...] = ()
        if side is EventSide.BEGIN:
            parent = self.oracle.parents[event]
            begun = (
                EventBegun(id=event, kind=kind, at=0, clock=0, parent=parent, scope=path, name="x"),
            )
        point = HaltPointReached(
            id=id, event=event, side=side, waits=waits, at=0, clock=0, data=Raw(b"1")
        )
        future = self.lease.send((*begun, point), id, lambda: None)
        self.arrive()
        if side is EventSide.END:
            self.oracle.ended.add(event)
        assert (future is not None) == expected, "the agent's decision"
        assert (id in self.debugger.run("r").pending) == expected, "the Core's decision"
        self.told[id] = told
        thread.waits_at = id if expected else None

    # ---- the agent ------------------------------------------------------------------------------------

    @rule(
        number=st.integers(0, 9), kind=st.sampled_from(KINDS), waits=st.sampled_from([1, 1, 1, 0])
    )
    def begin(self, number: int, kind: EventKind, waits: int) -> None:
        if (thread := self.free(number)) is None or len(thread.open) > 3:
            return
        event = f"e{self.count}"
        around = [each for each in thread.around if each not in self.oracle.ended]
        self.oracle.parents[event] = [None, *around, *thread.open][-1]
        self.oracle.paths[event] = (*thread.path, *(f"tool:{each}" for each in thread.open))
        thread.open.append(event)
        self.kinds = {**getattr(self, "kinds", {}), event: kind}
        self.reach(thread, event, EventSide.BEGIN, kind, bool(waits))

    @rule(number=st.integers(0, 9), waits=st.sampled_from([1, 1, 1, 0]))
    def end(self, number: int, waits: int) -> None:
        """An event ends, or is given up by an exception that halts nobody."""
        thread = self.free(number)
        if thread is not None and thread.open:
            event = thread.open.pop()
            self.reach(thread, event, EventSide.END, self.kinds[event], bool(waits))

    @rule(number=st.integers(0, 9))
    def start_thread(self, number: int) -> None:
        thread = self.free(number)
        if thread is None or len(self.threads) > 4:
            return
        thread.children += 1
        calls = tuple(f"tool:{each}" for each in thread.open)
        path = (*thread.path, *calls, f"thread:{thread.children}")
        self.scopes.add(path)
        self.threads.append(Thread(path, (*thread.around, *thread.open)))

    @rule(number=st.integers(0, 9), gives_up=st.booleans())
    def end_thread(self, number: int, gives_up: bool) -> None:
        """A thread ends; events that it leaves open never end, or are given up one by one."""
        thread = self.free(number)
        if thread is None or not thread.path:
            return
        while gives_up and thread.open:
            event = thread.open.pop()
            self.reach(thread, event, EventSide.END, self.kinds[event], waits=False)
        self.threads.remove(thread)
        self.oracle.since.append(thread.path)
        self.scopes.end(thread.path)
        self.arrive()

    # ---- the person -----------------------------------------------------------------------------------

    @precondition(lambda self: self.debugger.pending("r"))
    @rule(number=st.integers(0, 9), kind=st.sampled_from(StepKind), freeze=st.booleans())
    def step(self, number: int, kind: StepKind, freeze: bool) -> None:
        pending = self.debugger.run("r").pending
        point = pending[number % len(pending)]
        request = StepTarget(
            kind=kind,
            freeze_others=freeze,
            event_kind=EventKind.LLM_QUERY if kind is StepKind.TO else None,
            side=EventSide.BEGIN if kind is StepKind.TO else None,
        )
        self.oracle.begin(kind, freeze, self.told[point])
        self.deliver(self.debugger.commands.step("r", 0, point, target=request))
        assert self.debugger.run("r").mode is RunMode.STEP

    # ---- what always holds ----------------------------------------------------------------------------

    def teardown(self) -> None:
        """A Core that starts again on the record stands where this one does, in the middle of a step."""
        if hasattr(self, "records"):
            assert replay_states(self.records) == self.debugger._runs


RandomSteps.TestCase.settings = settings(max_examples=60, stateful_step_count=40)
TestSteps = RandomSteps.TestCase
