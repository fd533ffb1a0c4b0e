"""Interrupts, garbage, exits and kills: how a run ends when nobody calls close()."""

from __future__ import annotations

import gc
import signal
import sys
import threading

import pytest

from agentstepper_nb import AgentStepper
from agentstepper_nb.protocol.agent import (
    AgentError,
    Bye,
    HaltPointReached,
    Hello,
    Welcome,
    Withdraw,
)
from agentstepper_nb.protocol.data_model import EventOutcome, RunEnding
from tests.sdk.processes import agent, outcome
from tests.sdk.scripted_core import (
    TIMEOUT_S,
    AgentPeer,
    ScriptedCore,
    answer_all,
    answer_start,
    waiting,
)

#: An agent that waits in an event loop.
ASYNC = """
    import asyncio
    async def main():
        async with AsyncAgentStepper("T", "127.0.0.1", PORT) as dbg:
            await dbg.begin_llm_query_breakpoint("p")
    asyncio.run(main())
    """

#: An exception by which LangGraph waits for a person.
SIGNAL = "type('GraphBubbleUp', (Exception,), {'__module__': 'langgraph.errors'})"


# ---- interrupts -------------------------------------------------------------------------------------


def test_an_interrupt_withdraws_and_the_agent_goes_on(core: ScriptedCore) -> None:
    core.policy = answer_start
    program = """
    with AgentStepper("T", "127.0.0.1", PORT) as dbg:
        for attempt in "begin", "block":
            try:
                if attempt == "begin":
                    dbg.begin_llm_query_breakpoint("p")
                else:
                    with dbg.tool("t", {}):
                        dbg.begin_llm_query_breakpoint("p")
            except KeyboardInterrupt:
                print("interrupted", flush=True)
        print(dbg.begin_llm_query_breakpoint("still usable"))
        print(dbg.end_llm_query_breakpoint("r"))
    """
    with agent(core, program) as process:
        peer = core.wait_for_peer()
        begin = waiting(peer)
        process.send_signal(signal.SIGINT)
        assert peer.receive(Withdraw).halt_point == begin.id
        assert peer.receive(HaltPointReached).outcome is EventOutcome.STOPPED

        outer = waiting(peer)
        peer.answer(outer.id)
        inner = waiting(peer)
        process.send_signal(signal.SIGINT)
        assert peer.receive(Withdraw).halt_point == inner.id
        ends = [peer.receive(HaltPointReached) for _ in range(2)]
        assert [(end.event, end.outcome) for end in ends] == [
            (inner.event, EventOutcome.STOPPED),
            (outer.event, EventOutcome.STOPPED),
        ]
        core.policy = answer_all
        peer.answer(waiting(peer).id)
        peer_end = waiting(peer)
        code, out, err = outcome(process)
    assert (code, out.split("\n")) == (
        0,
        ["interrupted", "interrupted", "still usable", "r", ""],
    ), err
    assert peer_end.outcome is EventOutcome.OK
    assert peer.wait_until_gone() == Bye(ending=RunEnding.FINISHED)


def test_an_interrupt_at_the_start_ends_the_run(core: ScriptedCore) -> None:
    core.policy = lambda peer, point: None
    with agent(core, 'AgentStepper("T", "127.0.0.1", PORT)') as process:
        peer = core.wait_for_peer()
        start = peer.receive(HaltPointReached)
        process.send_signal(signal.SIGINT)
        assert peer.receive(Withdraw).halt_point == start.id
        code, _, err = outcome(process)
    assert code == -signal.SIGINT
    assert "KeyboardInterrupt" in err
    assert peer.wait_until_gone() == Bye(ending=RunEnding.STOPPED)


@pytest.mark.parametrize("stepper_kind", ["sync", "async"])
def test_an_interrupt_before_the_welcome_says_bye_once(stepper_kind: str) -> None:
    program = f"""
    import asyncio
    try:
        if "{stepper_kind}" == "sync":
            AgentStepper("T", "127.0.0.1", PORT)
        else:
            asyncio.run(AsyncAgentStepper.connect("T", "127.0.0.1", PORT))
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    """
    with HeldWelcomeCore() as core, agent(core, program) as process:
        assert core.greeted.wait(TIMEOUT_S)
        process.send_signal(signal.SIGINT)
        assert process.stdout is not None and process.stdout.readline() == "interrupted\n"
        core.let.set()
        code, _, err = outcome(process)
        peer = core.wait_for_peer()
        peer.wait_until_gone()
    assert (code, err) == (0, "")
    assert peer.received == [Bye(ending=RunEnding.STOPPED)]


class HeldWelcomeCore(ScriptedCore):
    """A Core that answers hello once the test lets it."""

    def __init__(self) -> None:
        super().__init__()
        self.greeted, self.let = threading.Event(), threading.Event()

    def _answer_hello(self, hello: Hello) -> Welcome | AgentError:
        self.greeted.set()
        assert self.let.wait(TIMEOUT_S)
        return super()._answer_hello(hello)


def test_an_interrupt_of_asyncio_run(core: ScriptedCore) -> None:
    core.policy = answer_start
    with agent(core, ASYNC) as process:
        peer = core.wait_for_peer()
        point = waiting(peer)
        process.send_signal(signal.SIGINT)
        assert peer.receive(Withdraw).halt_point == point.id
        code, _, err = outcome(process)
    assert code == -signal.SIGINT, err
    assert peer.wait_until_gone() == Bye(ending=RunEnding.STOPPED)


