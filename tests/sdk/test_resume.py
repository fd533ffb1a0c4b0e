"""Runs that outlive their Core: each row of docs/design/0009-resume.md, through both AgentSteppers."""

from __future__ import annotations

import asyncio
import gc
import logging
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest

from agentstepper_nb import AgentStepper, ConnectionLostError
from agentstepper_nb.protocol.agent import (
    AgentError,
    AgentMessage,
    BreakpointReached,
    Bye,
    Resume,
    Welcome,
    Withdraw,
)
from agentstepper_nb.protocol.values import Ending, EventKind
from agentstepper_nb.sdk import connections, on_closing, outbox
from agentstepper_nb.sdk import session as session_module
from agentstepper_nb.sdk.buffer import Buffer
from tests.sdk.doors import both, run
from tests.sdk.scripted_core import PATIENCE, Peer, ScriptedCore, edit, go_on

FINISHED = Bye(ending=Ending.FINISHED)


@pytest.fixture
def core() -> Iterator[ScriptedCore]:
    with ScriptedCore(only_the_start) as core:
        yield core


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(4) as pool:
        yield pool


def only_the_start(peer: Peer, point: BreakpointReached) -> Resume | None:
    return go_on(peer, point) if point.summary else None


def waiting(peer: Peer) -> BreakpointReached:
    """The next breakpoint that waits, after the start."""
    while True:
        point = peer.next(BreakpointReached)
        if point.waits and not point.summary:
            return point


async def ask(dbg: Any) -> Any:
    return await dbg.begin_llm_query_breakpoint("p")


def welcome(received: int) -> Welcome:
    return Welcome(version=2, core="scripted", run="", received=received)


def kinds(messages: list[AgentMessage]) -> list[str]:
    return [type(message).__name__ for message in messages]


class Agent:
    """An agent on a thread of its own; `go` lets it pass `step`, one after the other."""

    def __init__(self, pool: ThreadPoolExecutor, door: str, core: ScriptedCore) -> None:
        self._pool, self.door, self._core = pool, door, core
        self._gates = [threading.Event() for _ in range(3)]

    def run(self, scenario: Callable[[Any], Any], **options: Any) -> Future[Any]:
        options = {"stop_on_entry": False, **options}
        return self._pool.submit(run, self.door, self._core, scenario, **options)

    def go(self) -> None:
        next(gate for gate in self._gates if not gate.is_set()).set()

    async def step(self, number: int) -> None:
        await asyncio.to_thread(self._gates[number].wait, PATIENCE)


