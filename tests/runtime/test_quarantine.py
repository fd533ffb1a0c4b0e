"""A step that ends each worker which begins it ends its own session, and stops nobody else's."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from msgspec.structs import replace

from agentstepper_nb import Agents, AgentStepperCore
from agentstepper_nb.errors import CommandError
from agentstepper_nb.protocol.data_model import RunState
from agentstepper_nb.protocol.runtime import ActionKind, ActionStatus, AgentState, SessionStatus
from agentstepper_nb.protocol.runtime_requests import (
    RetryAgentSession,
    RetryFailedAction,
)
from agentstepper_nb.protocol.runtime_store_messages import DiscardAction, SessionWrite
from tests.runtime.harness import LEASE_S, a_core
from tests.runtime.installed_monikers import install_moniker
from tests.runtime.processes import CoreProcesses, run
from tests.sdk.person import LiveView


async def test_sessions_that_share_a_process_are_suspects_and_go_on(tmp_path: Path) -> None:
    async with a_core(tmp_path) as core:
        await core.create("s", limits={"max_attempts": 1})
        for attempt in range(3):
            async with core.worker() as worker:
                state = await core.wait_for_state("s", epoch=attempt + 1)
                assert (state.status, state.attempt) == (SessionStatus.RUNNING, attempt)
                await worker.die()
            core.clock.now += LEASE_S + 1
        async with core.worker():
            state = await core.wait_for_state("s", epoch=4)
            assert [loss.is_shared for loss in state.losses] == [True] * 3
            core.monikers.permit("s", 1)
            state = await core.wait_for_state("s", iteration=1)
            assert (state.attempt, state.losses) == (0, ())


async def test_session_that_ended_as_an_error_is_retried_after_a_look(tmp_path: Path) -> None:
    async with a_core(tmp_path) as core:
        await core.create("s", limits={"max_attempts": 1})
        async with core.worker():
            state = await core.wait_for_state("s", SessionStatus.RUNNING)
        await core.store.write(
            SessionWrite(
                session_id="s",
                epoch=state.epoch,
                owner=str(state.owner),
                state=replace(
                    state, status=SessionStatus.ERROR, owner=None, lease_until=None, attempt=3
                ),
            )
        )
        core.monikers.permit("s", 1)  # its step does no harm any more
        await core.runtime.retry(RetryAgentSession(session_id="s"))
        await core.runtime.retry(RetryAgentSession(session_id="s"))
        async with core.worker():
            state = await core.wait_for_state("s", iteration=1)
            assert (state.status, state.attempt) == ("running", 0)


async def test_paused_session_outlives_any_number_of_workers(tmp_path: Path) -> None:
    async with a_core(tmp_path) as core:
        await core.create("calm", limits={"max_attempts": 2})
        core.monikers.permit("calm", 1)
        async with core.worker():
            await core.wait_for_state("calm", iteration=1)
            pause = await core.enqueue(ActionKind.PAUSE, "calm")
            await core.wait_until_done(pause)
            core.monikers.permit("calm", 1)
            await core.wait_for_state("calm", SessionStatus.PAUSED, iteration=2)
        for epoch in range(2, 6):
            async with core.worker() as worker:
                await core.wait_for_state("calm", SessionStatus.PAUSED, epoch=epoch)
                await worker.die()
            core.clock.now += LEASE_S + 1
        assert (await core.state("calm")).losses == ()


async def test_worker_that_ends_well_counts_no_attempt(tmp_path: Path) -> None:
    async with a_core(tmp_path) as core:
        await core.create("s", limits={"max_attempts": 1})
        for epoch in range(1, 4):
            async with core.worker():
                await core.wait_for_state("s", epoch=epoch)
        assert (await core.state("s")).attempt == 0


async def test_dead_letter_is_retried_or_discarded(tmp_path: Path) -> None:
    async with a_core(tmp_path) as core, core.worker():
        await core.create("s")
        await core.wait_for_state("s", SessionStatus.RUNNING)
        core.monikers.lost = True
        bad = await core.create("bad", "missing")
        assert (await core.wait_until_done(bad)).status is ActionStatus.FAILED
        retried = await core.runtime.retry_action(RetryFailedAction(id=bad.id))
        again, old = retried.actions
        assert (again.retry_of, old.status) == (bad.id, ActionStatus.RETRIED)
        with pytest.raises(CommandError) as refused:
            await core.runtime.discard_action(DiscardAction(id=bad.id))
        assert refused.value.code == "action_not_failed"
        assert again.payload == old.payload


def wait_until_halted(
    core: AgentStepperCore, agents: Agents, session: str, epoch: int, earlier: str | None
) -> AgentState:
    """A session once it halts in this epoch, in another run than the earlier one."""
    state = agents.wait_for(
        session, lambda state: state.epoch == epoch and state.run_id not in (None, earlier)
    )
    with LiveView(core.ui_port or 0) as view:
        view.wait_until(lambda run: run.id == state.run_id and run.state is RunState.HALTED)
    return state


@pytest.mark.slow
@pytest.mark.parametrize("kills", [1, pytest.param(3, marks=pytest.mark.soak)])
def test_step_that_a_person_halted_is_not_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kills: int
) -> None:
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "runtime"))
    with (
        AgentStepperCore(
            "127.0.0.1", 0, 0, data=tmp_path / "data", worker=True, worker_isolation="none"
        ) as core,
        Agents.connect(core.url(core.client_port), core.tokens.control) as agents,
    ):
        session = agents.create_agent("a", "joke", step=True, max_attempts=1)
        run_id = None
        for epoch in range(1, kills + 1):
            state = wait_until_halted(core, agents, session, epoch, run_id)
            run_id = state.run_id
            assert state.owner is not None
            os.kill(int(state.owner.split(":")[1]), signal.SIGKILL)
        state = agents.wait_for(session, lambda state: state.epoch == kills + 1)
        assert (state.status, state.losses) == (SessionStatus.RUNNING, ())


@pytest.mark.soak
@pytest.mark.parametrize(("how", "story"), [("kill", "signal 9"), ("exit", "exited with 7")])
def test_poison_takes_down_no_other_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str, story: str
) -> None:
    install_moniker(tmp_path / "package", monkeypatch)

    async def test() -> None:
        place = CoreProcesses(tmp_path, options=())  # its Core starts its worker, and knows its end
        with place.core():
            async with place.client() as client:
                others = [f"joke{number}" for number in range(3)]
                for other in others:
                    await client.create(other)
                await client.enqueue(
                    ActionKind.CREATE,
                    "poison",
                    agent_id="poison",
                    payload={"moniker": "fragile", "config": {"3": how}},
                )
                await client.wait_until(
                    lambda states: (
                        "poison" in states and states["poison"].status is SessionStatus.ERROR
                    )
                )
                ended = await client.state("poison")
                assert (ended.iteration, len(ended.losses)) == (2, 3)
                assert story in (ended.last_error or "")
                reached = {other: (await client.state(other)).iteration for other in others}
                await client.wait_until(
                    lambda states: all(
                        other in states and states[other].iteration > reached[other] + 3
                        for other in others
                    )
                )
                assert {(await client.state(other)).status for other in others} == {"running"}

    run(test)
