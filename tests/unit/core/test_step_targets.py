"""Where a step halts: over, into, out and to, by scope, as the Core decides it without a lease."""

from __future__ import annotations

import pytest

from agentstepper_nb.protocol.breakpoint_rules import BreakpointRule
from agentstepper_nb.protocol.data_model import (
    AnswerKind,
    ApprovalPrompt,
    EventKind,
    EventOutcome,
    EventSide,
    Failure,
    Risk,
    RunEnding,
    RunMode,
    RunState,
)
from agentstepper_nb.protocol.step_targets import StepKind, StepTarget
from tests.helpers.debugger_harness import TOOL_CALL_JSON, DebuggerHarness, replay_states

BEGIN, END = EventSide.BEGIN, EventSide.END
TOOL, QUERY = EventKind.TOOL_INVOCATION, EventKind.LLM_QUERY
INTO, OVER, OUT, TO = (StepTarget(kind=kind) for kind in StepKind)
FIRST, SECOND = ("task:1",), ("task:2",)


class Agent(DebuggerHarness):
    """An agent whose events nest, and that tells whether it waits."""

    def __init__(self) -> None:
        super().__init__()
        self.start()

    def open(
        self,
        id: str,
        parent: str | None = None,
        scope: tuple[str, ...] = (),
        kind: EventKind = TOOL,
        **fields: object,
    ) -> bool:
        """Begin an event named by its id; whether the run is halted there."""
        self.begin(kind, id=id, parent=parent, name=id, scope=scope)
        return self.halts_at(self.reach(id, id=f"{id} begin", **fields))

    def close(self, id: str, **fields: object) -> bool:
        return self.halts_at(self.reach(id, END, id=f"{id} end", **fields))

    def halts_at(self, point: str) -> bool:
        return point in self.run().pending

    def go(self, target: StepTarget | None, point: str | None = None) -> None:
        self.step(point, target=target)
        assert replay_states(self.records) == self.debugger._runs


@pytest.fixture
def agent() -> Agent:
    return Agent()


# ---- over -------------------------------------------------------------------------------------------


def test_over_at_a_begin_halts_at_the_same_events_end(agent: Agent) -> None:
    agent.open("outer")
    agent.go(OVER)
    step = agent.run().step
    assert step == StepTarget(
        kind=StepKind.OVER,
        scope=(),
        event="outer",
        event_kind=TOOL,
        name="outer",
        point="outer begin",
    )
    assert agent.leases[-1].target == step
    for number in range(3):
        assert not agent.open(f"inner {number}", "outer")
        assert not agent.open(f"innermost {number}", f"inner {number}")
        assert not agent.close(f"innermost {number}")
        assert not agent.close(f"inner {number}")
    assert len(agent.leases) == 1
    assert agent.run().state is RunState.STEP
    assert agent.close("outer")
    # From there on each halt point waits, as after any step.
    assert agent.leases[-1].target is None
    agent.go(None)
    assert agent.open("next")


def test_over_an_event_that_fails_halts_at_its_end(agent: Agent) -> None:
    agent.open("outer")
    agent.go(OVER)
    failure = Failure(type="ValueError", message="no")
    assert agent.close("outer", outcome=EventOutcome.ERROR, failure=failure)


def test_over_at_an_end_halts_at_the_next_event_that_is_no_deeper(agent: Agent) -> None:
    agent.open("outer")
    agent.go(INTO)
    agent.open("inner", "outer")
    agent.go(OVER)
    assert agent.close("inner")
    agent.go(OVER)
    assert agent.open("sibling", "outer")
    agent.go(OVER)
    agent.close("sibling")
    agent.go(OVER)
    assert agent.close("outer")


def test_over_at_the_programs_start_halts_at_the_next(agent: Agent) -> None:
    agent.reach(agent.begin(EventKind.PROGRAM_STARTED))
    agent.go(OVER)
    assert agent.open("first")


def test_what_is_stepped_over_halts_at_breakpoints_and_approvals(agent: Agent) -> None:
    agent.set_breakpoint(BreakpointRule(id="s", name="inner", side=BEGIN))
    agent.open("outer")
    agent.go(OVER)
    assert agent.open("inner", "outer")
    assert not agent.open("beside it", "outer")
    agent.go(OVER, "inner begin")
    assert agent.close("inner")
    agent.go(OUT, "inner end")
    event = agent.begin(TOOL, id="asks", parent="outer")
    approval = ApprovalPrompt(risk=Risk.LOW, why="It deletes files.")
    assert agent.halts_at(agent.reach(event, data=TOOL_CALL_JSON, approval=approval))
    assert agent.close("outer")


