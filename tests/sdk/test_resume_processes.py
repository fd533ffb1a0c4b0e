"""Agents in processes of their own whose Core goes away: interrupts, exits, forks, another port."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from agentstepper_nb.protocol.agent import Bye, HaltPointReached, ProcessEnded, Withdraw
from agentstepper_nb.protocol.data_model import EventOutcome, RunEnding
from tests.helpers.core_announcement import announce
from tests.sdk.both_steppers import both, run
from tests.sdk.child_programs import make_python_command
from tests.sdk.processes import agent, outcome
from tests.sdk.resume.agents import wait_for_log
from tests.sdk.scripted_core import TIMEOUT_S, ScriptedCore, answer_start, waiting

FINISHED = Bye(ending=RunEnding.FINISHED)
AWAY = "Connection lost to the Core at"


@pytest.fixture
def core() -> Iterator[ScriptedCore]:
    with ScriptedCore(answer_start) as core:
        yield core


# ---- interrupts --------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", ["wait", "raise"])
def test_an_interrupt_ends_the_wait_for_a_core_that_is_away(
    core: ScriptedCore, policy: str
) -> None:
    program = f"""
    with AgentStepper("T", "127.0.0.1", PORT, on_disconnect={policy!r}) as dbg:
        try:
            dbg.begin_llm_query_breakpoint("p")
        except (KeyboardInterrupt, ConnectionLostError) as error:
            print(type(error).__name__, flush=True)
        sys.stdin.readline()
    """
    with agent(core, program) as process:
        point = waiting(core.wait_for_peer())
        core.stop()
        assert process.stdout is not None
        assert process.stderr is not None
        if policy == "raise":
            assert process.stdout.readline() == "ConnectionLostError\n"
            core.start()
            return
        assert AWAY in process.stderr.readline(), "a person in a terminal is told"
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == "KeyboardInterrupt\n"
        core.start()
        second = core.wait_for_peer()
        assert second.receive(Withdraw).halt_point == point.id
        assert second.receive(HaltPointReached).outcome is EventOutcome.STOPPED
        assert "is back at" in process.stderr.readline()


# ---- exits -------------------------------------------------------------------------------------------


#: Ends the runs before the interpreter's exit does, with less patience.
SHORT = """
import atexit
from agentstepper_nb.sdk.run_session import finish_all_runs
atexit.register(finish_all_runs, timeout_s=0.1, disconnected_timeout_s=0.3)
"""
AT_THE_EXIT = """
import threading
dbg = AgentStepper("T", "127.0.0.1", PORT)
threading.Thread(target=dbg.begin_llm_query_breakpoint, args=["p"], daemon=True).start()
sys.stdin.readline()
"""


def test_an_exit_says_goodbye_to_a_core_that_comes_back(core: ScriptedCore) -> None:
    with agent(core, AT_THE_EXIT) as process:
        waiting(core.wait_for_peer())
        core.stop()
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
        core.start()
        code, _, err = outcome(process)
        assert (code, "delivered" in err) == (0, False), err
        assert core.wait_for_peer().wait_until_gone() == FINISHED


def test_an_exit_gives_up_and_says_what_is_lost(core: ScriptedCore) -> None:
    with agent(core, SHORT + AT_THE_EXIT) as process:
        peer = core.wait_for_peer()
        waiting(peer)
        assert peer.hello is not None
        core.stop()
        code, _, err = outcome(process)
        assert code == 0
        # Why it isn't there is known once an attempt has failed, if there was time for one.
        why = r"(No Core listens at|the Core at \S+ doesn't answer)"
        assert re.search(f"1 message of run {peer.hello.run} wasn't delivered: {why}", err), err
        assert "Traceback" not in err
        core.start()


# ---- forks -------------------------------------------------------------------------------------------

FORKS = """
dbg = AgentStepper("T", "127.0.0.1", PORT, stop_on_entry=False, on_disconnect=sys.argv[2])
sys.stdin.readline()
pid = os.fork()
if pid == 0:
    print(dbg.begin_llm_query_breakpoint("of the child"), flush=True)
    sys.stdin.readline()  # who says goodbye is told nothing any more but what wasn't delivered
    sys.exit(0)
