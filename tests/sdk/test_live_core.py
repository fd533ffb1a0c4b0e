"""The SDK at a real Core, with a person at the other side."""

from __future__ import annotations

import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from agentstepper_nb import AgentStepper, AgentStepperCore, AgentStopped, ConnectionLostError
from agentstepper_nb.protocol.data_model import (
    AgentActivity,
    EventOutcome,
    EventSide,
    RunEnding,
    RunState,
)
from tests.sdk.both_steppers import both, run
from tests.sdk.person import LiveView
from tests.sdk.processes import agent, outcome
from tests.sdk.scripted_core import TIMEOUT_S


def started(
    pool: ThreadPoolExecutor,
    stepper_kind: str,
    live: AgentStepperCore,
    scenario: Any,
    **options: Any,
) -> Any:
    return pool.submit(
        run, stepper_kind, SimpleNamespace(port=live.client_port), scenario, **options
    )


def test_the_views_port_is_not_the_agents(live: AgentStepperCore) -> None:
    with pytest.raises(
        ConnectionLostError, match=r"Check that this isn't the views' address: agents use another"
    ):
        AgentStepper("lost", port=live.ui_port)


@both
def test_a_run_has_the_agents_notice_from_the_start(
    stepper_kind: str, live: AgentStepperCore, person: LiveView, pool: ThreadPoolExecutor
) -> None:
    async def scenario(dbg: Any) -> None:
        await dbg.begin_llm_query_breakpoint("p")

    working = started(pool, stepper_kind, live, scenario, notice="No sandbox: careful")
    person.step()
    person.wait_until_halted()
    person.resume()
    working.result(TIMEOUT_S)
    assert person.wait_until_ended().notice == "No sandbox: careful"


@both
def test_step_edit_continue_and_halt(
    stepper_kind: str, live: AgentStepperCore, person: LiveView, pool: ThreadPoolExecutor
) -> None:
    same: list[bool] = []
    passed, turn = threading.Event(), threading.Event()

    async def scenario(dbg: Any) -> Any:
        prompt = {"messages": [1.0, 2**70]}
        async with dbg.llm(prompt, model="m") as q:
            same.append(q.prompt is prompt)
            q.response = "an answer"
        async with dbg.tool("write", {"path": "a"}) as t:
            t.result = t.args
        for n in range(3):  # in CONTINUE
            await dbg.begin_llm_query_breakpoint(n)
            await dbg.end_llm_query_breakpoint(n)
        passed.set()
        turn.wait(TIMEOUT_S)
        getattr(dbg, "dbg", dbg)._timeline(TIMEOUT_S)  # by then it has read of the halt, too
        halted = await dbg.begin_llm_query_breakpoint("halted")
        return q.response, t.result, halted

    working = started(pool, stepper_kind, live, scenario)
    person.step()  # the start
    person.step()
    assert person.wait_until_halted()
    person.step({})
    person.step({"Tool": "write", "Argument": {"path": ""}})
    person.wait_until_halted()
    person.resume()
    assert passed.wait(TIMEOUT_S)
    person.halt()
    turn.set()
    person.step(None)
    assert working.result(TIMEOUT_S) == ({}, {"path": ""}, None)
    assert same == [True]
    run = person.wait_until_ended()
    assert (run.ending, run.program, run.can_stop) == (RunEnding.FINISHED, "Tester", True)
    rows = person.list_rows()
    assert [row.edited for row in rows] == [False, False, True, True, *[False] * 7, True, False]
    assert person.get_data(rows[1]) == {"messages": [1.0, 2**70]}
    assert person.get_data(rows[2]) == {}


@both
def test_halted_at_a_tools_end_a_person_sees_its_files(
    stepper_kind: str,
    live: AgentStepperCore,
    person: LiveView,
    pool: ThreadPoolExecutor,
    tmp_path: Path,
) -> None:
    folder = tmp_path / "project"
    folder.mkdir()

    async def scenario(dbg: Any) -> bool:
        async with dbg.tool("write", {}):
            (folder / "new.txt").write_text("new\n")
        made: bool = await dbg.commit_agent_changes("Named")
        return made

    core = SimpleNamespace(port=live.client_port)
    working = pool.submit(run, stepper_kind, core, scenario, agent_workspace_path=folder)
    person.step()
    person.step()
    person.wait_until_halted()
    end = person.list_rows()[-1]
    assert end.side is EventSide.END
    _, snapshot = person.list_commits()
    assert (snapshot.snapshot, snapshot.event, snapshot.seq) == (True, end.event, end.seq - 1)
    assert [(c.path, c.added) for c in snapshot.changes] == [("new.txt", 1)]
    person.step()
    assert working.result(TIMEOUT_S) is True
    assert person.wait_until_ended().commits == 1  # the named one, which covers the snapshot
    assert [commit.title for commit in person.list_commits()[1:]] == ["Add new.txt", "Named"]