# ---- out, to ----------------------------------------------------------------------------------------


def test_out_halts_at_the_end_of_the_event_around_it(agent: Agent) -> None:
    agent.open("outer")
    agent.go(INTO)
    agent.open("inner", "outer")
    agent.go(OUT)
    assert agent.run().step.name == "outer"  # type: ignore[union-attr]
    assert not agent.close("inner")
    assert not agent.open("sibling", "outer")
    assert not agent.close("sibling")
    assert agent.close("outer")


def test_out_at_an_end_knows_what_is_around_also_after_a_restart(agent: Agent) -> None:
    agent.open("outer")
    agent.go(INTO)
    agent.open("inner", "outer")
    agent.go(INTO)
    agent.close("inner")
    restarted = Agent.__new__(Agent)
    DebuggerHarness.__init__(restarted)
    restarted.debugger.restore(agent.records)
    restarted.step(target=OUT)
    assert not restarted.open("sibling", "outer")
    assert not restarted.close("sibling")
    assert restarted.close("outer")


def test_out_of_what_nothing_is_around_runs_to_the_end(agent: Agent) -> None:
    agent.open("first")
    agent.go(OUT)
    assert not agent.close("first")
    assert not agent.open("second")
    assert not agent.close("second")
    agent.finish()
    assert (agent.run().state, agent.run().ending) == (RunState.IDLE, RunEnding.FINISHED)
    assert not agent.run().step


@pytest.mark.parametrize(
    ("target", "halts"),
    [
        (StepTarget(kind=StepKind.TO, event_kind=QUERY, side=BEGIN), "q begin"),
        (StepTarget(kind=StepKind.TO, event_kind=TOOL, side=BEGIN), "t begin"),
        (StepTarget(kind=StepKind.TO, event_kind=TOOL, side=END, name="u"), "u end"),
        (StepTarget(kind=StepKind.TO, name="u"), "u begin"),
        (StepTarget(kind=StepKind.TO), "first end"),
    ],
)
def test_to_halts_at_the_next_that_fits(agent: Agent, target: StepTarget, halts: str) -> None:
    agent.open("first")
    agent.go(target)
    agent.close("first")
    for id, kind in (("t", TOOL), ("q", QUERY), ("u", TOOL)):
        if not agent.run().pending:
            agent.open(id, kind=kind)
        if not agent.run().pending:
            agent.close(id)
    assert agent.run().pending == (halts,)


def test_to_works_while_the_run_continues(agent: Agent) -> None:
    agent.resume()
    agent.go(StepTarget(kind=StepKind.TO, event_kind=QUERY))
    assert agent.run().mode is RunMode.STEP
    assert not agent.open("t")
    assert agent.open("q", kind=QUERY)


# ---- scopes -----------------------------------------------------------------------------------------


def test_others_pass_while_one_steps_and_while_it_is_halted(agent: Agent) -> None:
    agent.open("one", scope=FIRST)
    agent.go(INTO)
    assert agent.leases[-1].target == StepTarget(kind=StepKind.INTO, scope=FIRST, point="one begin")
    assert not agent.open("two", scope=SECOND)
    assert agent.open("one inside", "one", (*FIRST, "tool:call_1", "thread:1"))
    assert not agent.close("two")
    leases = len(agent.leases)
    agent.go(INTO)  # inside of the thread
    assert len(agent.leases) == leases + 1
    assert not agent.close("one")
    assert agent.close("one inside")


def test_a_step_into_that_goes_on_in_its_scope_brings_no_lease(agent: Agent) -> None:
    agent.open("one", scope=FIRST)
    agent.go(INTO)
    agent.close("one")
    leases = len(agent.leases)
    agent.go(INTO)
    assert agent.open("again", scope=FIRST)
    assert len(agent.leases) == leases


def test_others_wait_where_they_are_frozen(agent: Agent) -> None:
    agent.open("one", scope=FIRST)
    agent.go(StepTarget(kind=StepKind.OVER, freeze_others=True))
    assert agent.open("two", scope=SECOND)
    assert not agent.open("inner", "one", FIRST)
    assert agent.close("one")
    assert agent.run().pending == ("two begin", "one end")
    agent.step("two begin", target=INTO)
    assert agent.close("two")


def test_to_a_scope_lets_others_pass(agent: Agent) -> None:
    agent.open("one", scope=FIRST)
    agent.go(StepTarget(kind=StepKind.TO, scope=SECOND))
    assert not agent.close("one")
    assert agent.open("two", scope=SECOND)


