"""An agent that waits for a person's next message: nothing runs, and nothing says that it does."""

from __future__ import annotations

import pytest

from agentstepper_nb.protocol.data_model import AgentActivity, EventSide, RunMode
from tests.helpers.stage import Stage


@pytest.fixture
def stage() -> Stage:
    stage = Stage()
    stage.start(mode=RunMode.CONTINUE)
    event, _ = stage.query()
    stage.reach(event, EventSide.END)
    stage.await_message()
    return stage


def test_an_agent_that_waits_for_a_message_runs_nothing(stage: Stage) -> None:
    assert stage.run().agent_state is AgentActivity.WAITING


def test_its_next_event_ends_the_waiting(stage: Stage) -> None:
    event, _ = stage.query()
    assert stage.run().agent_state is AgentActivity.LLM_THINKING
    stage.reach(event, EventSide.END)
    assert stage.run().agent_state is AgentActivity.RUNNING


def test_halt_is_carried_out_with_its_next_event(stage: Stage) -> None:
    stage.halt()
    assert (stage.run().mode, stage.run().agent_state) == (RunMode.STEP, AgentActivity.WAITING)
    stage.query()
    assert stage.run().agent_state is AgentActivity.HALTED


def test_what_is_halted_stays_so(stage: Stage) -> None:
    stage.halt()
    stage.query()
    stage.await_message()  # of another task of the same run
    assert stage.run().agent_state is AgentActivity.HALTED