os.waitpid(pid, 0)
dbg.close()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
@pytest.mark.parametrize("policy", ["wait", "continue"])
def test_a_forked_child_whose_core_is_away(core: ScriptedCore, policy: str) -> None:
    with agent(core, FORKS, policy) as process:
        parent = core.wait_for_peer()
        assert parent.hello is not None
        parent.receive(HaltPointReached)
        core.stop()
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write("go\n")
        process.stdin.flush()
        if policy == "continue":
            assert process.stdout.readline() == "of the child\n"
        told = [process.stderr.readline() for _ in range(2)]
        assert [AWAY in line for line in told] == [True, True], told
        core.start()
        peers = [core.wait_for_peer(), core.wait_for_peer()]
        child = next(p for p in peers if p.hello and p.hello.run != parent.hello.run)
        assert child.hello is not None
        assert (child.hello.sent, child.hello.program) == (0, f"T (child {child.hello.pid})")
        if policy == "wait":
            child.answer(waiting(child).id)
            assert process.stdout.readline() == "of the child\n"
        process.stdin.write("end\n")
        process.stdin.flush()
        assert child.wait_until_gone() == FINISHED
        assert [point.waits for point in child.halt_points] == [False, policy == "wait"]
        assert outcome(process)[0] == 0


# ---- another port ------------------------------------------------------------------------------------


@both
def test_a_core_with_the_same_token_is_found_on_another_port(stepper_kind: str) -> None:
    with ScriptedCore(answer_start, token="ours") as core, ThreadPoolExecutor(1) as pool:

        async def scenario(dbg: Any) -> Any:
            return await dbg.begin_llm_query_breakpoint("p"), dbg

        working = pool.submit(run, stepper_kind, core, scenario, token="ours")
        point = waiting(core.wait_for_peer())
        core.stop()
        core.start(port=0)
        announce(core.url, agent="ours")
        second = core.wait_for_peer()
        second.answer(point.id)
        value, dbg = working.result(TIMEOUT_S)
        assert value == "p"
        assert getattr(dbg, "dbg", dbg)._current_session().endpoint.url == core.url, (
            "children find it there"
        )


@pytest.mark.parametrize("ours_is_back", ["before", "after"])
def test_a_core_of_somebody_else_is_not_ours(
    ours_is_back: str, caplog: pytest.LogCaptureFixture
) -> None:
    """It has the port by now: that it refuses us is no refusal by our Core, wherever that will be."""
    with (
        ScriptedCore(answer_start, token="ours") as core,
        ScriptedCore(token="theirs") as foreign,
        ThreadPoolExecutor(1) as pool,
    ):
        working = pool.submit(run, "sync", core, _ask, token="ours")
        point = waiting(core.wait_for_peer())
        port = core.port
        core.stop()
        foreign.stop()
        if ours_is_back == "after":
            foreign.start(port)
            wait_for_log(caplog, "Connection lost to the Core at")
        core.start(port=0)
        announce(core.url, agent="ours")
        if ours_is_back == "before":
            foreign.start(port)
        core.wait_for_peer().answer(point.id)
        assert working.result(TIMEOUT_S) == "p"
        assert foreign.peers == []


async def _ask(dbg: Any) -> Any:
    return await dbg.begin_llm_query_breakpoint("p")


# ---- children ----------------------------------------------------------------------------------------


@both
@pytest.mark.parametrize(
    ("program", "code"),
    [("raise SystemExit(3)", 3), ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", -9)],
)
def test_the_parent_tells_how_a_child_ended(
    stepper_kind: str, core: ScriptedCore, program: str, code: int
) -> None:
    async def scenario(dbg: Any) -> int:
        child = await dbg.spawn(make_python_command(program))
        return int(child.pid)

    pid = run(stepper_kind, core, scenario)
    peer = core.wait_for_peer()
    assert peer.wait_until_gone() == FINISHED
    assert peer.received[-2:] == [ProcessEnded(pid=pid, code=code), FINISHED]