def test_halt_and_a_step_without_a_target_bring_everything_to_one_mode(agent: Agent) -> None:
    agent.open("one", scope=FIRST)
    agent.go(INTO)
    agent.close("one")
    agent.halt()
    assert not agent.run().step
    assert agent.open("two", scope=SECOND)
    agent.go(INTO, "two begin")
    agent.go(None, "one end")
    assert not agent.run().step
    assert agent.open("three", scope=("task:3",))


def test_a_scope_that_ends_lets_the_step_go_on_around_it(agent: Agent) -> None:
    agent.open("one", scope=("agent:a:1", "task:1"))
    agent.go(INTO)
    agent.close("one")
    agent.go(INTO)
    assert not agent.open("elsewhere", scope=("agent:a:1", "task:2"))
    agent.end_scope("agent:a:1", "task:1")
    assert agent.leases[-1].target == StepTarget(
        kind=StepKind.INTO, scope=("agent:a:1",), point="one begin"
    )
    assert agent.close("elsewhere")
    agent.go(INTO)
    agent.end_scope("agent:a:1")  # a task of it lives on
    assert agent.leases[-1].target is not None
    agent.end_scope("agent:a:1", "task:2")
    agent.end_scope("agent:a:1")
    assert agent.leases[-1].target is None
    assert agent.open("main")


def test_a_step_over_an_event_of_a_scope_that_ends_halts_around_it(agent: Agent) -> None:
    agent.open("one", scope=("agent:a:1", "task:1"))
    agent.go(OVER)
    agent.end_scope("agent:a:1", "task:1")  # the task was lost: its event never ends
    assert not agent.open("elsewhere", scope=SECOND)
    assert agent.open("next", scope=("agent:a:1",))


def test_a_step_out_of_a_thread_that_ends_halts_at_the_end_of_what_is_around(agent: Agent) -> None:
    agent.open("outer")
    agent.go(INTO)
    agent.open("inner", "outer", ("thread:1",))
    agent.go(OUT)
    agent.end_scope("thread:1")
    assert not agent.open("sibling", "outer")
    assert agent.close("outer")


# ---- nothing is lost --------------------------------------------------------------------------------


def test_an_event_that_ends_without_waiting_lets_the_step_halt_at_the_next(agent: Agent) -> None:
    agent.open("one", scope=FIRST)
    agent.go(OVER)
    assert not agent.close("one", waits=False)  # a cancelled task, a closed generator
    assert not agent.open("two", scope=SECOND)
    assert agent.open("next", scope=FIRST)


def test_an_event_that_is_left_open_lets_the_step_halt_at_what_follows(agent: Agent) -> None:
    agent.open("stream", scope=FIRST, kind=QUERY)
    agent.go(OVER)
    assert not agent.open("inside", "stream", FIRST)
    assert not agent.open("elsewhere", scope=(*FIRST, "task:1"))
    assert agent.open("after", scope=FIRST)


@pytest.mark.parametrize("around", ["inner", "outer"])
def test_an_event_around_that_ends_first_halts(agent: Agent, around: str) -> None:
    agent.open("outer")
    agent.go(INTO)
    agent.open("inner", "outer")
    agent.go(INTO)
    agent.open("stepped over", "inner")
    agent.go(OVER)
    assert not agent.open("innermost", "stepped over")
    assert agent.close(around)


def test_a_halt_point_that_is_withdrawn_lets_the_next_one_halt(agent: Agent) -> None:
    agent.open("one", scope=FIRST)
    agent.go(OVER)
    agent.close("one")
    agent.withdraw("one end")
    assert agent.open("next", scope=FIRST)


def test_who_is_to_stop_waits_at_the_next_halt_point(agent: Agent) -> None:
    agent.open("one", scope=FIRST)
    agent.go(OVER)
    agent.stop()
    assert (agent.leases[-1].mode, agent.leases[-1].target) == (RunMode.STEP, None)
    agent.open("two", scope=SECOND)
    assert agent.answers[-1].answer is AnswerKind.STOP


def test_continue_ends_a_step(agent: Agent) -> None:
    agent.open("one", scope=FIRST)
    agent.go(OVER)
    agent.resume()
    assert not agent.run().step
    assert (agent.leases[-1].mode, agent.leases[-1].target) == (RunMode.CONTINUE, None)
    assert not agent.close("one")


def test_a_restart_in_the_middle_of_a_step_goes_on(agent: Agent) -> None:
    agent.open("outer")
    agent.go(OVER)
    agent.open("inner", "outer")
    restarted = Agent.__new__(Agent)
    DebuggerHarness.__init__(restarted)
    restarted.debugger.restore(agent.records)
    assert restarted.debugger.lease("run") == agent.debugger.lease("run")
    assert not restarted.close("inner")
    assert restarted.close("outer")
