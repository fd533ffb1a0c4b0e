"""Who decides where, in any order of arrival: no halt point is both passed and pending."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import Any

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)
from msgspec import UNSET, Raw

from agentstepper_nb.core import AnswerOutput, Debugger, LeaseGranted, Output
from agentstepper_nb.errors import CommandError
from agentstepper_nb.hub import agent_messages
from agentstepper_nb.protocol.agent import (
    AgentMessage,
    EventBegun,
    HaltPointReached,
    LeaseMessage,
    ScopeEnded,
    Withdraw,
)
from agentstepper_nb.protocol.answers import ResumeAnswer
from agentstepper_nb.protocol.breakpoint_rules import BreakpointRule, Reaction
from agentstepper_nb.protocol.data_model import AnswerKind, EventKind, EventSide, Run, RunMode
from agentstepper_nb.protocol.step_targets import StepKind, StepTarget
from agentstepper_nb.sdk.live_scopes import LiveScopes
from agentstepper_nb.sdk.outbox import HaltLease
from agentstepper_nb.sdk.send_queue import MessageBatch, PendingFutures

THREADS = 3
TOOLS = ("read", "write", "run")


class AgentOutbox:
    """The agent's outbox; what is put travels when the test lets it."""

    is_full = False

    def __init__(self) -> None:
        self.queued_bytes = 0
        self.sent: deque[AgentMessage] = deque()

    def put(self, batch: MessageBatch, *, is_immediate: bool) -> None:
        self.sent.extend(batch.messages)


