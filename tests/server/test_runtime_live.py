"""The real thing: a Jupyter server, the worker that it starts for agents, and both killed."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from functools import partial

import pytest

from agentstepper_nb import Agents
from agentstepper_nb.protocol.runtime import AgentState
from tests.e2e.jupyter import running
from tests.server.live import LiveServer
from tests.worker.processes import gone

#: Seconds in which something has to happen that takes one or two.
SOON = 60.0


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    live = LiveServer(tmp_path_factory.mktemp("jupyter"))
    with running(live.server):
        yield live


@pytest.fixture
def agents(live: LiveServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Agents]:
    """As a program on the server's machine has them: found, with the control token."""
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(live.jupyter.runtime))
    for name in ("URL", "TOKEN", "CONTROL_TOKEN"):
        monkeypatch.delenv(f"AGENTSTEPPER_{name}", raising=False)
    with Agents.connect() as agents:
        yield agents


@pytest.mark.soak
def test_what_is_killed_comes_back(live: LiveServer, agents: Agents) -> None:
    """First the worker, then the server: the session goes on, and each iteration stands once."""
    assert live.workers() == []
    session = agents.create_agent("joker", "joke", {"interval_s": 0.01})
    state = agents.wait_for(session, iteration=1, timeout=SOON)
    for kill in (live.kill_worker, lambda: restarted(live)):
        worker, epoch = kill(), state.epoch
        assert gone(worker)
        state = agents.wait_for(session, partial(taken_over, epoch), timeout=SOON)
        state = agents.wait_for(session, iteration=state.iteration + 2, timeout=SOON)
        assert state.epoch == epoch + 1
        assert live.workers()[-1] != worker
    agents.destroy(session_id=session)
    ended = agents.wait_for(session, status="stopped", timeout=SOON)
    steps = agents.list_agent_steps(session, limit=1000)
    assert [step.iteration for step in steps] == list(range(ended.iteration))
    assert len({step.text for step in steps if step.text}) > 1


def taken_over(epoch: int, state: AgentState) -> bool:
    return state.epoch > epoch


def restarted(live: LiveServer) -> int:
    """Kill the server, and start it again; gives its worker of before, which ends with it."""
    worker = live.workers()[-1]
    live.server.stop(signal.SIGKILL)
    live.server.start()
    assert os.path.exists(live.jupyter.data / "agentstepper" / "runtime.sqlite")
    return worker
