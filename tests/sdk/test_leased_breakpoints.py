"""Stops that an agent decides for itself, under a lease."""

from __future__ import annotations

import threading
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest
from msgspec import Raw

from agentstepper_nb import AgentStepper
from agentstepper_nb.core.breakpoints import BreakpointEngine, BreakpointResult, ObservedPoint
from agentstepper_nb.protocol.agent import (
    Bye,
    CommitMade,
    EventBegun,
    HaltPointReached,
    LeaseMessage,
    MessagesAcknowledged,
    Withdraw,
)
from agentstepper_nb.protocol.answers import Answer, ResumeAnswer
from agentstepper_nb.protocol.breakpoint_rules import BreakpointRule, Reaction, TokenBudget, Touched
from agentstepper_nb.protocol.data_model import EventKind, EventSide, RunMode
from agentstepper_nb.sdk import run_session
from agentstepper_nb.sdk.outbox import HaltLease
from agentstepper_nb.sdk.send_queue import PendingFutures, ResendBuffer
from tests.sdk.both_steppers import both, run
from tests.sdk.lease_helpers import (
    CONTINUE_LEASE,
    HALT,
    list_waits_and_epochs,
    make_continue_lease,
    make_timeline_answerer,
    query,
    wait_for_lease,
)
from tests.sdk.scripted_core import TIMEOUT_S, AgentPeer, ScriptedCore, make_edit_answer
from tests.sdk.test_decision_order import AgentOutbox


@both
def test_a_breakpoint_halts_and_says_so(stepper_kind: str, core: ScriptedCore) -> None:
    log = BreakpointRule(id="log", kind=EventKind.TOOL_INVOCATION, reaction=Reaction.LOG)
    second = BreakpointRule(id="second", side=EventSide.BEGIN, name="t", hit_count=2, once=True)
    core.lease = make_continue_lease(log, second)
    core.policy = lambda peer, point: make_edit_answer('{"Tool":"t","Argument":"edited"}')

    async def scenario(dbg: Any) -> list[Any]:
        seen = []
        for n in range(3):
            await query(dbg)
            seen.append((await dbg.begin_tool_invocation_breakpoint("t", n))[1])
            await dbg.end_tool_invocation_breakpoint(n)
        return seen

    assert run(stepper_kind, core, scenario) == [0, "edited", 2]
    peer = core.wait_for_peer()
    peer.wait_until_gone()
    hits = [point.breakpoints for point in peer.halt_points]
    once, twice = [(), (), ("log",), ("log",)], [(), (), ("log", "second"), ("log",)]
    assert hits == [(), *once, *twice, *once]
    assert [point.waits for point in peer.halt_points[1:]].count(True) == 1


@both
def test_a_breakpoint_counts_from_the_runs_first_breakpoint_also_while_it_steps(
    stepper_kind: str, core: ScriptedCore
) -> None:
    """The lease comes when some halt points were told already, at which the Core decided."""
    third = BreakpointRule(id="s", kind=EventKind.LLM_QUERY, hit_count=3)

    def policy(peer: AgentPeer, point: HaltPointReached) -> Answer:
        if len(peer.halt_points) == 2:
            peer.send(LeaseMessage(epoch=1, mode=RunMode.STEP, breakpoints=(third,)))
        return ResumeAnswer()

    core.policy = policy

    async def scenario(dbg: Any) -> None:
        await query(dbg)
        await query(dbg)

    run(stepper_kind, core, scenario)
    peer = core.wait_for_peer()
    peer.wait_until_gone()
    assert [(point.epoch, point.breakpoints) for point in peer.halt_points] == [
        *[(0, ())] * 2,
        *[(1, ()), (1, ("s",)), (1, ("s",))],
    ]


@both
def test_what_was_used_before_a_breakpoint_was_set_counts(
    stepper_kind: str, core: ScriptedCore
) -> None:
    core.lease = CONTINUE_LEASE
    budget = BreakpointRule(id="s", watch=TokenBudget(limit=25))
    core.requests = make_timeline_answerer(
        LeaseMessage(epoch=2, mode=RunMode.CONTINUE, breakpoints=(budget,))
    )
    answer = {"usage": {"prompt_tokens": 7, "completion_tokens": 3}}

    async def scenario(dbg: Any) -> None:
        for n in range(3):
            await dbg.begin_llm_query_breakpoint(n)
            await dbg.end_llm_query_breakpoint(answer)
            if n == 0:
                await wait_for_lease(dbg)

    run(stepper_kind, core, scenario)
    peer = core.wait_for_peer()
    peer.wait_until_gone()
    assert [bool(point.breakpoints) for point in peer.halt_points] == [False] * 6 + [True]


