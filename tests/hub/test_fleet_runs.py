"""All runs of a Core at once: which wait for a person, at what, and halting and continuing them."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from agentstepper_nb.hub import Hub
from agentstepper_nb.hub.fleet_runs import HubFleetRuns
from agentstepper_nb.hub.runtime.fleet_service import StepRate
from agentstepper_nb.protocol.data_model import EventKind, EventSide, RunMode, RunState
from agentstepper_nb.protocol.fleet import ContinueRuns, FleetQuery
from tests.hub.harness import ScriptedAgent, open_hub
from tests.hub.runtime.harness import RuntimeHarness, open_harness
from tests.hub.test_approvals import request_approval


async def start_agent(hub: Hub, run: str, mode: str = "step", **hello: Any) -> ScriptedAgent:
    """An agent that has said hello."""
    agent = ScriptedAgent(run, program=f"P-{run}", **hello)
    await agent.connect(hub, mode=mode)
    return agent


async def halt_agent(hub: Hub, run: str, **fields: Any) -> ScriptedAgent:
    """An agent that halts before it calls a tool."""
    agent = await start_agent(hub, run)
    agent.begin(f"e-{run}", "tool_invocation", name="run_tests")
    agent.reach(f"b-{run}", {"Tool": "run_tests"}, f"e-{run}", **fields)
    await hub.wait_recorded()
    return agent


async def test_who_waits_longest_is_first_and_it_says_at_what() -> None:
    hub, now = await open_hub(), [100.0]
    hub.clock = lambda: now[0]
    runs = HubFleetRuns(hub)
    for run in ("a", "b"):
        await halt_agent(hub, run)
        now[0] += 10
    await start_agent(hub, "goes", "continue")
    assert runs.list_halted() == ("a", "b")
    first, second = runs.describe_halted(runs.list_halted())
    assert (first.run_id, first.program, first.halted_at) == ("a", "P-a", 100.0)
    assert (first.kind, first.side) == (EventKind.TOOL_INVOCATION, EventSide.BEGIN)
    assert first.where == "tool call run_tests (row 1)"
    assert (second.run_id, second.pending, second.is_approval) == ("b", 1, False)
    assert runs.count_going() == 1
    assert runs.describe_halted(("gone", "goes")) == ()
    await hub.close()


async def test_all_but_some_go_on_and_approvals_stay() -> None:
    hub, now = await open_hub(), [100.0]
    hub.clock = lambda: now[0]
    runs = HubFleetRuns(hub)
    agents = {run: await halt_agent(hub, run) for run in ("a", "b", "kept")}
    asks = await start_agent(hub, "asks")
    request_approval(asks)
    both = await halt_agent(hub, "both")
    request_approval(both, "second")
    now[0] = 200.0
    await halt_agent(hub, "late")
    found = runs.continue_halted(ContinueRuns(but=("kept",), halted_until=150.0))
    await hub.wait_recorded()
    assert (found.changed, found.approvals) == (3, 1)
    for run in ("a", "b"):
        assert (await agents[run].connection.receive("answer"))["answer"] == {"kind": "resume"}
        assert hub.run(run).state is RunState.CONTINUE
    assert (await both.connection.receive("answer"))["answer"] == {"kind": "resume"}
    assert hub.run("both").pending == ("second",)
    for run in ("kept", "asks", "late"):
        assert (hub.run(run).state, hub.run(run).mode) == (RunState.HALTED, RunMode.STEP)
    assert runs.describe_halted(("asks",))[0].is_approval
    only = runs.continue_halted(ContinueRuns(runs=("late", "gone")))
    assert (only.changed, only.approvals) == (1, 0)
    await hub.close()


async def test_all_that_continue_halt_at_their_next_halt_point() -> None:
    hub = await open_hub()
    runs = HubFleetRuns(hub)
    goes = await start_agent(hub, "goes", "continue")
    await start_agent(hub, "steps")
    await halt_agent(hub, "waits")
    ended = await start_agent(hub, "ended", "continue")
    ended.send_bye()
    await hub.wait_recorded()
    assert (runs.count_going(), runs.halt_all()) == (1, 1)
    goes.reach("next")
    await hub.wait_recorded()
    assert runs.list_halted() == ("waits", "goes")
    assert runs.halt_all() == 0
    await hub.close()


async def test_tokens_and_cost_are_those_of_all_runs() -> None:
    hub = await open_hub()
    runs = HubFleetRuns(hub)
    assert runs.sum_usage().input_tokens is None
    for run, cost in (("a", 0.5), ("b", 0.25)):
        agent = await start_agent(hub, run, "continue")
        agent.reach(f"b-{run}")
        usage = {"input_tokens": 100, "output_tokens": 10, "cost": cost}
        agent.reach(f"a-{run}", "hi", f"e-b-{run}", side="end", usage=usage)
    await hub.wait_recorded()
    found = runs.sum_usage()
    assert (found.input_tokens, found.output_tokens, found.cost) == (200, 20, 0.75)
    await hub.close()


async def test_a_halted_session_is_found_in_the_inbox() -> None:
    hub = await open_hub()
    async with open_harness() as harness:
        harness.runtime.runs = HubFleetRuns(hub)
        await begin_session(harness, "s", "run-s")
        await begin_session(harness, "t", "run-t")
        for run in ("run-s", "alone"):
            await halt_agent(hub, run)
        fleet = await harness.runtime.fleet(FleetQuery(limit=10))
        assert [(run.run_id, run.session_id) for run in fleet.inbox] == [
            ("run-s", "s"),
            ("alone", None),
        ]
        assert (fleet.halted, fleet.inbox[0].agent_id) == (2, "ann")
        assert {each.session_id: each.status.value for each in fleet.report.sessions} == {
            "s": "halted",
            "t": "running",
        }
        assert fleet.report.halted == ()  # the inbox says it
        assert fleet.steps_per_minute == 2
        harness.clock.now += 61
        assert (await harness.runtime.fleet(FleetQuery())).steps_per_minute == 0
    await hub.close()


async def begin_session(harness: RuntimeHarness, session: str, run: str) -> None:
    """A session that has done a step in a run."""
    await harness.create(session)
    await harness.begin(session)
    state = await harness.state(session)
    await harness.write(state, replace(state, run_id=run))
    await harness.step(session)


def test_steps_are_counted_for_a_minute() -> None:
    now = [0.0]
    rate = StepRate(lambda: now[0])
    for second in range(100):
        now[0] = second
        rate.add(2)
        rate.add(1)
    assert rate.read() == 180
    now[0] = 130
    assert rate.read() == 3 * 29