@pytest.fixture
def agent(pool: ThreadPoolExecutor, core: ScriptedCore, door: str) -> Iterator[Agent]:
    yield Agent(pool, door, core)
    for session in session_module._sessions:  # of a test that failed
        session.link.cut()


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
    # The start and its breakpoint, the query and its breakpoint: numbers 2 to 5.
    assert (second.hello.sent, second.hello.waiting) == (5, (point.id,))
    assert first.hello.sent == 0
    second.answer(point.id, edit('"edited"'))
    assert working.result(PATIENCE) == "edited"
    assert second.ends() == FINISHED
    assert kinds(core.kept[first.hello.run]) == [
        *("EventBegun", "BreakpointReached") * 2,
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
    first.next(BreakpointReached)
    core.stop()
    agent.go()
    assert said.wait(PATIENCE), "nothing of it needs a Core"
    core.start()
    second = core.peer()
    second.answer(waiting(second).id)
    assert working.result(PATIENCE) == "p"
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
    assert working.result(PATIENCE) == list("ppppp")


@both
def test_it_may_happen_again_and_again(agent: Agent, core: ScriptedCore) -> None:
    async def scenario(dbg: Any) -> Any:
        return [await dbg.begin_llm_query_breakpoint(n) for n in range(10)]

    def drop_first(peer: Peer, point: BreakpointReached) -> Resume | None:
        if point.id in dropped or point.summary:
            return Resume()
        dropped.add(point.id)
        core.answers[point.id] = Resume()
        peer.drop()
        return None

    dropped: set[str] = set()
    core.policy = drop_first
    assert agent.run(scenario).result(PATIENCE) == list(range(10))
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
    core.heard[run] -= 2  # the query and its breakpoint
    del core.kept[run][-2:]
    core.start()
    second = core.peer()
    again = waiting(second)
    assert again == point
    core.acknowledges = True
    second.answer(point.id)
    assert working.result(PATIENCE) == "p"
    second.ends()
    assert kinds(core.kept[run]) == [*("EventBegun", "BreakpointReached") * 2, "Bye"]


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
    assert working.result(PATIENCE) == "p"
    assert second.ends() == FINISHED
    assert kinds(second.sent) == ["Bye"]


@both
def test_after_the_answer_was_recorded_it_is_given_again(agent: Agent, core: ScriptedCore) -> None:
    working = agent.run(ask)
    first = core.peer()
    core.answers[waiting(first).id] = edit('"kept"')
    first.drop()
    assert working.result(PATIENCE) == "kept"


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
    assert working.result(PATIENCE) == "p"
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
    assert working.result(PATIENCE) == "p"
    second.ends()
    assert kinds(second.sent) == [*("EventBegun", "BreakpointReached") * 2, "Bye"]


# ---- continue --------------------------------------------------------------------------------------


@both
def test_it_goes_on_unedited_and_catches_up(agent: Agent, core: ScriptedCore) -> None:
    async def scenario(dbg: Any) -> Any:
        first = await dbg.begin_llm_query_breakpoint("p")
        second = await dbg.end_llm_query_breakpoint("r")
        await agent.step(0)
        return first, second, await dbg.begin_tool_invocation_breakpoint("t", {"a": 1})

    working = agent.run(scenario, on_disconnect="continue")
    first = core.peer()
    point = waiting(first)
    core.stop()
    core.start()
    second = core.peer()
    assert second.hello is not None
    assert second.hello.waiting == ()
    assert second.next(Withdraw).breakpoint == point.id
    end = second.next(BreakpointReached)
    assert (end.event, end.waits) == (point.event, False)
    agent.go()
    later = waiting(second)
    assert later.event != point.event, "with the Core back it waits again"
    second.answer(later.id, edit('{"Tool": "t", "Argument": 2}'))
    assert working.result(PATIENCE) == ("p", "r", ("t", 2))
    assert second.ends() == FINISHED


@both
def test_every_wait_is_passed(agent: Agent, core: ScriptedCore) -> None:
    async def scenario(dbg: Any) -> Any:
        sync = getattr(dbg, "dbg", None)
        if sync is None:
            return await asyncio.gather(*(ask(dbg) for _ in range(5)))
        with ThreadPoolExecutor(5) as threads:
            return list(threads.map(sync.begin_llm_query_breakpoint, "ppppp"))

    working = agent.run(scenario, on_disconnect="continue")
    first = core.peer()
    points = {waiting(first).id for _ in range(5)}
    first.drop()
    second = core.peer()
    assert {second.next(Withdraw).breakpoint for _ in range(5)} == points
    assert working.result(PATIENCE) == list("ppppp")


# ---- what is full ----------------------------------------------------------------------------------


@both
@pytest.mark.parametrize("policy", ["wait", "continue"])
def test_where_the_buffer_is_full_the_agent_waits_and_nothing_is_dropped(
    agent: Agent,
    core: ScriptedCore,
    policy: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(outbox, "Buffer", partial(Buffer, messages=20))
    said: list[int] = []
    said_when_full: list[int] = []

    async def scenario(dbg: Any) -> None:
        await agent.step(0)
        watching = asyncio.create_task(watch())
        for n in range(60):
            await dbg.post_debug_message(str(n))
            said.append(n)
        await watching

    async def watch() -> None:
        """Runs meanwhile where the loop isn't blocked, and that is only where nobody awaits."""
        await asyncio.to_thread(await_log, caplog, "the agent waits, too")
        said_when_full.append(len(said))

    working = agent.run(scenario, on_disconnect=policy)
    first = core.peer()
    first.next(BreakpointReached)
    core.stop()
    agent.go()
    await_log(
        caplog, "20 messages wait for the Core, which is still away: now the agent waits, too."
    )
    assert len(said) <= 20
    core.start()
    working.result(PATIENCE)
    assert said_when_full == ([20] if agent.door == "async" else [60])
    peer = core.peer()
    peer.ends()
    messages = [event for event in peer.events if event.kind is EventKind.DEBUG_MESSAGE]
    assert [bytes(event.data) for event in messages] == [b'"%d"' % n for n in range(60)]  # type: ignore[arg-type]
    assert caplog.text.count("the agent waits, too") == 1


@both
def test_at_a_breakpoint_continue_waits_where_the_buffer_is_full(
    agent: Agent, core: ScriptedCore, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    monkeypatch.setattr(outbox, "Buffer", partial(Buffer, size=1000))
    passed: list[int] = []

    async def scenario(dbg: Any) -> None:
        for n in range(20):
            await dbg.begin_llm_query_breakpoint("x" * 200)
            passed.append(n)

    working = agent.run(scenario, on_disconnect="continue")
    first = core.peer()
    waiting(first)
    core.stop()
    await_log(caplog, "the agent waits, too")
    assert 0 < len(passed) < 10
    core.policy = go_on
    core.start()
    working.result(PATIENCE)
    assert core.peer().ends() == FINISHED
    assert passed == list(range(20))


# ---- refusals --------------------------------------------------------------------------------------

REFUSALS = ["unknown_run", "run_ended", "unauthorized", "version_mismatch"]


@both
@pytest.mark.parametrize("code", REFUSALS)
def test_a_refusal_ends_the_wait(agent: Agent, core: ScriptedCore, code: str) -> None:
    async def scenario(dbg: Any) -> None:
        with pytest.raises(ConnectionLostError, match=r"doesn't go on with this run.*Because\."):
            await dbg.begin_llm_query_breakpoint("p")
        with pytest.raises(ConnectionLostError, match="Start the agent again"):
            await dbg.post_debug_message("m")

    working = agent.run(scenario)
    first = core.peer()
    waiting(first)
    core.welcome = AgentError(code=code, message="Because.")
    first.drop()
    working.result(PATIENCE)


@both
@pytest.mark.parametrize("code", REFUSALS)
def test_under_continue_the_agent_goes_on_alone(
    agent: Agent, core: ScriptedCore, code: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario(dbg: Any) -> Any:
        values = [await dbg.begin_llm_query_breakpoint(n) for n in range(10)]
        await agent.step(0)
        values += [await dbg.begin_llm_query_breakpoint(n) for n in range(10)]
        await dbg.post_debug_message("m")
        return values

    working = agent.run(scenario, on_disconnect="continue")
    first = core.peer()
    waiting(first)
    core.welcome = AgentError(code=code, message="Because.")
    first.drop()
    await_log(caplog, "The agent goes on alone")
    agent.go()
    assert working.result(PATIENCE) == [*range(10), *range(10)]
    assert caplog.text.count("goes on alone") == 1
    assert "delivered" not in caplog.text


@both
@pytest.mark.parametrize("code", ["internal", "store_failed"])
def test_what_may_pass_is_tried_again(agent: Agent, core: ScriptedCore, code: str) -> None:
    working = agent.run(ask)
    first = core.peer()
    point = waiting(first)
    core.welcome = AgentError(code=code, message="Not now.")
    first.drop()
    refused = core.peer()
    core.welcome = None
    refused.drop()
    second = core.peer()
    second.answer(point.id)
    assert working.result(PATIENCE) == "p"


@both
@pytest.mark.parametrize("policy", ["wait", "continue"])
def test_the_original_can_t_take_up_a_run(door: str, policy: str, pool: ThreadPoolExecutor) -> None:
    with ScriptedCore(only_the_start) as core:
        working = pool.submit(run, door, core, ask, on_disconnect="wait")
        waiting(core.peer())
        core.stop()
        core.version = 1
        core.start()
        with pytest.raises(ConnectionLostError, match="The original runs there by now"):
            working.result(PATIENCE)
    with ScriptedCore(version=1) as original:
        original.policy = lambda peer, point: go_on(peer, point) if point.summary else peer.drop()
        with pytest.raises(ConnectionLostError, match="start the agent again"):
            run(door, original, ask, on_disconnect=policy)


# ---- what a person is told ---------------------------------------------------------------------------


@both
@pytest.mark.parametrize(
    ("policy", "advice"),
    [("wait", "waits for it at the next breakpoint"), ("continue", "goes on without it")],
)
def test_an_outage_is_told_once_and_its_end_too(
    agent: Agent, core: ScriptedCore, policy: str, advice: str, caplog: pytest.LogCaptureFixture
) -> None:
    working = agent.run(ask, on_disconnect=policy)
    point = waiting(core.peer())
    core.stop()
    await_log(caplog, advice)
    core.start()
    second = core.peer()
    second.answer(point.id)
    assert working.result(PATIENCE) == "p"
    second.ends()
    assert [record.levelno for record in caplog.records] == [logging.WARNING] * 2
    assert caplog.text.count("Connection lost to the Core at") == 1
    assert caplog.text.count(f"The Core is back at {core.url}: the run goes on.") == 1


@both
def test_a_short_outage_is_not_told(
    agent: Agent, core: ScriptedCore, caplog: pytest.LogCaptureFixture
) -> None:
    working = agent.run(ask)
    first = core.peer()
    point = waiting(first)
    first.drop()
    core.peer().answer(point.id)
    assert working.result(PATIENCE) == "p"
    assert caplog.records == []


def await_log(caplog: pytest.LogCaptureFixture, text: str) -> None:
    """Wait until something is logged."""
    heard = threading.Event()

    class Ear(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if text in record.getMessage():
                heard.set()

    log, ear = logging.getLogger("agentstepper_nb.sdk"), Ear()
    log.addHandler(ear)
    try:
        assert text in caplog.text or heard.wait(PATIENCE), f"{text} was not said: {caplog.text}"
    finally:
        log.removeHandler(ear)


# ---- goodbyes ----------------------------------------------------------------------------------------


@pytest.fixture
def closing() -> Iterator[threading.Event]:
    """Set once an AgentStepper is about to say goodbye."""
    begun = threading.Event()
    take_back = on_closing(lambda door, bye: begun.set())
    yield begun
    take_back()


@pytest.fixture
def short_goodbyes(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (connections, outbox):
        monkeypatch.setattr(module, "GOODBYE_PATIENCE", 0.2)


@both
def test_a_goodbye_waits_for_a_core_that_is_away(
    agent: Agent, core: ScriptedCore, closing: threading.Event, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario(dbg: Any) -> None:
        await agent.step(0)

    working = agent.run(scenario)
    core.peer().next(BreakpointReached)
    core.stop()
    agent.go()
    assert closing.wait(PATIENCE)
    core.start()
    working.result(PATIENCE)
    assert core.peer().ends() == FINISHED
    assert "delivered" not in caplog.text


@both
def test_a_goodbye_that_finds_no_core_says_what_is_lost(
    agent: Agent, core: ScriptedCore, short_goodbyes: None, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario(dbg: Any) -> str:
        await agent.step(0)
        await dbg.post_debug_message("m")
        return str(getattr(dbg, "dbg", dbg).run_id)

    working = agent.run(scenario)
    core.peer().next(BreakpointReached)
    core.stop()
    agent.go()
    run_id = working.result(PATIENCE)
    core.start()
    said = [record.getMessage() for record in caplog.records if "delivered" in record.getMessage()]
    assert len(said) == 1
    assert said[0].startswith(f"2 messages of run {run_id} weren't delivered: No Core listens at")


@both
def test_a_goodbye_that_isn_t_kept_is_said_again(agent: Agent, core: ScriptedCore) -> None:
    """A Core that dies after it took the bye, before it had it on its disk."""

    async def scenario(dbg: Any) -> None:
        await agent.step(0)
        core.acknowledges = False

    working = agent.run(scenario)
    first = core.peer()
    agent.go()
    first.next(Bye)
    assert first.hello is not None
    core.stop()
    core.heard[first.hello.run] -= 1
    core.acknowledges = True
    core.start()
    working.result(PATIENCE)
    assert core.peer().ends() == FINISHED


@both
def test_a_goodbye_that_was_kept_but_not_acknowledged(
    agent: Agent, core: ScriptedCore, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario(dbg: Any) -> None:
        await agent.step(0)
        core.acknowledges = False

    working = agent.run(scenario)
    first = core.peer()
    agent.go()
    first.next(Bye)
    core.welcome = AgentError(code="run_ended", message="This run has ended.")
    first.drop()
    working.result(PATIENCE)
    assert caplog.records == []


def test_a_garbage_collection_while_the_core_is_away_says_goodbye_later(
    core: ScriptedCore,
) -> None:
    dbg = AgentStepper("T", "127.0.0.1", core.port)
    core.peer()
    core.stop()
    del dbg
    gc.collect()
    core.start()
    assert core.peer().ends() == FINISHED


def test_a_garbage_collection_is_no_wait(core: ScriptedCore, short_goodbyes: None) -> None:
    dbg = AgentStepper("T", "127.0.0.1", core.port)
    link = dbg._live().link
    core.peer()
    core.stop()
    del dbg
    gc.collect()
    link.closed.result(PATIENCE)
    core.start()