@both
def test_a_file_that_was_touched(stepper_kind: str, core: ScriptedCore, folder: Any) -> None:
    core.lease = make_continue_lease(
        BreakpointRule(id="s", side=EventSide.END, watch=Touched(path="*.cfg"))
    )

    async def scenario(dbg: Any) -> None:
        for name in ("a.txt", "b.cfg", "c.txt"):
            async with dbg.tool("write", name):
                (folder / name).write_text("new")

    run(stepper_kind, core, scenario, agent_workspace_path=folder)
    peer = core.wait_for_peer()
    peer.wait_until_gone()
    assert [bool(point.breakpoints) for point in peer.halt_points[1:]] == [False] * 3 + [True] + [
        False
    ] * 2
    assert any(isinstance(message, CommitMade) for message in peer.received)


@both
def test_a_condition_that_fails_halts_and_says_how(stepper_kind: str, core: ScriptedCore) -> None:
    core.lease = make_continue_lease(
        BreakpointRule(id="s", side=EventSide.BEGIN, condition="1 / 0 == 1")
    )

    async def scenario(dbg: Any) -> None:
        await query(dbg)

    run(stepper_kind, core, scenario)
    peer = core.wait_for_peer()
    peer.wait_until_gone()
    begun = peer.halt_points[1]
    assert begun.waits
    assert begun.breakpoint_error is not None
    assert "1 / 0" in begun.breakpoint_error


def test_an_event_is_as_deep_as_its_core_has_it(
    core: ScriptedCore, monkeypatch: pytest.MonkeyPatch
) -> None:
    depths = []

    def reach(self: BreakpointEngine, point: ObservedPoint) -> BreakpointResult:
        depths.append((point.name, point.side.value, point.depth))
        return BreakpointResult()

    monkeypatch.setattr(BreakpointEngine, "evaluate", reach)
    core.lease = CONTINUE_LEASE
    with AgentStepper("T", "127.0.0.1", core.port) as dbg:
        with dbg.event("outer"), dbg.llm("p", model="m"):
            pass
        outer = dbg.event("ended")
        outer.__enter__()
        with dbg.tool("inside", {}):
            outer.__exit__(None, None, None)
            with dbg.tool("under", {}):
                pass
    begun = [(name, depth) for name, side, depth in depths[1:] if side == "begin"]
    assert begun == [("outer", 0), ("m", 1), ("ended", 0), ("inside", 1), ("under", 2)]
    ended = [(name, depth) for name, side, depth in depths if side == "end"]
    assert ended == [("m", 1), ("outer", 0), ("ended", 0), ("under", 2), ("inside", 1)]


def test_what_a_breakpoint_counts_is_sent_whatever_interrupts_it(
    core: ScriptedCore, monkeypatch: pytest.MonkeyPatch
) -> None:
    core.lease = CONTINUE_LEASE
    with AgentStepper("T", "127.0.0.1", core.port) as dbg:
        peer = core.wait_for_peer()
        peer.receive(HaltPointReached)

        def interrupted(self: BreakpointEngine, point: ObservedPoint) -> BreakpointResult:
            monkeypatch.undo()
            raise KeyboardInterrupt

        monkeypatch.setattr(BreakpointEngine, "evaluate", interrupted)
        with pytest.raises(KeyboardInterrupt):
            dbg.begin_llm_query_breakpoint("p")
        point = peer.receive(HaltPointReached)
        assert peer.receive(Withdraw).halt_point == point.id
        assert dbg.begin_llm_query_breakpoint("q") == "q"
        with ThreadPoolExecutor(1) as other:  # nobody holds the lock
            assert other.submit(dbg.begin_llm_query_breakpoint, "r").result(TIMEOUT_S) == "r"


def test_a_finalizer_may_reach_a_breakpoint_inside_another(
    core: ScriptedCore, monkeypatch: pytest.MonkeyPatch
) -> None:
    core.lease = CONTINUE_LEASE
    with AgentStepper("T", "127.0.0.1", core.port) as dbg:
        reach = BreakpointEngine.evaluate

        def finalizes(self: BreakpointEngine, point: ObservedPoint) -> BreakpointResult:
            monkeypatch.undo()
            dbg.begin_llm_query_breakpoint("inner")
            return reach(self, point)

        monkeypatch.setattr(BreakpointEngine, "evaluate", finalizes)
        assert dbg.begin_llm_query_breakpoint("outer") == "outer"
    peer = core.wait_for_peer()
    peer.wait_until_gone()
    assert [bytes(point.data) for point in peer.halt_points[1:]] == [b'"inner"', b'"outer"']  # type: ignore[arg-type]


