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
from tests.sdk.resume.agents import FINISHED, Agent, ask, kinds, welcome
from tests.sdk.scripted_core import TIMEOUT_S, Peer, ScriptedCore, edit, waiting

# ---- wait ------------------------------------------------------------------------------------------


@both
def test_at_a_breakpoint_it_waits_and_is_answered_on_the_next_connection(
    agent: Agent, core: ScriptedCore
) -> None:
    working = agent.run(ask)
    first = core.peer()
    point = waiting(first)
    core.stop()
    core.start()
    second = core.peer()
    assert first.hello is not None
    assert second.hello is not None
    assert (second.hello.run, second.hello.secret) == (first.hello.run, first.hello.secret)
    # The start and its halt point, the query and its halt point: numbers 2 to 5.
    assert (second.hello.sent, second.hello.waiting) == (5, (point.id,))
    assert first.hello.sent == 0
    second.answer(point.id, edit('"edited"'))
    assert working.result(TIMEOUT_S) == "edited"
    assert second.ends() == FINISHED
    assert kinds(core.kept[first.hello.run]) == [
        *("EventBegun", "HaltPointReached") * 2,
        "Bye",
    ]


@both
def test_elsewhere_it_goes_on_and_waits_at_the_next_breakpoint(
    agent: Agent, core: ScriptedCore
) -> None:
    said = threading.Event()

    async def scenario(dbg: Any) -> Any:
        await agent.step(0)
        for n in range(50):
            await dbg.post_debug_message(str(n))
        said.set()
        return await dbg.begin_llm_query_breakpoint("p")

    working = agent.run(scenario)
    first = core.peer()
    first.next(HaltPointReached)
    core.stop()
    agent.go()
    assert said.wait(TIMEOUT_S), "nothing of it needs a Core"
    core.start()
    second = core.peer()
    second.answer(waiting(second).id)
    assert working.result(TIMEOUT_S) == "p"
    assert second.ends() == FINISHED
    said_at_last = [event for event in second.events if event.kind is EventKind.DEBUG_MESSAGE]
    assert [bytes(event.data) for event in said_at_last] == [b'"%d"' % n for n in range(50)]  # type: ignore[arg-type]


@both
def test_every_wait_of_a_run_goes_on(agent: Agent, core: ScriptedCore) -> None:
    async def scenario(dbg: Any) -> Any:
        sync = getattr(dbg, "dbg", None)
        if sync is None:
            return await asyncio.gather(*(ask(dbg) for _ in range(5)))
        with ThreadPoolExecutor(5) as threads:
            return list(threads.map(sync.begin_llm_query_breakpoint, "ppppp"))

    working = agent.run(scenario)
    first = core.peer()
    points = [waiting(first).id for _ in range(5)]
    first.drop()
    second = core.peer()
    assert second.hello is not None
    assert sorted(second.hello.waiting) == sorted(points)
    for point in points:
        second.answer(point)
    assert working.result(TIMEOUT_S) == list("ppppp")


@both
def test_it_may_happen_again_and_again(agent: Agent, core: ScriptedCore) -> None:
    async def scenario(dbg: Any) -> Any:
        return [await dbg.begin_llm_query_breakpoint(n) for n in range(10)]

    def drop_first(peer: Peer, point: HaltPointReached) -> ResumeAnswer | None:
        if point.id in dropped or point.summary:
            return ResumeAnswer()
        dropped.add(point.id)
        core.answers[point.id] = ResumeAnswer()
        peer.drop()
        return None

    dropped: set[str] = set()
    core.policy = drop_first
    assert agent.run(scenario).result(TIMEOUT_S) == list(range(10))
    assert len(dropped) == 10


# ---- where the Core died ---------------------------------------------------------------------------


@both
def test_before_the_commit_the_message_is_sent_again(agent: Agent, core: ScriptedCore) -> None:
    core.acknowledges = False
    working = agent.run(ask)
    first = core.peer()
    point = waiting(first)
    assert first.hello is not None
    run = first.hello.run
    core.stop()
    core.heard[run] -= 2  # the query and its halt point
    del core.kept[run][-2:]
    core.start()
    second = core.peer()
    again = waiting(second)
    assert again == point
    core.acknowledges = True
    second.answer(point.id)
    assert working.result(TIMEOUT_S) == "p"
    second.ends()
    assert kinds(core.kept[run]) == [*("EventBegun", "HaltPointReached") * 2, "Bye"]


@both
def test_after_the_commit_before_acknowledging_nothing_is_sent_again(
    agent: Agent, core: ScriptedCore
) -> None:
    core.acknowledges = False
    working = agent.run(ask)
    first = core.peer()
    point = waiting(first)
    first.drop()
    second = core.peer()
    assert second.hello is not None
    assert second.hello.acknowledged == 1, "what the welcome said"
    core.acknowledges = True
    second.answer(point.id)
    assert working.result(TIMEOUT_S) == "p"
    assert second.ends() == FINISHED
    assert kinds(second.sent) == ["Bye"]


@both
def test_after_the_answer_was_recorded_it_is_given_again(agent: Agent, core: ScriptedCore) -> None:
    working = agent.run(ask)
    first = core.peer()
    core.answers[waiting(first).id] = edit('"kept"')
    first.drop()
    assert working.result(TIMEOUT_S) == "kept"


@both
def test_a_core_that_lost_what_it_promised(
    agent: Agent, core: ScriptedCore, caplog: pytest.LogCaptureFixture
) -> None:
    working = agent.run(ask)
    first = core.peer()
    point = waiting(first)
    core.stop()
    core.welcome = welcome(received=3)
    core.start()
    second = core.peer()
    second.answer(point.id)
    assert working.result(TIMEOUT_S) == "p"
    assert second.ends() == FINISHED
    assert "The Core lost messages 4 to 5 of this run" in caplog.text


@both
def test_a_core_that_knew_nothing_yet_is_told_all(agent: Agent, core: ScriptedCore) -> None:
    core.acknowledges = False
    core.welcome = welcome(received=0)
    working = agent.run(ask)
    first = core.peer()
    waiting(first)
    core.stop()
    core.welcome = None
    core.forget()
    core.start()
    refused, second = core.peer(), core.peer()
    assert refused.hello is not None
    assert second.hello is not None
    assert (refused.hello.sent, second.hello.sent) == (5, 0)
    core.acknowledges = True
    second.answer(waiting(second).id)
    assert working.result(TIMEOUT_S) == "p"
    second.ends()
    assert kinds(second.sent) == [*("EventBegun", "HaltPointReached") * 2, "Bye"]