def test_an_interrupt_that_does_not_wake_the_event_loop_is_heard(core: ScriptedCore) -> None:
    """As one that comes just before it falls asleep: here another thread gets the signal."""
    core.policy = answer_start
    program = """
    import signal, threading
    def interrupt():
        sys.stdin.readline()
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)
    threading.Thread(target=interrupt, daemon=True).start()
    """
    with agent(core, program + ASYNC) as process:
        peer = core.wait_for_peer()
        point = waiting(peer)
        assert process.stdin is not None
        process.stdin.write("now\n")
        process.stdin.flush()
        assert peer.receive(Withdraw).halt_point == point.id


# ---- garbage and exits ------------------------------------------------------------------------------


def test_garbage_collection_ends_the_run(core: ScriptedCore) -> None:
    dbg = AgentStepper("T", "127.0.0.1", core.port)
    peer = core.wait_for_peer()
    del dbg
    gc.collect()
    assert peer.wait_until_gone() == Bye(ending=RunEnding.FINISHED)


def test_a_cycle_of_garbage_ends_the_run(core: ScriptedCore) -> None:
    dbg = AgentStepper("T", "127.0.0.1", core.port)
    peer = core.wait_for_peer()

    @dbg.traced_tool
    def tool() -> None: ...

    dbg.itself = (dbg, tool)
    del dbg, tool
    gc.collect()
    assert peer.wait_until_gone() == Bye(ending=RunEnding.FINISHED)


@pytest.mark.parametrize(
    ("last", "code", "ending"),
    [
        ("pass", 0, RunEnding.FINISHED),
        ("sys.exit(0)", 0, RunEnding.FINISHED),
        ("raise ValueError('a bug')", 1, RunEnding.CRASHED),
        ("raise KeyboardInterrupt", -signal.SIGINT, RunEnding.STOPPED),
        (f"raise {SIGNAL}", 1, RunEnding.FINISHED),
    ],
)
def test_leaving_the_interpreter_ends_the_run(
    core: ScriptedCore, last: str, code: int, ending: RunEnding
) -> None:
    program = f"""
    dbg = AgentStepper("T", "127.0.0.1", PORT)
    keep = [dbg]
    dbg.post_debug_message("the last words")
    {last}
    """
    with agent(core, program) as process:
        returned, _, err = outcome(process)
    peer = core.wait_for_peer()
    bye = peer.wait_until_gone()
    assert returned == code, err
    assert bye is not None
    assert bye.ending is ending
    assert bytes(peer.events[-1].data) == b'"the last words"'


@pytest.mark.slow
def test_a_thread_at_a_breakpoint_does_not_keep_the_agent_from_exiting(core: ScriptedCore) -> None:
    core.policy = answer_start
    program = """
    import threading
    dbg = AgentStepper("T", "127.0.0.1", PORT)
    threading.Thread(target=dbg.begin_llm_query_breakpoint, args=["p"], daemon=True).start()
    sys.stdin.readline()
    """
    import subprocess

    from tests.sdk.processes import PRELUDE

    process = subprocess.Popen(
        [sys.executable, "-c", PRELUDE + program.replace("\n    ", "\n"), str(core.port)],
        stdin=subprocess.PIPE,
        text=True,
    )
    peer = core.wait_for_peer()
    waiting(peer)
    process.communicate("go\n", timeout=60)
    assert process.returncode == 0
    assert peer.wait_until_gone() == Bye(ending=RunEnding.FINISHED)


@pytest.mark.slow
def test_a_core_that_reads_nothing_does_not_keep_the_agent_from_exiting(
    core: ScriptedCore,
) -> None:
    """The Core's process hangs: here its thread does, in the policy."""
    import threading

    hang = threading.Event()

    def policy(peer: AgentPeer, point: HaltPointReached) -> object:
        if not point.summary:
            hang.wait(60)
        return answer_all(peer, point)

    core.policy = policy
    program = """
    import threading, time
    dbg = AgentStepper("T", "127.0.0.1", PORT)
    big = "x" * 1_000_000
    threading.Thread(target=dbg.begin_llm_query_breakpoint, args=["p"], daemon=True).start()
    for _ in range(50):  # more than its library reads ahead, and than sockets hold
        threading.Thread(target=dbg.begin_llm_query_breakpoint, args=[big], daemon=True).start()
    # One that came after the end would print its error while the interpreter goes down.
    while len(dbg._current_session().link._waiting) < 51:
        time.sleep(0.01)
    """
    with agent(core, program) as process:
        code, _, err = outcome(process)
        hang.set()
    assert code == 0, err


def test_daemon_threads_that_wait_at_the_exit_say_nothing(core: ScriptedCore) -> None:
    """Their errors, printed while the interpreter goes down, could abort it."""
    core.policy = answer_start
    program = """
    import threading, time
    dbg = AgentStepper("T", "127.0.0.1", PORT)
    for _ in range(20):
        threading.Thread(target=dbg.begin_llm_query_breakpoint, args=["p"], daemon=True).start()
    while len(dbg._current_session().link._waiting) < 20:
        time.sleep(0.01)
    """
    with agent(core, program) as process:
        assert outcome(process) == (0, "", "")


def test_kill_9_is_a_closed_connection_without_a_goodbye(core: ScriptedCore) -> None:
    core.policy = answer_start
    with agent(
        core, 'AgentStepper("T", "127.0.0.1", PORT).begin_llm_query_breakpoint("p")'
    ) as process:
        peer = core.wait_for_peer()
        waiting(peer)
        process.kill()
        assert peer.wait_until_gone() is None
