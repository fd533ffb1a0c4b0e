"""An agent that waits for a person's next message: nothing runs, and nothing says that it does."""

from __future__ import annotations

import pytest

from agentstepper_nb.protocol.data_model import AgentActivity, EventSide, RunMode
from tests.helpers.debugger_harness import DebuggerHarness


@pytest.fixture
def harness() -> DebuggerHarness:
    harness = DebuggerHarness()
    harness.start(mode=RunMode.CONTINUE)
    event, _ = harness.begin_query()
    harness.reach(event, EventSide.END)
    harness.await_message()
    return harness


def test_an_agent_that_waits_for_a_message_runs_nothing(harness: DebuggerHarness) -> None:
    assert harness.run().agent_state is AgentActivity.WAITING


def test_its_next_event_ends_the_waiting(harness: DebuggerHarness) -> None:
    event, _ = harness.begin_query()
    assert harness.run().agent_state is AgentActivity.LLM_THINKING
    harness.reach(event, EventSide.END)
    assert harness.run().agent_state is AgentActivity.RUNNING


def test_halt_is_carried_out_with_its_next_event(harness: DebuggerHarness) -> None:
    harness.halt()
    assert (harness.run().mode, harness.run().agent_state) == (RunMode.STEP, AgentActivity.WAITING)
    harness.begin_query()
    assert harness.run().agent_state is AgentActivity.HALTED


def test_what_is_halted_stays_so(harness: DebuggerHarness) -> None:
    harness.halt()
    harness.begin_query()
    harness.await_message()  # of another task of the same run
    assert harness.run().agent_state is AgentActivity.HALTED