def test_a_signals_handler_may_halt_inside_a_breakpoint(
    core: ScriptedCore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lease that comes before its answer is in nobody's way."""

    def policy(peer: AgentPeer, point: HaltPointReached) -> Answer:
        if point.data == Raw(b'"inner"'):
            peer.send(CONTINUE_LEASE)
        return ResumeAnswer()

    core.lease, core.policy = HALT, policy

    def work() -> None:
        with AgentStepper("T", "127.0.0.1", core.port) as dbg:
            reach = BreakpointEngine.evaluate

            def handles(self: BreakpointEngine, point: ObservedPoint) -> BreakpointResult:
                monkeypatch.undo()
                assert dbg.begin_llm_query_breakpoint("inner") == "inner"
                return reach(self, point)

            monkeypatch.setattr(BreakpointEngine, "evaluate", handles)
            assert dbg.begin_llm_query_breakpoint("outer") == "outer"
            dbg.end_llm_query_breakpoint("r")

    working = threading.Thread(target=work, daemon=True)
    working.start()
    working.join(TIMEOUT_S)
    assert not working.is_alive()
    peer = core.wait_for_peer()
    peer.wait_until_gone()
    assert list_waits_and_epochs(peer) == [(True, 2), (True, 2), (False, 1)]


def test_each_lease_that_came_is_taken_up(
    core: ScriptedCore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A breakpoint that was off for a moment begins anew, also where nobody had time to look
    meanwhile.
    """
    breakpoint = BreakpointRule(id="s", kind=EventKind.LLM_QUERY, side=EventSide.BEGIN, once=True)
    leasehold = HaltLease("T", AgentOutbox(), PendingFutures())  # type: ignore[arg-type]

    def reach(n: int) -> tuple[str, ...]:
        begun = EventBegun(id=f"e{n}", kind=EventKind.LLM_QUERY, at=0, clock=0)
        point = HaltPointReached(
            id=f"b{n}",
            event=f"e{n}",
            side=EventSide.BEGIN,
            waits=True,
            at=0,
            clock=0,
            data=Raw(b"1"),
        )
        *_, decided = leasehold._decide((begun, point))
        assert isinstance(decided, HaltPointReached)
        return decided.breakpoints

    leasehold.accept_lease(make_continue_lease(breakpoint))
    assert (reach(1), reach(2)) == (("s",), ())
    with ThreadPoolExecutor(1) as reader, leasehold._lock:
        reader.submit(leasehold.accept_lease, CONTINUE_LEASE).result(TIMEOUT_S)
        reader.submit(leasehold.accept_lease, make_continue_lease(breakpoint)).result(TIMEOUT_S)
    assert (reach(3), reach(4)) == (("s",), ())


def test_what_is_kept_for_the_first_lease_is_bounded() -> None:
    leasehold = HaltLease("T", AgentOutbox(), PendingFutures(), max_early_bytes=1000)  # type: ignore[arg-type]
    for n in range(50):
        begun = EventBegun(id=f"e{n}", kind=EventKind.LLM_QUERY, at=0, clock=0)
        data = Raw(b'"%s"' % (b"x" * 300))
        point = HaltPointReached(
            id=f"b{n}", event=f"e{n}", side=EventSide.BEGIN, waits=True, at=0, clock=0, data=data
        )
        leasehold.send((begun, point))
        assert sum(len(point.data) for point in leasehold._early) < 1000


def test_at_the_interpreters_exit_a_core_that_catches_up_is_given_time(
    core: ScriptedCore, monkeypatch: pytest.MonkeyPatch
) -> None:
    core.lease, core.acknowledges = CONTINUE_LEASE, False
    dbg = AgentStepper("T", "127.0.0.1", core.port)
    peer, link = core.wait_for_peer(), dbg._current_session().link
    heard, acknowledge = threading.Event(), ResendBuffer.acknowledge

    def wait_for_lease(buffer: ResendBuffer, number: int) -> None:
        acknowledge(buffer, number)
        if number == 4:
            heard.set()

    monkeypatch.setattr(ResendBuffer, "acknowledge", wait_for_lease)
    dbg.begin_llm_query_breakpoint("p")
    dbg.end_llm_query_breakpoint("r")
    dbg.post_debug_message("m")  # by now all of it waits to be acknowledged
    patience: list[float] = []

    def wait(futures: list[Future[None]], seconds: float) -> None:
        """Time goes by, in which the Core takes some more."""
        patience.append(seconds)
        assert link.closed in futures
        if len(patience) == 1:
            peer.receive(Bye)
            peer.send(MessagesAcknowledged(received=4))
            assert heard.wait(TIMEOUT_S)
        else:
            peer.send(MessagesAcknowledged(received=1 + len(peer.received)))
            link.closed.result(TIMEOUT_S)

    monkeypatch.setattr(run_session, "wait", wait)
    run_session.finish_all_runs()
    assert patience == [
        run_session.EXIT_TIMEOUT_S,
        run_session.DISCONNECTED_EXIT_TIMEOUT_S - run_session.EXIT_TIMEOUT_S,
    ]
