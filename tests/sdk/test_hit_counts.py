"""What an agent's breakpoints count while it runs is what they count on the run as it is recorded."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor

import pytest

from agentstepper_nb import AgentStepper
from agentstepper_nb.core.breakpoints import dry_run
from agentstepper_nb.hub import agent_messages
from agentstepper_nb.protocol.agent import (
    CommitMade,
    EventBegun,
    HaltPointReached,
    LeaseMessage,
)
from agentstepper_nb.protocol.breakpoint_rules import (
    BreakpointRule,
    Reaction,
    Repeated,
    TokenBudget,
    Touched,
)
from agentstepper_nb.protocol.data_model import EventKind, EventSide, RunMode
from agentstepper_nb.protocol.records import RunHistory
from tests.helpers.debugger_harness import DebuggerHarness
from tests.helpers.histories import fold_records
from tests.sdk.scripted_core import AgentPeer, ScriptedCore

LOG = Reaction.LOG
STOPS = (
    BreakpointRule(id="every third", kind=EventKind.TOOL_INVOCATION, hit_count=3, reaction=LOG),
    BreakpointRule(id="one halt", name="b*", hit_count=5, once=True),
    BreakpointRule(
        id="inside", side=EventSide.BEGIN, condition="depth > 0 and args != 1", reaction=LOG
    ),
    BreakpointRule(id="errors", on_error=True, reaction=LOG),
    BreakpointRule(id="again", watch=Repeated(times=2), reaction=LOG),
    BreakpointRule(id="budget", watch=TokenBudget(limit=100), reaction=LOG),
    BreakpointRule(id="file", watch=Touched(path="*.txt"), side=EventSide.END, reaction=LOG),
)


def work(dbg: AgentStepper, seed: int) -> None:
    """One thread's calls: some inside each other, some of which fail."""
    chance = random.Random(seed)
    for _ in range(8):
        with dbg.event("turn"):
            usage = {"prompt_tokens": chance.randrange(9), "completion_tokens": 1}
            dbg.begin_llm_query_breakpoint(chance.randrange(2))
            dbg.end_llm_query_breakpoint({"usage": usage})
            try:
                with dbg.tool(chance.choice(["a", "b", "bb"]), chance.randrange(3)):
                    if chance.random() < 0.2:
                        raise LookupError
            except LookupError:
                pass


def recorded(peer: AgentPeer) -> RunHistory:
    """The run as a Core has it that heard all that the agent said."""
    harness = DebuggerHarness()
    harness.start("run", program="T")
    debugger = harness.debugger
    for message in peer.received:
        match message:
            case EventBegun():
                harness.perform(debugger.begin_event(agent_messages.decode_event(message, "run")))
            case HaltPointReached():
                point = agent_messages.decode_point(message, "run")
                leased = message.epoch > 0
                harness.perform(debugger.reach_halt_point(point, 0, leased=leased))
            case CommitMade():
                harness.perform(debugger.add_commit(agent_messages.decode_commit(message, "run")))
    return fold_records(harness.records, "run")


@pytest.mark.parametrize("seed", range(3))
def test_hits_live_are_hits_on_the_recorded_run(
    seed: int, core: ScriptedCore, tmp_path: object
) -> None:
    core.lease = LeaseMessage(epoch=1, mode=RunMode.CONTINUE, breakpoints=STOPS)
    with AgentStepper("T", "127.0.0.1", core.port) as dbg, ThreadPoolExecutor(4) as threads:
        for thread in range(4):
            threads.submit(work, dbg, 10 * seed + thread)
    peer = core.wait_for_peer()
    assert peer.wait_until_gone() is not None
    history = recorded(peer)
    alone = {point.id for point in peer.halt_points if not point.epoch}  # where the Core decided
    for breakpoint in STOPS:
        live = [point.id for point in peer.halt_points if breakpoint.id in point.breakpoints]
        by_seq = {point.seq: point.id for point in history.halt_points}
        trial = dry_run(breakpoint, history)
        assert [id for id in map(by_seq.__getitem__, trial.hits) if id not in alone] == live
    assert sum(len(point.breakpoints) for point in peer.halt_points) > 20
