"""Connections that don't come about, and connections that are lost."""

from __future__ import annotations

import os
import socket
import threading
import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from agentstepper_nb import AgentStepper, ConnectionLostError, ProtocolError
from agentstepper_nb.protocol.agent import AgentError, Bye, EventBegun, HaltPointReached
from agentstepper_nb.protocol.data_model import EventKind, RunEnding
from agentstepper_nb.sdk.connection_state import LinkLimits
from agentstepper_nb.sdk.halt_flow import HaltFlow
from agentstepper_nb.sdk.payload import PayloadEncoder
from agentstepper_nb.sdk.wire_versions import WireVersion2
from tests.sdk.both_steppers import both, run
from tests.sdk.scripted_core import TIMEOUT_S, ScriptedCore, answer_all


async def query(dbg: Any) -> Any:
    return await dbg.begin_llm_query_breakpoint("p")


# ---- losing, for good --------------------------------------------------------------------------------


@both
def test_lost_while_waiting_and_for_good(stepper_kind: str, core: ScriptedCore) -> None:
    async def scenario(dbg: Any) -> None:
        with pytest.raises(ConnectionLostError, match="Connection lost"):
            await dbg.begin_llm_query_breakpoint("p")
        for call in (
            dbg.begin_llm_query_breakpoint,
            dbg.post_debug_message,
            dbg.end_llm_query_breakpoint,
        ):
            with pytest.raises(ConnectionError, match="Start the agent again"):
                await call("x")

    core.policy = lambda peer, point: (
        answer_all(peer, point) if point.summary else peer.break_connection()
    )
    run(stepper_kind, core, scenario, on_disconnect="raise")


@both
def test_lost_inside_a_block_does_not_hide_its_error(stepper_kind: str, core: ScriptedCore) -> None:
    async def scenario(dbg: Any) -> None:
        async with dbg.tool("t", {}):
            peer = core.wait_for_peer()
            peer.break_connection()
            peer.wait_until_gone()
            raise LookupError("the block's own")

    with pytest.raises(LookupError, match="the block's own"):
        run(stepper_kind, core, scenario, on_disconnect="raise")


def test_every_waiting_thread_hears_of_it(core: ScriptedCore) -> None:
    core.policy = lambda peer, point: answer_all(peer, point) if point.summary else None

    def wait(dbg: AgentStepper, n: int) -> str:
        with pytest.raises(ConnectionLostError) as caught:
            dbg.begin_llm_query_breakpoint(n)
        return str(caught.value)

    with (
        AgentStepper("T", "127.0.0.1", core.port, on_disconnect="raise") as dbg,
        ThreadPoolExecutor(8) as pool,
    ):
        results = [pool.submit(wait, dbg, n) for n in range(8)]
        peer = core.wait_for_peer()
        for _ in range(9):
            peer.receive(HaltPointReached)
        peer.break_connection()
        assert len({result.result(TIMEOUT_S) for result in results}) == 1


@both
@pytest.mark.parametrize(
    ("code", "said"),
    [
        (1009, "larger than the Core accepts"),
        (1001, "1001 going away"),
        (1000, "1000"),
        (4000, "4000 bye"),
    ],
)
def test_why_it_was_closed(stepper_kind: str, code: int, said: str, core: ScriptedCore) -> None:
    def policy(peer: Any, point: Any) -> Any:
        if point.summary:
            return answer_all(peer, point)
        peer.socket.close(code, {1001: "going away", 4000: "bye"}.get(code, ""))
        return None

    core.policy = policy
    with pytest.raises(ConnectionLostError, match=said):
        run(stepper_kind, core, query, on_disconnect="raise")


def test_a_message_larger_than_the_core_takes() -> None:
    with ScriptedCore(max_size=100_000) as core, pytest.raises(ConnectionLostError, match="larger"):
        run("sync", core, _ask_much)


async def _ask_much(dbg: Any) -> None:
    await dbg.begin_llm_query_breakpoint("x" * 200_000)


@both
def test_a_value_above_the_limit_is_shown_in_part_and_the_run_goes_on(
    stepper_kind: str, core: ScriptedCore
) -> None:
    large = "x" * (65 * 1024 * 1024)

    async def scenario(dbg: Any) -> None:
        assert await dbg.begin_llm_query_breakpoint(large) is large

    run(stepper_kind, core, scenario)
    peer = core.wait_for_peer()
    peer.wait_until_gone()
    assert len(bytes(peer.halt_points[1].data)) < 10_000


@both
def test_a_refused_breakpoint_does_not_wait_for_ever(stepper_kind: str, core: ScriptedCore) -> None:
    def policy(peer: Any, point: HaltPointReached) -> Any:
        if point.summary:
            return answer_all(peer, point)
        error = AgentError(code="event_ended", message="It has ended.", n=len(peer.received) + 1)
        peer.send(error)
        return None

    core.policy = policy

    async def scenario(dbg: Any) -> None:
        with pytest.raises(ProtocolError, match="It has ended"):
            await dbg.begin_llm_query_breakpoint("p")
        core.policy = answer_all
        assert await dbg.begin_llm_query_breakpoint("q") == "q"

    run(stepper_kind, core, scenario)


def test_a_refusal_without_a_number_is_the_only_waiting_one_s(core: ScriptedCore) -> None:
    def policy(peer: Any, point: HaltPointReached) -> Any:
        if point.summary:
            return answer_all(peer, point)
        peer.send(AgentError(code="malformed", message="Unreadable."))
        return None

    core.policy = policy
    with pytest.raises(ProtocolError, match="Unreadable"):
        run("sync", core, query)


