"""An agent that goes and comes back: nothing is lost, nothing is taken twice, and edits hold."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from agentstepper_nb.errors import ProtocolError
from agentstepper_nb.hub import Hub
from agentstepper_nb.hub.agent_messages import AcknowledgementTimer, MessageSequence
from agentstepper_nb.hub.limits import DEFAULT_HUB_LIMITS
from agentstepper_nb.protocol.data_model import RunState
from agentstepper_nb.protocol.store_info import Durability
from agentstepper_nb.store import open_store
from tests.hub.harness import FakeConnection, FakeMachine, ScriptedAgent, ScriptedView, open_hub
from tests.hub.test_slow_reads import settle

# ---- away and back ---------------------------------------------------------------------------------


async def test_what_is_answered_while_it_is_away_reaches_it_when_it_is_back() -> None:
    hub, agent = await open_hub(), ScriptedAgent()
    person = ScriptedView(hub)
    assert (await agent.connect(hub))["received"] == 1
    agent.reach("b")
    agent.disconnect()
    away = hub.run("r")
    assert (away.state, away.pending, away.detached_at) == (RunState.DETACHED, ("b",), 1000.0)
    assert (await person.connection.receive("run"))["run"]["state"] == "step"
    await person.request("step", run="r", breakpoint="b", revision=1, edit='"edited"')
    assert (hub.run("r").state, hub.run("r").pending) == (RunState.DETACHED, ())

    assert (await agent.connect(hub, waiting=["b"]))["received"] == 3
    answer = {"kind": "resume", "data": "edited"}
    assert await agent.connection.receive("answer") == {"breakpoint": "b", "answer": answer}
    assert hub.run("r").state is RunState.STEP
    assert hub.run("r").detached_at is None
    await hub.close()


async def test_what_is_pending_stays_so_and_is_answered_once() -> None:
    hub, agent = await open_hub(), ScriptedAgent()
    await agent.connect(hub)
    agent.reach("b")
    agent.disconnect()
    await agent.connect(hub, waiting=["b"])
    assert hub.run("r").state is RunState.HALTED
    await settle()
    assert agent.connection.take_bodies("answer") == []
    hub.perform(hub.commands.step("r", hub.clock()))
    await settle()
    assert [each["breakpoint"] for each in agent.connection.take_bodies("answer")] == ["b"]
    await hub.close()


async def test_stop_and_continue_work_while_it_is_away() -> None:
    hub = await open_hub()
    for does, kind in ((hub.commands.stop, "stop"), (hub.commands.resume, "resume")):
        agent = ScriptedAgent(run=kind)
        await agent.connect(hub)
        agent.reach("b")
        agent.disconnect()
        hub.perform(does(kind, hub.clock()))
        assert hub.run(kind).state is RunState.DETACHED
        await agent.connect(hub, waiting=["b"])
        assert (await agent.connection.receive("answer"))["answer"]["kind"] == kind
        agent.reach("next")  # also what it says next
        assert (await agent.connection.receive("answer"))["answer"]["kind"] == kind
    await hub.close()


async def test_a_new_connection_takes_the_place_of_half_of_one() -> None:
    hub, agent = await open_hub(), ScriptedAgent()
    await agent.connect(hub)
    agent.reach("b")
    half, session = agent.connection, agent.session
    await agent.connect(hub, waiting=["b"])
    assert half.closed_with == (1000, "The agent has connected again.")
    session.on_closed()  # the system notices at last
    assert hub.run("r").state is RunState.HALTED
    hub.perform(hub.commands.step("r", hub.clock()))
    await settle()
    assert len(agent.connection.take_bodies("answer")) == 1
    assert half.take_bodies("answer") == []
    await hub.close()


async def test_what_was_taken_is_not_taken_again_and_the_rest_is() -> None:
    hub, agent = await open_hub(), ScriptedAgent()
    await agent.connect(hub)
    agent.begin("d1", kind="debug_message", data="one")
    agent.disconnect()
    for n, data in ((3, "two"), (4, "three")):  # it goes on meanwhile
        text = agent.sent_texts[0].replace('"n": 2', f'"n": {n}')
        agent.sent_texts.append(text.replace("one", data).replace("d1", data))
    received = (await agent.connect(hub))["received"]
    assert received == 2
    agent.resend_after(after=0)  # even where it sends too much
    await settle()
    history = await hub.history("r")
    assert [event.data for event in history.events] == ['"one"', '"two"', '"three"']
    assert agent.connection.take_bodies("error") == []
    await hub.close()


async def test_a_hello_whose_welcome_was_lost_is_said_again() -> None:
    hub, agent = await open_hub(), ScriptedAgent()
    await agent.connect(hub)
    agent.disconnect()
    assert (await agent.connect(hub))["received"] == 1
    assert [run.id for run in hub.runs()] == ["r"]
    await hub.close()


# ---- refusals --------------------------------------------------------------------------------------


async def test_who_may_not_go_on_is_told_why() -> None:
    hub, agent = await open_hub(), ScriptedAgent()
    await agent.connect(hub)
    agent.reach("b")
    agent.disconnect()
    refused = await agent.connect(hub, secret="another")
    assert (refused["code"], refused["n"]) == ("unauthorized", 1)
    assert refused["message"].startswith("The run r belongs to another agent")
    assert (await agent.connect(hub, sent=0, secret="another"))["code"] == "already_open"
    assert (await agent.connect(hub, sent=0))["code"] == "already_open"
    assert hub.run("r").state is RunState.DETACHED
    stranger = ScriptedAgent(run="unheard of")
    assert (await stranger.connect(hub, sent=5))["code"] == "unknown_run"
    await agent.connect(hub, waiting=["b"])
    agent.send_bye()
    agent.disconnect()
    ended = await agent.connect(hub)
    assert (ended["code"], ended["message"]) == (
        "run_ended",
        "This run has ended. Start a new run.",
    )
    await hub.close()


async def test_an_agent_of_version_1_can_not_come_back() -> None:
    hub = await open_hub()
    old = hub.connect_agent(FakeConnection(), 1)
    old.receive(
        '{"message": "event", "data": {"uuid": "e", "type": "PROGRAM_STARTED", "time": 1.0,'
        ' "data": "P"}}'
    )
    (run,) = hub.runs()
    assert (await ScriptedAgent(run=run.id).connect(hub, sent=3))["code"] == "unauthorized"
    old.on_closed()
    assert hub.run(run.id).state is RunState.IDLE
    await hub.close()


# ---- numbers ---------------------------------------------------------------------------------------


def test_each_number_is_taken_once_and_none_is_left_out() -> None:
    numbers = MessageSequence(1)
    assert [numbers.accept(n) for n in (2, 3, 2, 3, 4)] == [True, True, False, False, True]
    with pytest.raises(
        ProtocolError, match=r"Message 6 came after message 4\. Send the messages between"
    ) as gap:
        numbers.accept(6)
    assert gap.value.code == "invalid_message"
    assert numbers.accept(5)


def test_messages_whose_numbers_cannot_be_read_leave_no_gap() -> None:
    numbers = MessageSequence(1)
    assert not numbers.accept_unreadable(None)
    assert not numbers.accept_unreadable(77)  # it can't be its own
    assert numbers.accept(4)
    assert numbers.accept_unreadable(5)
    assert not numbers.accept(5)
    with pytest.raises(ProtocolError):
        numbers.accept(7)


async def test_a_refused_message_is_taken_too() -> None:
    hub, agent = await open_hub(), ScriptedAgent()
    await agent.connect(hub)
    agent.send("nap")
    agent.send("breakpoint", id="b")
    agent.reach("b", event="none")
    assert [each["n"] for each in agent.connection.take_bodies("error")] == [2, 3, 4]
    agent.disconnect()
    assert (await agent.connect(hub))["received"] == 4
    await hub.close()


# ---- acknowledgements ------------------------------------------------------------------------------


async def test_acknowledgements_are_few() -> None:
    told: list[int] = []
    acknowledgements = AcknowledgementTimer(told.append)
    for n in range(1, 200):
        acknowledgements.acknowledge(n, 10)
    assert told == [64, 128, 192]
    acknowledgements.acknowledge(200, DEFAULT_HUB_LIMITS.max_unacknowledged_bytes)
    assert told[-1] == 200
    acknowledgements.acknowledge(201, 1)
    acknowledgements.flush()
    acknowledgements.flush()
    assert told[3:] == [200, 201]
    acknowledgements.end()
    acknowledgements.acknowledge(202, DEFAULT_HUB_LIMITS.max_unacknowledged_bytes)
    acknowledgements.flush()
    assert told[-1] == 201


async def test_the_last_is_acknowledged_soon() -> None:
    told: asyncio.Queue[int] = asyncio.Queue()
    AcknowledgementTimer(told.put_nowait).acknowledge(2, 10)
    assert told.empty()
    assert await asyncio.wait_for(told.get(), 30) == 2


async def test_bye_is_acknowledged_at_once_and_so_is_all_before_the_core_stops() -> None:
    hub, agent, other = await open_hub(), ScriptedAgent(), ScriptedAgent(run="other")
    await agent.connect(hub)
    await other.connect(hub)
    agent.reach("b", waits=False)
    agent.send_bye()
    assert await agent.connection.receive("acknowledged") == {"received": 4}
    other.reach("b")
    await hub.close()
    assert await other.connection.receive("acknowledged") == {"received": 3}
    assert other.connection.closed_with == (1001, "The Core is stopping.")
    other.reach("late")  # nothing is taken any more
    assert hub.run("other").rows == 1


# ---- another Core on the same folder ---------------------------------------------------------------


async def go(hub: Hub) -> None:
    """End a Core as a kill would: nobody is told, and no run ends."""
    await asyncio.to_thread(hub.store.close)
    hub.agent_liveness.close()


@pytest.mark.parametrize("durability", Durability)
async def test_the_next_core_goes_on_with_it(tmp_path: Path, durability: Durability) -> None:
    machine, agent = FakeMachine(), ScriptedAgent()
    hub = await open_hub(open_store(tmp_path, durability), machine)
    await agent.connect(hub)
    agent.reach("a", {"z": 1.0})
    await hub.wait_recorded()
    hub.perform(hub.commands.step("r", hub.clock(), "a", 1, '"edited"'))
    await agent.connection.receive("answer")  # and it never hears it
    agent.begin("said", kind="debug_message", data="meanwhile")
    agent.reach("b")
    await hub.wait_recorded()
    hub.perform(hub.commands.edit("r", "b", '"kept"', 1))
    hub.perform(hub.commands.tag("r", ["mine"]))
    await hub.wait_recorded()
    await go(hub)

    hub = await open_hub(open_store(tmp_path, durability), machine)
    (run,) = hub.runs()
    assert (run.state, run.pending, run.tags) == (RunState.DETACHED, ("b",), ("mine",))
    assert hub.debugger.pending("r")[0].edit == '"kept"'
    received = (await agent.connect(hub, waiting=["a", "b"]))["received"]
    assert received == 1 + len(agent.sent_texts)
    answer = {"kind": "resume", "data": "edited"}
    assert await agent.connection.receive("answer") == {"breakpoint": "a", "answer": answer}
    assert hub.run("r").state is RunState.HALTED
    agent.resend_after(after=0)
    hub.perform(hub.commands.step("r", hub.clock()))
    assert await agent.connection.receive("answer", breakpoint="b") == {
        "breakpoint": "b",
        "answer": {"kind": "resume", "data": "kept"},
    }
    agent.send_bye()
    await agent.connection.receive("acknowledged", received=1 + len(agent.sent_texts))
    history = await hub.history("r")
    assert [point.id for point in history.halt_points[:2]] == ["a", "b"]
    assert (history.run.rows, history.run.ending) == (4, "finished")
    await hub.close()


async def test_what_nobody_can_say_has_an_end(tmp_path: Path) -> None:
    """Agents of version 1 can't come back, and the process of the other is gone."""

    machine, agent = FakeMachine(), ScriptedAgent()
    hub = await open_hub(open_store(tmp_path), machine)
    old = hub.connect_agent(FakeConnection(), 1)
    old.receive(
        '{"message": "event", "data": {"uuid": "e", "type": "PROGRAM_STARTED", "time": 1.0,'
        ' "data": "Old"}}'
    )
    await agent.connect(hub)
    agent.begin("call", kind="tool_invocation", name="run_tests")
    agent.reach("b", {"Tool": "run_tests", "Argument": 1}, "call")
    await hub.wait_recorded()
    await go(hub)
    machine.processes.clear()
    hub = await open_hub(open_store(tmp_path), machine)
    ended = {run.program: run for run in hub.runs()}
    assert (ended["Old"].ending, ended["P"].ending) == ("lost", "crashed")
    assert ended["P"].last_event == "tool call run_tests (row 1)"
    assert ended["P"].pending == ()
    failures = [str(run.failure and run.failure.message) for run in hub.runs()]
    assert "The Core went away while this agent was connected" in failures[0]
    assert "process is gone" in failures[1]
    assert (await agent.connect(hub))["code"] == "run_ended"
    await hub.close()


async def test_what_the_store_has_lost_is_said_at_the_end_and_nobody_waits_for_ever() -> None:
    hub, agent = await open_hub(), ScriptedAgent()
    await agent.connect(hub)
    agent.begin("e", kind="program_started")
    # As if the rest had been kept, and acknowledged, and were gone now.
    agent.sent_texts += ["lost"] * 3
    agent.acknowledged = 5
    agent.disconnect()
    assert (await agent.connect(hub, waiting=["lost b"]))["received"] == 5
    answered = {"breakpoint": "lost b", "answer": {"kind": "resume"}}
    assert await agent.connection.receive("answer") == answered
    agent.reach("next")
    assert hub.run("r").pending == ("next",)
    hub.perform(hub.commands.step("r", hub.clock()))
    agent.send_bye()
    await agent.connection.receive("acknowledged", received=8)
    run = hub.run("r")
    assert (run.ending, run.failure and run.failure.type) == ("finished", "StoreDamaged")
    assert "has lost 3 messages of this run" in str(run.failure)
    await hub.close()
