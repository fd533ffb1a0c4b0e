"""Agents that are away: who may come back, and how the runs of the others end."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import msgspec
import pytest

from agentstepper_nb.hub import Hub
from agentstepper_nb.hub.agent_liveness import presume_ending
from agentstepper_nb.hub.end_reasons import describe_ended_process
from agentstepper_nb.hub.process_info import ProcessInfo, find_process, identify_machine
from agentstepper_nb.protocol.data_model import Run, RunEnding, RunState
from tests.hub.harness import FakeMachine, ScriptedAgent, ScriptedView, open_hub

RUN = Run(id="r", name="R", program="P", started_at=1000.0, pid=7, host="box")


@pytest.mark.parametrize(
    ("process", "here", "waited", "ending"),
    [
        (ProcessInfo(started_at=990.0), True, 0.0, None),
        (ProcessInfo(started_at=1059.0), True, 0.0, None),  # the clock was set
        (
            ProcessInfo(started_at=1061.0),
            True,
            0.0,
            RunEnding.CRASHED,
        ),  # another one of the same number
        (ProcessInfo(started_at=None), True, 1e6, None),
        (None, True, 0.0, RunEnding.CRASHED),
        (None, False, 0.0, None),
        (None, False, 600.0, None),
        (None, False, 600.1, RunEnding.LOST),
    ],
)
def test_a_judgement(
    process: ProcessInfo | None, here: bool, waited: float, ending: RunEnding | None
) -> None:
    verdict = presume_ending(RUN, process, is_local=here, can_reconnect=True, waited_s=waited)
    assert (verdict and verdict.ending) == ending


@pytest.mark.parametrize(("ticks", "ending"), [(55, None), (56, RunEnding.CRASHED)])
def test_a_process_is_the_runs_by_its_start(ticks: int, ending: RunEnding | None) -> None:
    """A number that is used again within a minute, or a clock that was set."""
    process = ProcessInfo(started_at=5000.0 if ending is None else 1001.0, start_ticks=ticks)
    presumed = presume_ending(
        RUN, process, is_local=True, can_reconnect=True, waited_s=0.0, start_ticks=55
    )
    assert (presumed and presumed.ending) == ending


@pytest.mark.parametrize("here", [True, False])
def test_who_does_not_come_back_is_waited_for_only_a_moment(here: bool) -> None:
    process = ProcessInfo(started_at=990.0)
    assert presume_ending(RUN, process, is_local=here, can_reconnect=False, waited_s=0.0) is None
    verdict = presume_ending(RUN, process, is_local=here, can_reconnect=False, waited_s=1.0)
    assert verdict is not None
    assert verdict.ending is RunEnding.LOST
    assert "on_disconnect" in verdict.failure.message


@pytest.mark.parametrize(
    ("code", "says"),
    [
        (-9, "was killed by SIGKILL."),
        (-11, "was killed by SIGSEGV."),
        (-99, "was killed by signal 99."),
        (3, "exited with 3, without saying goodbye."),
        (0, "exited with 0, without saying goodbye."),
    ],
)
def test_an_exit_code_in_words(code: int, says: str) -> None:
    assert describe_ended_process(code).message == f"The agent's process {says}"


# ---- the runs' ends --------------------------------------------------------------------------------


async def a_call(machine: FakeMachine, agent: ScriptedAgent) -> Hub:
    """A hub whose agent has called a tool, and waits."""
    hub = await open_hub(machine=machine)
    await agent.connect(hub)
    agent.begin("call", kind="tool_invocation", name="run_tests")
    agent.reach("b", {"Tool": "run_tests", "Argument": 1}, "call")
    return hub


async def test_a_process_that_is_gone_is_noticed_at_once() -> None:
    machine, agent = FakeMachine(), ScriptedAgent()
    hub = await a_call(machine, agent)
    person = ScriptedView(hub)
    machine.processes.clear()
    agent.disconnect()
    run = hub.run("r")
    assert (run.state, run.ending, run.pending) == (RunState.IDLE, RunEnding.CRASHED, ())
    assert (run.last_event, run.detached_at) == ("tool call run_tests (row 1)", None)
    assert run.failure is not None
    assert "process is gone" in run.failure.message
    await person.connection.receive("run", run=json.loads(msgspec.json.encode(run)))
    await hub.close()


async def test_a_process_that_ends_later_is_noticed_by_the_next_look() -> None:
    machine, agent = FakeMachine(), ScriptedAgent()
    hub = await a_call(machine, agent)
    agent.disconnect()
    for _ in range(3):
        machine.now += 10_000
        hub.agent_liveness.check()
        assert hub.run("r").state is RunState.DETACHED
    machine.processes[7] = ProcessInfo(started_at=machine.now)
    hub.agent_liveness.check()
    assert hub.run("r").ending is RunEnding.CRASHED
    hub.agent_liveness.check()
    await hub.close()


async def test_a_number_that_is_used_again_at_once_is_another_process() -> None:
    machine, agent = FakeMachine(), ScriptedAgent()
    machine.processes[7] = ProcessInfo(started_at=900.0, start_ticks=55)
    hub = await a_call(machine, agent)
    agent.disconnect()
    hub.agent_liveness.check()
    assert hub.run("r").state is RunState.DETACHED
    machine.processes[7] = ProcessInfo(started_at=machine.now, start_ticks=56)
    hub.agent_liveness.check()
    assert hub.run("r").ending is RunEnding.CRASHED
    await hub.close()


async def test_it_looks_by_itself() -> None:
    machine, agent = FakeMachine(), ScriptedAgent()
    hub = await a_call(machine, agent)
    person = ScriptedView(hub)
    agent.disconnect()
    await person.connection.receive("run")
    machine.processes.clear()
    while (await person.connection.receive("run"))["run"]["state"] != "idle":
        pass
    await hub.close()


async def test_an_agent_that_takes_a_lost_connection_for_the_end_is_lost() -> None:
    machine, agent = FakeMachine(), ScriptedAgent(returns=False)
    hub = await a_call(machine, agent)
    agent.disconnect()
    assert hub.run("r").state is RunState.DETACHED
    machine.now += 1
    hub.agent_liveness.check()
    assert hub.run("r").ending is RunEnding.LOST
    await hub.close()


async def test_an_agent_elsewhere_has_ten_minutes() -> None:
    for elsewhere in ({"host": "other"}, {"boot": "other"}, {"pid": 0}):
        machine, agent = FakeMachine(), ScriptedAgent(**elsewhere)  # type: ignore[arg-type]
        machine.processes.clear()
        hub = await a_call(machine, agent)
        agent.disconnect()
        machine.now += 600
        hub.agent_liveness.check()
        assert hub.run("r").state is RunState.DETACHED
        await agent.connect(hub, waiting=["b"])
        machine.now += 1000
        hub.agent_liveness.check()
        assert hub.run("r").state is RunState.HALTED
        agent.disconnect()
        machine.now += 601
        hub.agent_liveness.check()
        run = hub.run("r")
        assert (run.ending, run.last_event) == (RunEnding.LOST, "tool call run_tests (row 1)")
        assert run.failure is not None
        assert run.failure.message == "Nothing was heard of the agent for 10 minutes."
        refused = await agent.connect(hub)
        assert refused["code"] == "run_ended"
        assert "its agent was away too long" in refused["message"]
        await hub.close()


# ---- what a parent tells ---------------------------------------------------------------------------


async def with_parent() -> tuple[FakeMachine, ScriptedAgent, ScriptedAgent, Hub]:
    machine, child, parent = FakeMachine(), ScriptedAgent(), ScriptedAgent(run="parent", pid=6)
    hub = await a_call(machine, child)
    await parent.connect(hub)
    return machine, child, parent, hub


async def test_a_child_that_was_killed_before_its_connection_was_closed() -> None:
    machine, child, parent, hub = await with_parent()
    machine.processes.pop(7)
    parent.send("process_ended", pid=7, code=-9)
    assert hub.run("r").state is RunState.HALTED  # what it said last may still come
    child.disconnect()
    run = hub.run("r")
    assert (run.ending, run.exit_code) == (RunEnding.CRASHED, -9)
    assert "killed by SIGKILL" in str(run.failure)
    assert hub.run("parent").live
    await hub.close()


async def test_every_run_of_a_child_that_was_killed_has_its_exit_code() -> None:
    machine, child, parent, hub = await with_parent()
    other = ScriptedAgent(run="other")  # of the same process
    await other.connect(hub)
    machine.processes.pop(7)
    parent.send("process_ended", pid=7, code=-9)
    for each in (child, other):
        each.disconnect()
        run = hub.run(each.run)
        assert (run.ending, run.exit_code) == (RunEnding.CRASHED, -9)
        assert "killed by SIGKILL" in str(run.failure)
    await hub.close()


async def test_a_child_that_was_killed_and_is_away() -> None:
    _, child, parent, hub = await with_parent()
    child.disconnect()
    assert hub.run("r").state is RunState.DETACHED
    parent.send("process_ended", pid=7, code=3)
    run = hub.run("r")
    assert (run.ending, run.exit_code) == (RunEnding.CRASHED, 3)
    assert "exited with 3" in str(run.failure)
    await hub.close()


async def test_a_child_whose_process_was_missed_before() -> None:
    machine, child, parent, hub = await with_parent()
    machine.processes.pop(7)
    child.disconnect()
    assert hub.run("r").exit_code is None
    parent.send("process_ended", pid=7, code=-15)
    run = hub.run("r")
    assert (run.ending, run.exit_code) == (RunEnding.CRASHED, -15)
    assert "killed by SIGTERM" in str(run.failure)
    await hub.close()


async def test_a_child_that_said_how_it_ended() -> None:
    for late in (True, False):
        _, child, parent, hub = await with_parent()
        if not late:
            parent.send("process_ended", pid=7, code=1)
        child.send_bye("crashed", failure={"type": "KeyError", "message": "'x'"})
        child.disconnect()
        if late:
            parent.send("process_ended", pid=7, code=1)
        run = hub.run("r")
        assert (run.ending, run.exit_code) == (RunEnding.CRASHED, 1)
        assert run.failure is not None
        assert run.failure.type == "KeyError"
        await hub.close()


async def test_the_number_of_a_process_that_ended_long_ago_is_anothers() -> None:
    machine, child, parent, hub = await with_parent()
    child.send_bye()
    machine.now += 61
    parent.send("process_ended", pid=7, code=1)
    assert hub.run("r").exit_code is None
    parent.send("process_ended", pid=99, code=1)  # of a program without an agent
    other = ScriptedAgent(run="other host", host="other")
    await other.connect(hub)
    other.send("process_ended", pid=6, code=1)
    assert hub.run("parent").live
    await hub.close()


async def test_a_run_that_was_deleted_is_told_nothing() -> None:
    _, child, parent, hub = await with_parent()
    child.send_bye()
    hub.delete("r")
    parent.send("process_ended", pid=7, code=1)
    assert parent.connection.take_bodies("error") == []
    await hub.close()


# ---- this machine ----------------------------------------------------------------------------------


def test_a_process_of_this_machine() -> None:
    here = find_process(os.getpid())
    assert here is not None
    assert here.started_at is not None
    assert 0 <= time.time() - here.started_at < 24 * 3600
    assert identify_machine()[0]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux gives threads numbers of processes")
def test_a_thread_is_no_process() -> None:
    with ThreadPoolExecutor(1) as pool:
        thread = pool.submit(threading.get_native_id).result()
        assert find_process(thread) is None


def test_a_process_that_has_ended_and_nobody_asked_how() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        assert find_process(child.pid) is not None
        assert child.stdin is not None
        child.stdin.close()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert find_process(child.pid) is None  # a zombie
        child.wait()
    assert find_process(child.pid) is None
    assert find_process(2**40) is None
