"""Nothing of this machine is found by accident."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from agentstepper_nb import AgentStepper, AgentStepperCore, discover
from tests.helpers.core_announcement import announce_core
from tests.sdk.person import LiveView
from tests.sdk.scripted_core import ScriptedCore


@pytest.fixture(autouse=True)
def no_core_of_this_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("AGENTSTEPPER_URL", "AGENTSTEPPER_TOKEN", "JPY_PARENT_PID"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "jupyter-runtime"))
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "jupyter-data"))


@pytest.fixture
def core() -> Iterator[ScriptedCore]:
    with ScriptedCore() as core:
        yield core


@pytest.fixture
def live() -> Iterator[AgentStepperCore]:
    """A real Core."""
    with AgentStepperCore("127.0.0.1", client_port=0, ui_port=0) as core:
        file = announce_core(core)
        yield core
        discover.remove_core_info(file)


@pytest.fixture
def person(live: AgentStepperCore) -> Iterator[LiveView]:
    """Somebody at the real Core's view."""
    with LiveView(live.ui_port) as person:
        yield person


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A workspace with one file."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "old.txt").write_text("old\n")
    return folder


@pytest.fixture
def dbg(core: ScriptedCore) -> Iterator[AgentStepper]:
    with AgentStepper("Tester", "127.0.0.1", core.port) as dbg:
        yield dbg


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(4) as pool:
        yield pool


@pytest.fixture
def agent(live: AgentStepperCore, pool: ThreadPoolExecutor) -> Iterator[AgentStepper]:
    """Ended before the pool, so that no thread of a test that failed stays halted."""
    with AgentStepper("agent", "127.0.0.1", live.client_port, stop_on_entry=False) as agent:
        yield agent
