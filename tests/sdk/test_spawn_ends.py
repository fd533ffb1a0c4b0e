"""The end of a parent whose children still run: by its own will, an error, a signal, `kill -9`."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stdout
from types import SimpleNamespace
from typing import Any

import pytest

from agentstepper_nb import (
    AgentStepper,
    AgentStepperCore,
    AgentStopped,
)
from agentstepper_nb.protocol.data_model import Run, RunEnding
from tests.sdk.both_steppers import both, run
from tests.sdk.child_programs import CHILD, FOREVER, CollectedOutput, make_python_command
from tests.sdk.person import LiveView
from tests.sdk.processes import agent, outcome
from tests.sdk.scripted_core import TIMEOUT_S, ScriptedCore


@pytest.mark.slow
@both
def test_leaving_waits_for_the_children_and_the_run_ends_after_them(
    stepper_kind: str, live: AgentStepperCore, person: LiveView
) -> None:
    async def scenario(dbg: Any) -> None:
        await dbg.spawn(make_python_command(CHILD))

    where: Any = SimpleNamespace(port=live.client_port)
    with ThreadPoolExecutor(1) as pool:
        parent = pool.submit(run, stepper_kind, where, scenario, stop_on_entry=False)
        person.wait_until_halted()
        assert sorted(run.live for run in person.runs.values()) == [True, True]
        person.resume()
        assert not person.wait_until_ended().live
        assert parent.result(TIMEOUT_S) is None
    ended = sorted(person_runs_to_the_end(person, 2), key=lambda run: run.ended_at or 0.0)
    assert [run.program for run in ended] == ["child", "Tester"]
    assert {run.ending for run in ended} == {RunEnding.FINISHED}


def person_runs_to_the_end(person: LiveView, count: int) -> list[Run]:
    person.wait_until(lambda _: sum(not run.live for run in person.runs.values()) == count)
    return list(person.runs.values())


@pytest.mark.slow
@both
@pytest.mark.parametrize("error", [AgentStopped, KeyboardInterrupt, ValueError])
def test_leaving_by_an_exception_ends_the_children(
    stepper_kind: str, core: ScriptedCore, error: type[BaseException]
) -> None:
    children: list[Any] = []

    async def scenario(dbg: Any) -> None:
        with redirect_stdout(CollectedOutput()) as heard:
            children.append(await dbg.spawn(make_python_command(FOREVER)))
        await asyncio.to_thread(heard.wait_for_text, "ready")
        raise error("the agent ends")

    with pytest.raises(error):
        run(stepper_kind, core, scenario)
    assert children[0].returncode == -signal.SIGINT


@pytest.mark.slow
def test_a_cell_that_is_interrupted_while_it_waits_to_leave_ends_the_children(
    core: ScriptedCore,
) -> None:
    program = f"""
    with AgentStepper("T", "127.0.0.1", PORT) as dbg:
        dbg.spawn([sys.executable, "-c", {FOREVER!r}])
    """
    with agent(core, program) as process:
        assert process.stdout and process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        assert outcome(process)[0] == -signal.SIGINT
    assert core.wait_for_peer().wait_until_gone().ending is RunEnding.STOPPED  # type: ignore[union-attr]


def test_the_interpreters_exit_ends_what_nobody_waits_for(core: ScriptedCore) -> None:
    program = f"""
    dbg = AgentStepper("T", "127.0.0.1", PORT)
    print(dbg.spawn([sys.executable, "-c", {FOREVER!r}]).pid)
    """
    with agent(core, program) as process:
        code, out, err = outcome(process)
    assert code == 0, err
    with pytest.raises(ProcessLookupError):
        os.kill(int(out.split()[0]), 0)
    assert core.wait_for_peer().wait_until_gone().ending is RunEnding.FINISHED  # type: ignore[union-attr]


SPAWNS = """
import threading
dbg = AgentStepper("parent", "127.0.0.1", PORT, stop_on_entry=False)
thread = threading.Thread(target=lambda: dbg.spawn([sys.executable, "-c", {child!r}]))
thread.start()
thread.join()  # its child doesn't end with it
threading.Event().wait()
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a child of its parent's end")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_killing_the_parent_ends_a_child_at_a_breakpoint(
    live: AgentStepperCore, person: LiveView, number: int
) -> None:
    where: Any = SimpleNamespace(port=live.client_port)
    with agent(where, SPAWNS.format(child=CHILD)) as process:
        person.wait_until_halted()
        assert person.run.program == "child"
        process.send_signal(number)
        runs = person_runs_to_the_end(person, 2)
    assert {run.ending for run in runs} == {RunEnding.CRASHED}


@pytest.mark.slow
def test_a_child_outlives_the_thread_that_started_it(
    live: AgentStepperCore, person: LiveView, capsys: pytest.CaptureFixture[str]
) -> None:
    with AgentStepper("parent", "127.0.0.1", live.client_port, stop_on_entry=False) as dbg:
        started: list[Any] = []
        thread = threading.Thread(
            target=lambda: started.append(dbg.spawn(make_python_command(CHILD)))
        )
        thread.start()
        thread.join()
        person.step("it lives")
        assert started[0].wait(TIMEOUT_S) == 0
    assert capsys.readouterr().out == "it lives\n"


@pytest.mark.slow
def test_a_fork_leaves_the_children_to_its_parent(core: ScriptedCore) -> None:
    program = f"""
    dbg = AgentStepper("T", "127.0.0.1", PORT)
    child = dbg.spawn([sys.executable, "-c", {FOREVER!r}])
    if os.fork() == 0:
        sys.exit(0)  # not by os._exit: what ends children at an exit is run
    os.wait()
    print("runs" if child.returncode is None else "ended")
    child.kill()
    """
    with agent(core, program) as process:
        code, out, err = outcome(process)
    assert code == 0, err
    assert "runs" in out
