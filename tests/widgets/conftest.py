"""A Core, a kernel that finds it, and a person at a view."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentstepper_nb.hub.standalone import AgentStepperCore
from tests.widgets.kernel import Kernel
from tests.widgets.person import KernelTestView, connect_view

ROOT = Path(__file__).parents[2]
#: Which of the modules that take long to import are.
HEAVY_MODULES = (
    "import sys\n"
    "sorted({'anywidget', 'websockets', 'git', 'openai', 'tornado.websocket',"
    " 'agentstepper_nb.sdk', 'agentstepper_nb.widgets'} & set(sys.modules))"
)


@pytest.fixture(scope="module")
def core() -> Iterator[AgentStepperCore]:
    with AgentStepperCore(client_port=0, ui_port=0) as core:
        yield core


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the kernel works."""
    return tmp_path_factory.mktemp("kernel")


@pytest.fixture(scope="module")
def environment(folder: Path) -> dict[str, str]:
    """A kernel's environment in which no Core is to be found."""
    ours = {
        "JPY_SESSION_NAME": "/home/me/My notebook.ipynb",
        "JUPYTER_DATA_DIR": str(folder / "data"),
        "JUPYTER_RUNTIME_DIR": str(folder / "runtime"),
        "PYTHONPATH": str(ROOT),
    }
    # ipykernel leaves its children's output alone where it thinks that it is being tested.
    without = ("AGENTSTEPPER_", "JPY_", "PYTEST_")
    return {k: v for k, v in os.environ.items() if not k.startswith(without)} | ours


@pytest.fixture(scope="module")
def kernel(core: AgentStepperCore, environment: dict[str, str], folder: Path) -> Iterator[Kernel]:
    found = {
        "AGENTSTEPPER_URL": f"ws://127.0.0.1:{core.client_port}",
        "AGENTSTEPPER_TOKEN": core.tokens.agent,
        "AGENTSTEPPER_CONTROL_TOKEN": core.tokens.control,
    }
    kernel = Kernel(environment | found, str(folder))
    try:
        loaded = kernel.run("%load_ext agentstepper_nb")
        assert (loaded.status, loaded.text) == ("ok", "")
        kernel.heavy_modules = kernel.run(HEAVY_MODULES).value
        yield kernel
    finally:
        kernel.close()


@pytest.fixture
def person(core: AgentStepperCore) -> Iterator[KernelTestView]:
    with connect_view(f"ws://127.0.0.1:{core.ui_port}") as person:
        yield person
