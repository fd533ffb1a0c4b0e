"""What the agent works on in these tests is not ours to run; and an agent in the debugger."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agentstepper_nb import AgentStepperCore, AsyncAgentStepper
from agentstepper_nb.coding.sandbox import bubblewrap, command_environment, landlock
from tests.coding.debugged_agent import AsyncLiveView, Debug, DebuggedAgentHarness
from tests.coding.scripted_parts import FakeProvider
from tests.sdk.person import LiveView

collect_ignore = ["repos", "scripts"]


@pytest.fixture
def cached_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let Python in a sandbox read the caches beside its modules, and write none.

    A session's Python has an empty folder of caches: it compiles what it imports, for a second.
    """
    original = command_environment.make_environment

    def make_environment(*folders: Path | None) -> dict[str, str]:
        variables = original(*folders)
        if variables.pop("PYTHONPYCACHEPREFIX", None) is not None:
            variables["PYTHONDONTWRITEBYTECODE"] = "1"
        return variables

    for module in (bubblewrap, landlock):
        monkeypatch.setattr(module, "make_environment", make_environment)


@pytest.fixture
def core() -> Iterator[AgentStepperCore]:
    with AgentStepperCore("127.0.0.1", client_port=0, ui_port=0) as core:
        yield core


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for sessions, where no debugger and nothing of Jupyter's on this machine is found."""
    for name in ("AGENTSTEPPER_URL", "AGENTSTEPPER_TOKEN", "JPY_PARENT_PID"):
        monkeypatch.delenv(name, raising=False)
    for name in ("JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    (tmp_path / "repo").mkdir()
    return tmp_path


@pytest.fixture
def person(
    home: Path, core: AgentStepperCore, monkeypatch: pytest.MonkeyPatch
) -> Iterator[LiveView]:
    """Somebody at a debugger that sessions find."""
    monkeypatch.setenv("AGENTSTEPPER_URL", f"ws://127.0.0.1:{core.client_port}")
    monkeypatch.setenv("AGENTSTEPPER_TOKEN", core.tokens.agent)
    with LiveView(core.ui_port) as person:
        yield person


@pytest.fixture
def view(core: AgentStepperCore) -> Iterator[AsyncLiveView]:
    with AsyncLiveView(core.ui_port) as view:
        yield view


@pytest.fixture
def debug(core: AgentStepperCore, tmp_path: Path) -> Debug:
    """Opens an agent in the debugger; at its end log and conversation agree."""

    @asynccontextmanager
    async def opened(
        model: FakeProvider, mode: Any = "step", **options: Any
    ) -> AsyncIterator[DebuggedAgentHarness]:
        dbg = AsyncAgentStepper(
            "coder", "127.0.0.1", core.client_port, stop_on_entry=False, mode=mode
        )
        async with dbg:
            made = DebuggedAgentHarness(tmp_path, model, dbg, **options)
            yield made
        with made:
            pass

    return opened