@both
def test_an_exception_halts_where_it_is_seen(
    stepper_kind: str, live: AgentStepperCore, person: LiveView, pool: ThreadPoolExecutor
) -> None:
    async def scenario(dbg: Any) -> None:
        async with dbg.tool("divide", {}):
            raise ZeroDivisionError("by zero")

    working = started(pool, stepper_kind, live, scenario)
    person.step()
    person.step()
    person.wait_until_halted()
    row = person.list_rows()[-1]
    assert row.outcome is EventOutcome.ERROR
    assert row.failure is not None
    assert row.failure.message == "by zero"
    person.step()
    with pytest.raises(ZeroDivisionError):
        working.result(TIMEOUT_S)
    run = person.wait_until_ended()
    assert run.ending is RunEnding.CRASHED
    assert run.failure is not None
    assert run.failure.type == "ZeroDivisionError"


@both
def test_stop_ends_the_agent(
    stepper_kind: str, live: AgentStepperCore, person: LiveView, pool: ThreadPoolExecutor
) -> None:
    async def scenario(dbg: Any) -> None:
        while True:
            try:
                async with dbg.llm("p") as q:
                    q.response = "r"
            except Exception:
                pass

    working = started(pool, stepper_kind, live, scenario)
    person.step()
    person.wait_until_halted()
    person.stop()
    with pytest.raises(AgentStopped):
        working.result(TIMEOUT_S)
    run = person.wait_until_ended()
    assert run.ending is RunEnding.STOPPED
    assert [row.outcome for row in person.list_rows()[-2:]] == [EventOutcome.STOPPED] * 2


@both
def test_a_core_that_stops_is_a_lost_connection(
    stepper_kind: str, live: AgentStepperCore, person: LiveView, pool: ThreadPoolExecutor
) -> None:
    async def scenario(dbg: Any) -> None:
        await dbg.begin_llm_query_breakpoint("p")

    where = SimpleNamespace(port=live.client_port)
    working = pool.submit(run, stepper_kind, where, scenario, on_disconnect="raise")
    person.step()
    person.wait_until_halted()
    live.stop()
    with pytest.raises(ConnectionLostError, match="Connection lost"):
        working.result(TIMEOUT_S)


def test_an_interrupt_withdraws(live: AgentStepperCore, person: LiveView) -> None:
    program = """
    with AgentStepper("T", "127.0.0.1", PORT) as dbg:
        try:
            dbg.begin_tool_invocation_breakpoint("t", {})
        except KeyboardInterrupt:
            print("interrupted", dbg.begin_llm_query_breakpoint("p"))
    """
    with agent(SimpleNamespace(port=live.client_port), program) as process:
        person.step()
        first = person.wait_until_halted()
        process.send_signal(signal.SIGINT)
        person.wait_until(lambda run: bool(run.pending) and run.pending[0] != first)
        person.step("q")
        assert outcome(process)[:2] == (0, "interrupted q\n")
    assert person.wait_until_ended().ending is RunEnding.FINISHED


def test_a_killed_agent_has_crashed(live: AgentStepperCore, person: LiveView) -> None:
    program = 'AgentStepper("T", "127.0.0.1", PORT).begin_llm_query_breakpoint("p")'
    with agent(SimpleNamespace(port=live.client_port), program) as process:
        person.step()
        person.wait_until_halted()
        process.kill()
        run = person.wait_until_ended()
    assert (run.ending, run.agent_state) == (RunEnding.CRASHED, AgentActivity.FINISHED)


def test_threads_of_one_agent_pend_together(
    live: AgentStepperCore, person: LiveView, pool: ThreadPoolExecutor
) -> None:
    async def scenario(dbg: Any) -> Any:
        def work(n: int) -> Any:
            with dbg.dbg.llm(n) as q:
                q.response = n
            return q.response

        with ThreadPoolExecutor(5) as threads:
            return list(threads.map(work, range(5)))

    working = started(pool, "sync", live, scenario)
    person.step()
    person.wait_until(lambda run: len(run.pending) == 5)
    person.resume()
    assert working.result(TIMEOUT_S) == [0, 1, 2, 3, 4]
    assert person.wait_until_ended().state is RunState.IDLE