def test_answers_that_nobody_waits_for_are_passed_over(core: ScriptedCore) -> None:
    with AgentStepper("T", "127.0.0.1", core.port) as dbg:
        peer = core.wait_for_peer()
        peer.answer("01234567-0000-7000-8000-000000000000")
        peer.send(AgentError(code="stale", message="?", n=1))
        assert dbg.begin_llm_query_breakpoint("p") == "p"


def test_an_unreadable_answer_ends_the_connection(core: ScriptedCore) -> None:
    def policy(peer: Any, point: HaltPointReached) -> Any:
        if point.summary:
            return answer_all(peer, point)
        peer.socket.send("not JSON")
        return None

    core.policy = policy
    with pytest.raises(ConnectionLostError, match="doesn't have the form"):
        run("sync", core, query)


# ---- closing ----------------------------------------------------------------------------------------


@both
def test_close_twice_and_then_call(stepper_kind: str, core: ScriptedCore) -> None:
    async def scenario(dbg: Any) -> None:
        await dbg.close()
        await dbg.close()
        with pytest.raises(ConnectionLostError, match="is closed"):
            await dbg.begin_llm_query_breakpoint("p")
        with pytest.raises(ConnectionLostError, match="is closed"):
            await dbg.post_debug_message("m")

    run(stepper_kind, core, scenario)
    assert core.wait_for_peer().wait_until_gone() == Bye(ending=RunEnding.FINISHED)


def test_closing_frees_the_threads_that_wait(core: ScriptedCore) -> None:
    core.policy = lambda peer, point: answer_all(peer, point) if point.summary else None
    with AgentStepper("T", "127.0.0.1", core.port) as dbg, ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(dbg.begin_llm_query_breakpoint, "p")
        core.wait_for_peer().receive(EventBegun)
        dbg.close()
        assert isinstance(waiting.exception(TIMEOUT_S), ConnectionLostError)


def test_messages_sent_before_close_arrive(core: ScriptedCore) -> None:
    with AgentStepper("T", "127.0.0.1", core.port) as dbg:
        for n in range(200):
            dbg.post_debug_message(str(n))
    peer = core.wait_for_peer()
    peer.wait_until_gone()
    assert [bytes(e.data) for e in peer.events[1:]] == [b'"%d"' % n for n in range(200)]


@both
def test_a_core_that_does_not_let_go_is_cut_off(stepper_kind: str, core: ScriptedCore) -> None:
    hang = threading.Event()

    def policy(peer: Any, point: HaltPointReached) -> Any:
        if not point.summary:
            hang.wait(TIMEOUT_S)
        return answer_all(peer, point)

    core.policy = policy

    async def scenario(dbg: Any) -> Any:
        stepper = getattr(dbg, "dbg", dbg)
        link = stepper._current_session().link
        point = HaltFlow(stepper.run_id, "T", PayloadEncoder()).begin(
            EventKind.LLM_QUERY, "x" * 30_000_000
        )
        ask = next(point)
        link.request_answer(ask.messages, ask.halt_point)
        point.close()
        await dbg.close()
        return link

    link = run(stepper_kind, core, scenario, LinkLimits(close_timeout_s=0.1))
    link.closed.result(TIMEOUT_S)
    hang.set()


def test_a_goodbye_in_a_garbage_collection_takes_no_lock(core: ScriptedCore) -> None:
    """It may run on any thread, also on one that holds the link's lock."""
    dbg = AgentStepper("T", "127.0.0.1", core.port)
    session = dbg._current_session()
    with ThreadPoolExecutor(1) as other, session.link._halt_lease._lock:
        closed = other.submit(session.finish).result(TIMEOUT_S)
        assert closed is not None
        closed.result(TIMEOUT_S)


def test_what_can_t_be_written_is_a_lost_connection(
    core: ScriptedCore, monkeypatch: pytest.MonkeyPatch
) -> None:
    with AgentStepper("T", "127.0.0.1", core.port) as dbg:

        def broken(*args: Any) -> str:
            raise RuntimeError("a bug")

        monkeypatch.setattr(WireVersion2, "encode", broken)
        with pytest.raises(ConnectionLostError):
            dbg.begin_llm_query_breakpoint("p")


def test_what_is_to_be_done_at_the_end_is_done_once_and_errors_are_logged(
    core: ScriptedCore, caplog: pytest.LogCaptureFixture
) -> None:
    done: list[str] = []

    def fail() -> None:
        raise OSError("a bug")

    with AgentStepper("T", "127.0.0.1", core.port) as dbg:
        link = dbg._current_session().link
        link.add_end_callback(fail)
        link.add_end_callback(lambda: done.append("at the end"))
    link.add_end_callback(lambda: done.append("after it"))
    assert done == ["at the end", "after it"]
    assert "Cleaning up after a run failed" in caplog.text


def test_hello_names_the_process(core: ScriptedCore) -> None:
    with AgentStepper("T", "127.0.0.1", core.port) as dbg:
        hello = core.wait_for_peer().hello
    assert hello is not None
    assert (hello.pid, hello.host) == (os.getpid(), socket.gethostname())
    assert hello.version == 2
    assert len(hello.secret) >= 32
    assert uuid.UUID(hello.run).version == 7
    assert "T" in repr(dbg)
