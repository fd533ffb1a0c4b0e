"""All agents at once, for programs: how they stand, halting and continuing all of them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from agentstepper_nb import Agents, AgentStepper
from agentstepper_nb.hub import AgentStepperCore
from agentstepper_nb.protocol.runtime import SessionStatus
from agentstepper_nb.sdk.base_stepper import InitialMode
from tests.runtime.manual_worker import ManualWorker
from tests.widgets.person import connect_view

TIMEOUT_S = 30


@pytest.fixture
def core(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[AgentStepperCore]:
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "runtime"))
    for name in ("URL", "TOKEN", "CONTROL_TOKEN"):
        monkeypatch.delenv(f"AGENTSTEPPER_{name}", raising=False)
    with AgentStepperCore("127.0.0.1", 0, 0, data=tmp_path / "data") as core:
        yield core


@pytest.fixture
def agents(core: AgentStepperCore) -> Iterator[Agents]:
    with Agents.connect(core.url(core.client_port), core.tokens.control) as agents:
        yield agents


def test_sessions_are_counted_and_listed(core: AgentStepperCore, agents: Agents) -> None:
    worker = ManualWorker(core)
    for name in ("one", "two", "three"):
        agents.create_agent(name, "joke", session_id=name)
    for _ in range(2):
        worker.finish_next_action()
    worker.set_status("two", SessionStatus.ERROR, "Boom 7")
    fleet = agents.fleet(status=["error", "created"], text="T", limit=10)
    assert {each.status.value: each.count for each in fleet.report.counts} == {
        "created": 1,
        "error": 1,
        "running": 1,
    }
    assert [each.session_id for each in fleet.report.sessions] == ["three", "two"]
    assert [each.message for each in fleet.report.errors] == ["Boom 7"]
    assert agents.fleet(moniker="other", limit=10).report.matching == 0
    with pytest.raises(ValueError, match="quarantined"):
        agents.fleet(status="quarantine")


def test_runs_are_halted_and_continued(core: AgentStepperCore, agents: Agents) -> None:
    ready, seen = threading.Event(), threading.Event()

    def look(name: str, *, goes_on: bool = False) -> str:
        mode: InitialMode = "continue" if goes_on else "step"
        url = core.url(core.client_port)
        with AgentStepper(name, url=url, mode=mode, stop_on_entry=False) as dbg:
            ready.set()
            while True:  # what it passes before it has heard of Halt doesn't halt
                with dbg.tool("look", {}) as tool:
                    tool.result = "nothing"
                if not goes_on or seen.is_set():
                    return name

    with ThreadPoolExecutor(3) as pool, connect_view(core.url(core.ui_port or 0)) as person:
        first, second = (pool.submit(look, name) for name in ("a", "b"))
        halted: set[str] = set()
        while len(halted) < 2:
            halted.add(person.wait_until_halted().program)
        ready.clear()
        going = pool.submit(look, "c", goes_on=True)
        assert ready.wait(TIMEOUT_S)
        assert agents.halt_runs() == 1
        person.wait_for_run(lambda run: run.program == "c" and bool(run.pending))
        seen.set()
        inbox = {run.program: run.run_id for run in agents.fleet().inbox}
        assert set(inbox) == {"a", "b", "c"}
        found = agents.continue_runs(but=[inbox["a"], inbox["c"]])
        assert (found.changed, found.approvals) == (1, 0)
        assert second.result(TIMEOUT_S) == "b"
        assert agents.continue_runs([inbox["a"]]).changed == 1
        assert first.result(TIMEOUT_S) == "a"
        assert agents.continue_runs().changed == 1
        assert going.result(TIMEOUT_S) == "c"
