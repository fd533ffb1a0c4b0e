"""A Core, a model and a person for each framework; its process runs all rows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentstepper_nb import AgentStepperCore
from agentstepper_nb.models.scripted import ScriptedServer
from tests.frameworks.agent_process import SCRIPT, AgentProcess
from tests.frameworks.sampled_rows import MODES, SAMPLED_FRAMEWORK, SAMPLED_MODE
from tests.frameworks.stepped_agent import SteppedAgent
from tests.frameworks.unsupported_rows import UNSUPPORTED_ROWS
from tests.helpers.core_announcement import announce_core
from tests.sdk.person import LiveView

#: The file of all frameworks' rows.
ROWS = Path(__file__).with_name("test_matrix.py")
for _module in ("agent_scopes", "replays"):
    pytest.register_assert_rewrite(f"tests.frameworks.{_module}")


def pytest_itemcollected(item: Any) -> None:
    """Leave the rows of which `make test` has no sample to `make frameworks`."""
    call: Any = getattr(item, "callspec", None)
    if call is None or "process" not in call.params:
        return
    mode = call.params.get("mode")
    is_sampled = (
        item.function.__module__ == "tests.frameworks.test_matrix"
        and call.params["process"] == SAMPLED_FRAMEWORK
        and (mode == SAMPLED_MODE or mode not in MODES)
    )
    if not is_sampled:
        item.add_marker(pytest.mark.frameworks)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let the rows of one framework follow each other: its process is started once."""
    places = [at for at, item in enumerate(items) if item.path == ROWS]
    rows = sorted((items[at] for at in places), key=_get_framework)
    for at, row in zip(places, rows, strict=True):
        items[at] = row


def _get_framework(item: Any) -> str:
    framework: str = item.callspec.params["process"]
    return framework


@pytest.fixture(scope="module")
def model() -> Iterator[ScriptedServer]:
    with ScriptedServer(SCRIPT) as server:
        yield server


@pytest.fixture(scope="module", autouse=True)
def no_core_of_this_machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    folder = tmp_path_factory.mktemp("jupyter")
    with pytest.MonkeyPatch.context() as patch:
        for name in ("AGENTSTEPPER_URL", "AGENTSTEPPER_TOKEN", "JPY_PARENT_PID"):
            patch.delenv(name, raising=False)
        patch.setenv("JUPYTER_RUNTIME_DIR", str(folder / "runtime"))
        patch.setenv("JUPYTER_DATA_DIR", str(folder / "data"))
        yield


@pytest.fixture(scope="module")
def core() -> Iterator[AgentStepperCore]:
    with AgentStepperCore("127.0.0.1", client_port=0, ui_port=0) as core:
        announce_core(core)  # without its token an agent would speak version 1
        yield core


@pytest.fixture(scope="module")
def process(
    request: pytest.FixtureRequest, model: ScriptedServer, core: AgentStepperCore
) -> Iterator[AgentProcess]:
    with AgentProcess(request.param, model.base_url, core.client_port) as process:
        yield process


@pytest.fixture(autouse=True)
def skip_unsupported_rows(request: pytest.FixtureRequest) -> None:
    """Skip a row that a framework can't have, and say why."""
    call = getattr(request.node, "callspec", None)
    params = {} if call is None else call.params
    for row in (params.get("mode"), request.node.originalname):
        if reason := UNSUPPORTED_ROWS.get((params.get("process"), row)):
            pytest.skip(f"{params['process']}, {row}: {reason}")


@pytest.fixture
def stepped_agent(
    process: AgentProcess, model: ScriptedServer, core: AgentStepperCore
) -> Iterator[SteppedAgent]:
    with LiveView(core.ui_port) as person:
        yield SteppedAgent(process, person, model)
