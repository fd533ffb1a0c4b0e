"""Runs that outlive their Core: each row of docs/design/0009-resume.md, through both AgentSteppers."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from agentstepper_nb.protocol.agent import HaltPointReached
from agentstepper_nb.protocol.answers import ResumeAnswer
from agentstepper_nb.protocol.data_model import EventKind
from tests.sdk.both_steppers import both
from tests.sdk.resume.agents import FINISHED, ThreadAgent, make_welcome, query, type_names
from tests.sdk.scripted_core import TIMEOUT_S, AgentPeer, ScriptedCore, make_edit_answer, waiting

# ---- wait ------------------------------------------------------------------------------------------


@both
def test_at_a_breakpoint_it_waits_and_is_answered_on_the_next_connection(
    agent: ThreadAgent, core: ScriptedCore
) -> None:
    working = agent.run(query)
    first = core.wait_for_peer()
    point = waiting(first)
    core.stop()
    core.start()
    second = core.wait_for_peer()
    assert first.hello is not None
    assert second.hello is not None
    assert (second.hello.run, second.hello.secret) == (first.hello.run, first.hello.secret)
    # The start and its halt point, the query and its halt point: numbers 2 to 5.
    assert (second.hello.sent, second.hello.waiting) == (5, (point.id,))
    assert first.hello.sent == 0
    second.answer(point.id, make_edit_answer('"edited"'))
    assert working.result(TIMEOUT_S) == "edited"
    assert second.wait_until_gone() == FINISHED
    assert type_names(core.received[first.hello.run]) == [
        *("EventBegun", "HaltPointReached") * 2,
        "Bye",
    ]


@both
def test_elsewhere_it_goes_on_and_waits_at_the_next_breakpoint(
    agent: ThreadAgent, core: ScriptedCore
) -> None:
    said = threading.Event()

    async def scenario(dbg: Any) -> Any:
        await agent.wait_for_step(0)
        for n in range(50):
            await dbg.post_debug_message(str(n))
        said.set()
        return await dbg.begin_llm_query_breakpoint("p")

    working = agent.run(scenario)
    first = core.wait_for_peer()
    first.receive(HaltPointReached)
    core.stop()
    agent.release_step()
    assert said.wait(TIMEOUT_S), "nothing of it needs a Core"
    core.start()
    second = core.wait_for_peer()
    second.answer(waiting(second).id)
    assert working.result(TIMEOUT_S) == "p"
    assert second.wait_until_gone() == FINISHED
    said_at_last = [event for event in second.events if event.kind is EventKind.DEBUG_MESSAGE]
    assert [bytes(event.data) for event in said_at_last] == [b'"%d"' % n for n in range(50)]  # type: ignore[arg-type]


@both
def test_every_wait_of_a_run_goes_on(agent: ThreadAgent, core: ScriptedCore) -> None:
    async def scenario(dbg: Any) -> Any:
        sync = getattr(dbg, "dbg", None)
        if sync is None:
            return await asyncio.gather(*(query(dbg) for _ in range(5)))
        with ThreadPoolExecutor(5) as threads:
            return list(threads.map(sync.begin_llm_query_breakpoint, "ppppp"))

    working = agent.run(scenario)
    first = core.wait_for_peer()
    points = [waiting(first).id for _ in range(5)]
    first.break_connection()
    second = core.wait_for_peer()
    assert second.hello is not None
    assert sorted(second.hello.waiting) == sorted(points)
    for point in points:
        second.answer(point)
    assert working.result(TIMEOUT_S) == list("ppppp")


@both
def test_it_may_happen_again_and_again(agent: ThreadAgent, core: ScriptedCore) -> None:
    async def scenario(dbg: Any) -> Any:
        return [await dbg.begin_llm_query_breakpoint(n) for n in range(10)]

    def drop_first(peer: AgentPeer, point: HaltPointReached) -> ResumeAnswer | None:
        if point.id in dropped or point.summary:
            return ResumeAnswer()
        dropped.add(point.id)
        core.answers[point.id] = ResumeAnswer()
        peer.break_connection()
        return None

    dropped: set[str] = set()
    core.policy = drop_first
    assert agent.run(scenario).result(TIMEOUT_S) == list(range(10))
    assert len(dropped) == 10


# ---- where the Core died ---------------------------------------------------------------------------


@both
def test_before_the_commit_the_message_is_sent_again(
    agent: ThreadAgent, core: ScriptedCore
) -> None:
    core.acknowledges = False
    working = agent.run(query)
    first = core.wait_for_peer()
    point = waiting(first)
    assert first.hello is not None
    run = first.hello.run
    core.stop()
    core.received_counts[run] -= 2  # the query and its halt point
    del core.received[run][-2:]
    core.start()
    second = core.wait_for_peer()
    again = waiting(second)
    assert again == point
    core.acknowledges = True
    second.answer(point.id)
    assert working.result(TIMEOUT_S) == "p"
    second.wait_until_gone()
    assert type_names(core.received[run]) == [*("EventBegun", "HaltPointReached") * 2, "Bye"]


@both
def test_after_the_commit_before_acknowledging_nothing_is_sent_again(
    agent: ThreadAgent, core: ScriptedCore
) -> None:
    core.acknowledges = False
    working = agent.run(query)
    first = core.wait_for_peer()
    point = waiting(first)
    first.break_connection()
    second = core.wait_for_peer()
    assert second.hello is not None
    assert second.hello.acknowledged == 1, "what the welcome said"
    core.acknowledges = True
    second.answer(point.id)
    assert working.result(TIMEOUT_S) == "p"
    assert second.wait_until_gone() == FINISHED
    assert type_names(second.received) == ["Bye"]


@both
def test_after_the_answer_was_recorded_it_is_given_again(
    agent: ThreadAgent, core: ScriptedCore
) -> None:
    working = agent.run(query)
    first = core.wait_for_peer()
    core.answers[waiting(first).id] = make_edit_answer('"kept"')
    first.break_connection()
    assert working.result(TIMEOUT_S) == "kept"


@both
def test_a_core_that_lost_what_it_promised(
    agent: ThreadAgent, core: ScriptedCore, caplog: pytest.LogCaptureFixture
) -> None:
    working = agent.run(query)
    first = core.wait_for_peer()
    point = waiting(first)
    core.stop()
    core.welcome = make_welcome(received=3)
    core.start()
    second = core.wait_for_peer()
    second.answer(point.id)
    assert working.result(TIMEOUT_S) == "p"
    assert second.wait_until_gone() == FINISHED
    assert "The Core lost messages 4 to 5 of this run" in caplog.text


@both
def test_a_core_that_knew_nothing_yet_is_told_all(agent: ThreadAgent, core: ScriptedCore) -> None:
    core.acknowledges = False
    core.welcome = make_welcome(received=0)
    working = agent.run(query)
    first = core.wait_for_peer()
    waiting(first)
    core.stop()
    core.welcome = None
    core.forget_runs()
    core.start()
    refused, second = core.wait_for_peer(), core.wait_for_peer()
    assert refused.hello is not None
    assert second.hello is not None
    assert (refused.hello.sent, second.hello.sent) == (5, 0)
    core.acknowledges = True
    second.answer(waiting(second).id)
    assert working.result(TIMEOUT_S) == "p"
    second.wait_until_gone()
    assert type_names(second.received) == [*("EventBegun", "HaltPointReached") * 2, "Bye"]