class MessageOrders(RuleBasedStateMachine):
    """An agent's threads, its Core, and a person; each message arrives when it arrives."""

    @initialize()
    def start(self) -> None:
        self.wire = AgentOutbox()
        self.waiting = PendingFutures()
        self.scopes = LiveScopes()
        self.leasehold = HaltLease("P", self.wire, self.waiting, scopes=self.scopes)  # type: ignore[arg-type]
        self.debugger = Debugger()
        self.to_agent: deque[LeaseMessage | tuple[str, Any]] = deque()
        self.epoch = 0
        self.count = 0
        self.open: list[str | None] = [None] * THREADS  # each thread's event
        self.asked: dict[int, tuple[str, Future[Any]]] = {}  # each thread's halt point that waits
        self.passed: set[str] = set()
        self.last: LeaseMessage | None = None  # that the agent has read
        run = Run(id="r", name="", program="P", started_at=0)
        self.deliver(self.debugger.start_run(run))
        self.push(self.debugger.lease("r"))

    # ---- the agent ------------------------------------------------------------------------------------

    @rule(thread=st.integers(0, THREADS - 1), tool=st.sampled_from(TOOLS))
    def reach(self, thread: int, tool: str) -> None:
        if thread in self.asked:
            return
        self.count += 1
        event = self.open[thread]
        before: tuple[EventBegun, ...] = ()
        side = EventSide.BEGIN if event is None else EventSide.END
        if event is None:
            event = f"e{self.count}"
            kind = EventKind.TOOL_INVOCATION
            scope = (f"thread:{thread}",)
            self.scopes.add(scope)
            before = (EventBegun(id=event, kind=kind, at=0, clock=0, name=tool, scope=scope),)
        point = HaltPointReached(
            id=f"b{self.count}", event=event, side=side, waits=True, at=0, clock=0, data=Raw(b"1")
        )
        self.open[thread] = event if side is EventSide.BEGIN else None
        future = self.leasehold.send((*before, point), point.id, _alive)
        if future is not None:
            self.asked[thread] = point.id, future
        else:
            assert self.last is not None
            may_pass = self.last.mode is RunMode.CONTINUE or self.last.target is not UNSET
            assert may_pass, "after a revoke was read, the next one waits"
            self.passed.add(point.id)

    @precondition(lambda self: self.asked)
    @rule(data=st.data())
    def give_up(self, data: st.DataObject) -> None:
        """An interrupt ends a thread's wait; its event goes on."""
        thread = data.draw(st.sampled_from(sorted(self.asked)))
        point, future = self.asked.pop(thread)
        if not future.done():
            self.waiting.forget(point)
            self.leasehold.send((Withdraw(halt_point=point),))

    @rule(thread=st.integers(0, THREADS - 1))
    def end_thread(self, thread: int) -> None:
        """A thread ends, and another begins in its place; what it had begun never ends."""
        if thread not in self.asked:
            self.open[thread] = None
            self.scopes.end((f"thread:{thread}",))

    @precondition(lambda self: self.to_agent)
    @rule()
    def read(self) -> None:
        message = self.to_agent.popleft()
        if isinstance(message, LeaseMessage):
            self.last = message
            self.leasehold.accept_lease(message)
        else:
            self.waiting.complete(*message)
            self.asked = {t: asked for t, asked in self.asked.items() if not asked[1].done()}

    # ---- the Core -------------------------------------------------------------------------------------

    @precondition(lambda self: self.wire.sent)
    @rule()
    def arrive(self) -> None:
        match self.wire.sent.popleft():
            case EventBegun() as event:
                self.deliver(self.debugger.begin_event(agent_messages.decode_event(event, "r")))
            case HaltPointReached() as point:
                reached = agent_messages.decode_point(point, "r")
                leased = point.epoch > 0
                self.deliver(self.debugger.reach_halt_point(reached, 0, leased=leased))
            case Withdraw(halt_point=id):
                self.deliver(self.debugger.withdraw("r", id, 0))
            case ScopeEnded(scope=scope):
                self.deliver(self.debugger.end_scope("r", scope))

    def deliver(self, outputs: list[Output]) -> None:
        for output in outputs:
            if isinstance(output, LeaseGranted):
                self.push(output)
        for output in outputs:
            if isinstance(output, AnswerOutput):
                assert output.answer is not AnswerKind.WITHDRAWN
                self.to_agent.append((output.halt_point.id, ResumeAnswer()))

    def push(self, leased: LeaseGranted) -> None:
        self.epoch += 1
        self.to_agent.append(agent_messages.encode_lease(leased, self.epoch))

    # ---- the person -----------------------------------------------------------------------------------

    @rule()
    def press_continue(self) -> None:
        self.deliver(self.debugger.commands.resume("r", 0))

    @rule()
    def press_halt(self) -> None:
        self.deliver(self.debugger.commands.halt("r"))

    @rule()
    def press_step(self) -> None:
        self.deliver(self.debugger.commands.step("r", 0))

    @precondition(lambda self: self.debugger.pending("r"))
    @rule(
        data=st.data(),
        kind=st.sampled_from(StepKind),
        freeze_others=st.booleans(),
        name=st.sampled_from(TOOLS),
    )
    def press_step_to(self, data: st.DataObject, **asked: Any) -> None:
        pending = [point.id for point in self.debugger.pending("r")]
        point = data.draw(st.sampled_from(pending))
        outputs = self.debugger.commands.step("r", 0, point, target=StepTarget(**asked))
        self.deliver(outputs)

    @rule(
        id=st.sampled_from(["s", "t"]),
        name=st.sampled_from([None, *TOOLS]),
        hit_count=st.integers(1, 3),
        reaction=st.sampled_from(Reaction),
        enabled=st.booleans(),
    )
    def set_breakpoint(self, **fields: Any) -> None:
        self.deliver(self.debugger.commands.rules.set_breakpoint(BreakpointRule(**fields)))

    @rule(id=st.sampled_from(["s", "t"]))
    def delete_breakpoint(self, id: str) -> None:
        with suppress(CommandError):  # there is none
            self.deliver(self.debugger.commands.rules.delete_breakpoint(id))

    # ---- what always holds ----------------------------------------------------------------------------

    @invariant()
    def none_is_passed_and_pending(self) -> None:
        pending = {point.id for point in self.debugger.pending("r")}
        assert not pending & self.passed

    def teardown(self) -> None:
        """In the end everything arrives, the run continues, and nobody waits any more."""
        if not hasattr(self, "wire"):
            return
        for breakpoint in ("s", "t"):
            self.delete_breakpoint(breakpoint)
        for _ in range(3):
            self.press_continue()
            _exhaust(self.arrive, self.wire.sent)
            _exhaust(self.read, self.to_agent)
        assert self.asked == {}
        assert self.debugger.pending("r") == []
        for thread in range(THREADS):
            self.reach(thread, "read")
        assert self.asked == {}, "a run that continues waits nowhere"


def _exhaust(step: Callable[[], None], queue: deque[Any]) -> None:
    while queue:
        step()


def _alive() -> None:
    pass


MessageOrders.TestCase.settings = settings(max_examples=25, stateful_step_count=40)
TestOrders = MessageOrders.TestCase
