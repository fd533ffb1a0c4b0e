"""An agent's own timeline, and who is told before a run's goodbye."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from agentstepper_nb import AgentStepper, AsyncAgentStepper
from agentstepper_nb.errors import AgentStopped
from agentstepper_nb.hub import AgentStepperCore
from agentstepper_nb.protocol.agent import AgentError, Bye, GetTimeline, Timeline
from agentstepper_nb.protocol.answers import StopAnswer
from agentstepper_nb.protocol.data_model import Failure, Run, RunEnding
from agentstepper_nb.sdk import BaseStepper, on_closing, set_current_stepper
from tests.sdk.both_steppers import both
from tests.sdk.processes import agent, outcome
from tests.sdk.scripted_core import AgentPeer, ScriptedAnswers, ScriptedCore

TIMELINE = Timeline(run=Run(id="r", name="n", program="P", started_at=1.0), rows=(), commits=())


@pytest.fixture
def closed_steppers() -> Iterator[list[tuple[BaseStepper, Bye]]]:
    """Who closed, and how, as a callback hears it."""
    heard: list[tuple[BaseStepper, Bye]] = []
    take_back = on_closing(lambda stepper_kind, bye: heard.append((stepper_kind, bye)))
    yield heard
    take_back()


def during(
    core: ScriptedCore, act: Callable[[AgentStepper, AgentPeer], Any], **options: Any
) -> Any:
    """Do something with an open AgentStepper, and its end of the Core."""
    with AgentStepper("P", "127.0.0.1", core.port, **options) as dbg:
        return act(dbg, core.wait_for_peer())


# ---- the timeline ----------------------------------------------------------------------------------


def test_the_core_answers_under_the_requests_id(core: ScriptedCore) -> None:
    core.requests = lambda peer, message: TIMELINE
    assert during(core, lambda dbg, peer: dbg._timeline()) == TIMELINE


def test_a_live_core_has_all_that_was_sent() -> None:
    with (
        AgentStepperCore(client_port=0, ui_port=0) as core,
        AgentStepper("P", "127.0.0.1", core.client_port, stop_on_entry=False) as dbg,
    ):
        dbg.post_debug_message("said")
        found = dbg._timeline()
        assert found is not None
        assert found.run.id == dbg.run_id
        assert [row.summary for row in found.rows][-1] == "said"


def test_a_core_that_refuses(core: ScriptedCore) -> None:
    def refuse(peer: AgentPeer, message: GetTimeline) -> AgentError:
        return AgentError(code="unknown_message", message="?", n=2 + len(peer.received) - 1)

    core.requests = refuse

    def act(dbg: AgentStepper, peer: AgentPeer) -> None:
        assert dbg._timeline() is None
        dbg.post_debug_message("and the run goes on")

    during(core, act)


def test_a_core_that_is_too_slow(core: ScriptedCore) -> None:
    core.requests = lambda peer, message: None

    def act(dbg: AgentStepper, peer: AgentPeer) -> None:
        assert dbg._timeline(timeout_s=0.01) is None
        assert len(dbg._current_session().link._waiting) == 0, "nothing is kept of it"

    during(core, act)


def test_a_core_of_version_1() -> None:
    with ScriptedCore(version=1) as core:
        assert during(core, lambda dbg, peer: dbg._timeline()) is None


def test_a_connection_that_is_lost_meanwhile_or_before(core: ScriptedCore) -> None:
    core.requests = lambda peer, message: peer.break_connection()

    def act(dbg: AgentStepper, peer: AgentPeer) -> None:
        assert dbg._timeline() is None
        assert dbg._timeline() is None

    during(core, act, on_disconnect="raise")


def test_a_connection_that_is_lost_meanwhile_is_asked_again(core: ScriptedCore) -> None:
    def drop_once(peer: AgentPeer, message: GetTimeline) -> Timeline | None:
        core.requests = lambda peer, message: TIMELINE
        peer.break_connection()
        return None

    core.requests = drop_once
    assert during(core, lambda dbg, peer: dbg._timeline(timeout_s=60)) == TIMELINE
    assert [type(message) for peer in core.peers for message in peer.received].count(
        GetTimeline
    ) == 2


def test_a_closed_one(core: ScriptedCore) -> None:
    with AgentStepper("P", "127.0.0.1", core.port) as dbg:
        pass
    assert dbg._timeline() is None


# ---- before the goodbye ----------------------------------------------------------------------------


@both
@pytest.mark.parametrize(
    ("error", "bye"),
    [
        (None, Bye(ending=RunEnding.FINISHED)),
        (
            KeyError("a"),
            Bye(ending=RunEnding.CRASHED, failure=Failure(type="KeyError", message="'a'")),
        ),
        (KeyboardInterrupt(), Bye(ending=RunEnding.STOPPED)),
        (asyncio.CancelledError(), Bye(ending=RunEnding.STOPPED)),
    ],
)
def test_how_it_ends_is_told_before_it_is_said(
    core: ScriptedCore, stepper_kind: str, error: BaseException | None, bye: Bye
) -> None:
    core.requests = lambda peer, message: TIMELINE
    seen: list[tuple[Bye, Timeline | None]] = []
    take_back = on_closing(lambda dbg, how: seen.append((how, dbg._timeline())))
    try:
        end(core, stepper_kind, error)
    finally:
        take_back()
    assert seen == [(bye, TIMELINE)]
    peer = core.wait_for_peer()
    assert peer.wait_until_gone() == bye
    assert [type(message) for message in peer.received[-2:]] == [GetTimeline, Bye]


def end(core: ScriptedCore, stepper_kind: str, error: BaseException | None) -> None:
    """Open a run and leave it by an exception."""
    if stepper_kind == "sync":
        dbg = AgentStepper("P", "127.0.0.1", core.port)
        dbg.__exit__(type(error) if error else None, error, None)
        return

    async def main() -> None:
        adbg = await AsyncAgentStepper.connect("P", "127.0.0.1", core.port)
        await adbg.__aexit__(type(error) if error else None, error, None)

    asyncio.run(main())


def test_stop_is_told(core: ScriptedCore, closed_steppers: list[tuple[BaseStepper, Bye]]) -> None:
    core.policy = ScriptedAnswers(StopAnswer())
    with pytest.raises(AgentStopped):
        AgentStepper("P", "127.0.0.1", core.port)
    assert [bye for _, bye in closed_steppers] == [Bye(ending=RunEnding.STOPPED)]


def test_a_loop_goes_on_meanwhile(core: ScriptedCore) -> None:
    """What is told may block: not the loop."""
    went_on = threading.Event()
    take_back = on_closing(lambda stepper_kind, bye: went_on.wait(60))

    async def main() -> None:
        async with AsyncAgentStepper("P", "127.0.0.1", core.port):
            asyncio.get_running_loop().call_later(0, went_on.set)

    try:
        asyncio.run(main())
    finally:
        take_back()
    assert went_on.is_set()


@both
def test_one_that_fails_breaks_nothing(
    core: ScriptedCore,
    stepper_kind: str,
    closed_steppers: list[tuple[BaseStepper, Bye]],
    caplog: pytest.LogCaptureFixture,
) -> None:
    take_back = on_closing(lambda stepper_kind, bye: 1 / 0)
    second: list[Bye] = []
    take_back_second = on_closing(lambda stepper_kind, bye: second.append(bye))
    try:
        end(core, stepper_kind, None)
    finally:
        take_back()
        take_back_second()
    assert "ZeroDivisionError" in caplog.text
    assert len(closed_steppers) == len(second) == 1
    assert core.wait_for_peer().wait_until_gone() == Bye(ending=RunEnding.FINISHED)


@both
def test_an_interrupt_meanwhile_still_ends_the_run(core: ScriptedCore, stepper_kind: str) -> None:
    def interrupt(stepper_kind: BaseStepper, bye: Bye) -> None:
        raise KeyboardInterrupt

    take_back = on_closing(interrupt)
    try:
        with pytest.raises(KeyboardInterrupt):
            end(core, stepper_kind, None)
    finally:
        take_back()
    assert core.wait_for_peer().wait_until_gone() == Bye(ending=RunEnding.FINISHED)


def test_each_run_once_and_by_whom_it_belongs_to(
    core: ScriptedCore, closed_steppers: list[tuple[BaseStepper, Bye]]
) -> None:
    with AgentStepper("P", "127.0.0.1", core.port) as dbg:
        with set_current_stepper(dbg), AgentStepper("inner") as inner:
            assert inner.run_id == dbg.run_id
        assert closed_steppers == []
    dbg.close()
    assert [stepper_kind for stepper_kind, _ in closed_steppers] == [dbg]


def test_garbage_is_not_told(
    core: ScriptedCore, closed_steppers: list[tuple[BaseStepper, Bye]]
) -> None:
    dbg = AgentStepper("P", "127.0.0.1", core.port)
    del dbg
    gc.collect()
    assert core.wait_for_peer().wait_until_gone() == Bye(ending=RunEnding.FINISHED)
    assert closed_steppers == []


def test_the_interpreters_exit_is_not_told(core: ScriptedCore) -> None:
    program = """
    from agentstepper_nb.sdk import on_closing
    on_closing(lambda stepper, bye: print("told"))
    dbg = AgentStepper("P", "127.0.0.1", PORT)
    """
    with agent(core, program) as process:
        peer = core.wait_for_peer()
        assert outcome(process)[:2] == (0, "")
    assert peer.wait_until_gone() == Bye(ending=RunEnding.FINISHED)
