"""Steps of agents at a real Core: what they halt at, and what that costs."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import AsyncIterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest
from msgspec import UNSET

from agentstepper_nb import AgentStepper, AgentStepperCore, AsyncAgentStepper
from agentstepper_nb.hub.agents_v2 import AgentPeerSessionV2
from agentstepper_nb.protocol.agent import MessagesAcknowledged
from agentstepper_nb.protocol.data_model import EventKind, EventSide, RunEnding
from agentstepper_nb.protocol.step_targets import StepKind
from tests.sdk.both_steppers import both
from tests.sdk.person import LiveView
from tests.sdk.scripted_core import TIMEOUT_S
from tests.sdk.test_live_core import started

BEGIN, END = EventSide.BEGIN, EventSide.END


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """The messages that the Core sends to agents, by their type; but for acknowledgements."""
    counts: Counter[str] = Counter()
    send = AgentPeerSessionV2._send

    def count(session: AgentPeerSessionV2, message: Any, id: str | None = None) -> None:
        if not isinstance(message, MessagesAcknowledged):
            counts[type(message).__name__] += 1
        send(session, message, id)

    monkeypatch.setattr(AgentPeerSessionV2, "_send", count)
    return counts


def halted_at(person: LiveView) -> list[tuple[str | None, EventSide | None]]:
    """Where the run is halted, once it is."""
    person.wait_until_halted()
    return [(row.name, row.side) for row in person.list_rows() if row.pending]


def wait_until_halted_at(person: LiveView, *points: tuple[str, EventSide]) -> None:
    while halted_at(person) != list(points):
        person.wait_change()


@pytest.mark.slow
@both
def test_over_hundreds_of_inner_calls_costs_no_round_trips(
    stepper_kind: str,
    live: AgentStepperCore,
    person: LiveView,
    pool: ThreadPoolExecutor,
    sent: Counter[str],
) -> None:
    async def scenario(dbg: Any) -> None:
        async with dbg.tool("sub-agent", {}):
            for n in range(200):
                async with dbg.tool("inner", {"n": n}):
                    pass
        async with dbg.tool("next", {}):
            pass

    working = started(pool, stepper_kind, live, scenario)
    person.step()
    assert halted_at(person) == [("sub-agent", BEGIN)]
    sent.clear()
    person.step_to(StepKind.OVER)
    assert halted_at(person) == [("sub-agent", END)]
    # The target, the answer, and what holds once it is reached.
    assert sent == {"LeaseMessage": 2, "AnswerMessage": 1}
    person.step_to(StepKind.OVER)
    assert halted_at(person) == [("next", BEGIN)]
    person.resume()
    working.result(TIMEOUT_S)


@both
def test_out_and_to(
    stepper_kind: str, live: AgentStepperCore, person: LiveView, pool: ThreadPoolExecutor
) -> None:
    async def scenario(dbg: Any) -> None:
        async with dbg.tool("outer", {}):
            for n in range(3):
                async with dbg.tool("inner", {"n": n}):
                    pass
            async with dbg.llm("p", model="m"):
                pass

    working = started(pool, stepper_kind, live, scenario)
    person.step()
    person.step_to(StepKind.INTO)
    assert halted_at(person) == [("inner", BEGIN)]
    person.step_to(StepKind.TO, event_kind=EventKind.LLM_QUERY, side=END)
    assert halted_at(person) == [("m", END)]
    person.step_to(StepKind.OUT)
    assert halted_at(person) == [("outer", END)]
    person.step_to(StepKind.OUT)
    working.result(TIMEOUT_S)
    assert person.wait_until_ended().ending is RunEnding.FINISHED


async def run_two(
    dbg: AsyncAgentStepper, begun: dict[str, asyncio.Event], goes_on: threading.Event
) -> None:
    """Two agents in parallel; the second goes on once it may."""

    async def work(name: str) -> None:
        with dbg.agent(name):
            for n in range(3):
                if name == "second":
                    await asyncio.to_thread(goes_on.wait, TIMEOUT_S)
                async with dbg.tool(f"{name} {n}", {}):
                    pass
        begun[name].set()

    await asyncio.gather(work("first"), work("second"))
    async with dbg.tool("main", {}):
        pass


@pytest.fixture
def parallel(
    live: AgentStepperCore, pool: ThreadPoolExecutor, person: LiveView
) -> AsyncIterator[tuple[threading.Event, Future[None]]]:
    """Two agents, of which the first is halted at its first call."""
    goes_on = threading.Event()

    async def program() -> None:
        async with AsyncAgentStepper(
            "two", "127.0.0.1", live.client_port, stop_on_entry=False
        ) as dbg:
            await run_two(dbg, {"first": asyncio.Event(), "second": asyncio.Event()}, goes_on)

    working = pool.submit(asyncio.run, program())
    wait_until_halted_at(person, ("first 0", BEGIN))
    yield goes_on, working  # type: ignore[misc]
    goes_on.set()
    person.resume()
    working.result(TIMEOUT_S)


def test_one_agent_of_two_steps_and_the_other_goes_on(
    parallel: tuple[threading.Event, Future[None]], person: LiveView
) -> None:
    goes_on, _ = parallel
    person.step_to(StepKind.OVER)
    wait_until_halted_at(person, ("first 0", END))
    goes_on.set()
    rows = person.list_rows
    while ("second 2", END) not in [(row.name, row.side) for row in rows()]:
        person.wait_change()
    assert halted_at(person) == [("first 0", END)]
    for point in (("first 1", BEGIN), ("first 1", END), ("first 2", BEGIN), ("first 2", END)):
        person.step_to(StepKind.INTO)
        wait_until_halted_at(person, point)
    # The agent ends, and its task: the step goes on around them.
    person.step_to(StepKind.OVER)
    wait_until_halted_at(person, ("main", BEGIN))


@pytest.mark.slow
def test_the_other_waits_where_it_is_frozen(
    parallel: tuple[threading.Event, Future[None]], person: LiveView
) -> None:
    goes_on, _ = parallel
    person.step_to(StepKind.INTO, freeze_others=True)
    wait_until_halted_at(person, ("first 0", END))
    goes_on.set()
    wait_until_halted_at(person, ("first 0", END), ("second 0", BEGIN))
    first = person.wait_until_halted()
    person.step_to(StepKind.INTO, first, freeze_others=True)
    wait_until_halted_at(person, ("second 0", BEGIN), ("first 1", BEGIN))


@pytest.mark.parametrize("kind", [StepKind.INTO, StepKind.OVER])
def test_a_step_goes_on_after_a_thread_has_ended(
    kind: StepKind, live: AgentStepperCore, person: LiveView, pool: ThreadPoolExecutor
) -> None:
    def work(dbg: AgentStepper) -> None:
        with dbg.tool("in a thread", {}):
            pass

    async def scenario(dbg: Any) -> None:
        for start in (thread, job):
            start(dbg.dbg)
        async with dbg.tool("main", {}):
            pass

    def thread(dbg: AgentStepper) -> None:
        worker = threading.Thread(target=work, args=(dbg,))
        worker.start()
        worker.join()

    def job(dbg: AgentStepper) -> None:
        with ThreadPoolExecutor(1) as jobs:
            jobs.submit(work, dbg).result()

    working = started(pool, "sync", live, scenario)
    person.step()
    for _ in range(2):
        wait_until_halted_at(person, ("in a thread", BEGIN))
        person.step_to(kind)
        wait_until_halted_at(person, ("in a thread", END))
        person.step_to(kind)
    wait_until_halted_at(person, ("main", BEGIN))
    person.resume()
    working.result(TIMEOUT_S)


async def cancel(dbg: AsyncAgentStepper) -> None:
    """A task that is cancelled in the midst of a call."""
    inside = asyncio.Event()

    async def work() -> None:
        async with dbg.tool("cancelled", {}):
            inside.set()
            await asyncio.sleep(TIMEOUT_S)

    task = asyncio.create_task(work())
    await inside.wait()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    async with dbg.tool("after", {}):
        pass


async def close_generator(dbg: AsyncAgentStepper) -> None:
    """A generator that is closed in the midst of a call."""

    async def steps() -> AsyncIterator[int]:
        async with dbg.tool("closed", {}):
            yield 1
            yield 2

    made = steps()
    await anext(made)
    await made.aclose()  # type: ignore[attr-defined]
    async with dbg.tool("after", {}):
        pass


@pytest.mark.parametrize("scenario", [cancel, close_generator])
def test_what_never_ends_loses_no_step(
    scenario: Any, live: AgentStepperCore, person: LiveView, pool: ThreadPoolExecutor
) -> None:
    working = started(pool, "async", live, scenario)
    person.step()
    person.wait_until_halted()
    person.step_to(StepKind.OVER)
    wait_until_halted_at(person, ("after", BEGIN))
    person.resume()
    working.result(TIMEOUT_S)


def test_a_killed_agents_run_ends(live: AgentStepperCore, person: LiveView) -> None:
    with pytest.raises(LookupError), ThreadPoolExecutor(1) as one:

        def work() -> None:
            with AgentStepper("dies", "127.0.0.1", live.client_port, stop_on_entry=False) as dbg:
                dbg.begin_tool_invocation_breakpoint("never ends", {})
                raise LookupError("its own")

        working = one.submit(work)
        person.wait_until_halted()
        person.step_to(StepKind.OVER)
        working.result(TIMEOUT_S)
    ended = person.wait_until_ended()
    assert ended.ending is RunEnding.CRASHED
    assert ended.step is UNSET


def test_python_steps_a_run(
    live: AgentStepperCore, person: LiveView, pool: ThreadPoolExecutor
) -> None:
    async def scenario(dbg: Any) -> None:
        for n in range(2):
            async with dbg.tool(f"outer {n}", {}), dbg.tool("inner", {}):
                pass

    def step(*args: Any, **named: Any) -> None:
        person.wait_until_halted()
        asyncio.run_coroutine_threadsafe(live.step(*args, **named), live.loop).result(TIMEOUT_S)

    working = started(pool, "sync", live, scenario, stop_on_entry=False)
    for does, point in (
        ({"kind": "into"}, ("inner", BEGIN)),
        ({"kind": "out"}, ("outer 0", END)),
        ({"kind": "over"}, ("outer 1", BEGIN)),
        ({"kind": StepKind.OVER}, ("outer 1", END)),
    ):
        step(**does)
        wait_until_halted_at(person, point)
    with pytest.raises(ValueError, match="sideways"):
        step("sideways")
    step("to", event_kind="llm_query")
    working.result(TIMEOUT_S)
