"""A run as one line."""

from __future__ import annotations

import pytest

from agentstepper_nb.cli.lines import standing
from agentstepper_nb.protocol.values import Ending, Failure, Run, RunState


@pytest.mark.parametrize(
    ("pending", "words"),
    [
        ((), "its agent is away"),
        (("b",), "its agent is away, a message waits"),
        (("b", "c"), "its agent is away, 2 messages wait"),
    ],
)
def test_a_run_whose_agent_is_away(pending: tuple[str, ...], words: str) -> None:
    run = Run(
        id="r", name="R", program="P", started_at=1.0, state=RunState.DETACHED, pending=pending
    )
    assert standing(run) == words


def test_a_run_whose_process_was_killed() -> None:
    failure = Failure(type="ProcessEnded", message="The agent's process was killed by SIGKILL.")
    run = Run(
        id="r",
        name="R",
        program="P",
        started_at=1.0,
        state=RunState.IDLE,
        ending=Ending.CRASHED,
        failure=failure,
    )
    assert standing(run).startswith("crashed (ProcessEnded: The agent's process was killed")
