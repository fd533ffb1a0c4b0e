"""The tutorials beside work of one's own: what they leave, and what they leave alone."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import nbformat
import psutil
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

from agentstepper_nb import add_breakpoint, list_breakpoints, list_prices, set_price
from agentstepper_nb.hub import AgentStepperCore
from notebooks.driver import Driver
from tests.docs.pages import ROOT
from tests.helpers.sampling import select_sample

#: In the environment of all that a tutorial starts.
MARK = "STARTED_BY_A_TUTORIAL"
#: The fifth tutorial's agents, each of which has a process: one of them does for these tests.
FEWER_AGENTS = ("for number in range(10)", "for number in range(1)")
#: Seconds that it may take to end.
TIMEOUT_S = 60


@pytest.fixture
def core(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[AgentStepperCore]:
    """A Core that the kernel is told of, as a Jupyter server tells it: with its tokens."""
    for variable in ("JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR"):
        monkeypatch.setenv(variable, str(tmp_path / variable))
    monkeypatch.setenv(MARK, str(tmp_path))
    with AgentStepperCore("127.0.0.1", 0, 0) as core:
        driver = Driver(f"ws://127.0.0.1:{core.ui_port}")
        driver.start()
        monkeypatch.setenv("AGENTSTEPPER_URL", f"ws://127.0.0.1:{core.client_port}")
        monkeypatch.setenv("AGENTSTEPPER_TOKEN", core.tokens.agent)
        monkeypatch.setenv("AGENTSTEPPER_CONTROL_TOKEN", core.tokens.control)
        yield core
        driver.stop()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The tutorials' folder, beside the examples that they read."""
    for name in ("notebooks", "examples"):
        left_out = shutil.ignore_patterns("__pycache__", ".*", "history", "background")
        shutil.copytree(ROOT / name, tmp_path / name, ignore=left_out)
    return tmp_path / "notebooks"


def execute(notebook: Path, *, failing_after: str = "") -> None:
    """Execute a tutorial; where a text is given, the cell behind the one that has it fails."""
    document = nbformat.read(notebook, as_version=4)
    for cell in document.cells:
        cell.source = cell.source.replace(*FEWER_AGENTS)
    if failing_after:
        [cell] = [cell for cell in document.cells if failing_after in cell.source]
        failing = nbformat.v4.new_code_cell("raise SystemError")
        document.cells.insert(document.cells.index(cell) + 1, failing)
    resources = {"metadata": {"path": str(notebook.parent)}}
    NotebookClient(document, timeout=TIMEOUT_S, resources=resources).execute()


def started(tmp_path: Path) -> list[psutil.Process]:
    """The processes that a tutorial has started, and those that these have."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get(MARK) == str(tmp_path) and process.pid != psutil.Process().pid:
                found.append(process)
        except (psutil.AccessDenied, psutil.NoSuchProcess, psutil.ZombieProcess):
            continue
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", select_sample(("03_breakpoints", "06_chat"), "03_breakpoints"))
def test_a_tutorial_takes_away_only_what_it_has_set(
    core: AgentStepperCore, folder: Path, name: str
) -> None:
    mine = add_breakpoint("before tool deploy for elsewhere")
    set_price("gpt-mini", 1, 2)
    execute(folder / f"{name}.ipynb")
    assert list_breakpoints() == [mine]
    assert [price.model for price in list_prices()] == ["gpt-mini"]


@pytest.mark.soak  # make test-notebooks has it where there is no Core
def test_a_kernel_that_has_a_core_has_another_in_the_second_tutorial(
    core: AgentStepperCore, folder: Path, tmp_path: Path
) -> None:
    execute(folder / "02_history.ipynb")
    assert psutil.wait_procs(started(tmp_path), TIMEOUT_S)[1] == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "cell"),
    [
        pytest.param("02_history", 'press("e\\n"', marks=pytest.mark.soak),
        ("05_background_agents", "interval_s"),
        pytest.param("08_fleet", "fleet.map(", marks=pytest.mark.soak),
    ],
)
def test_a_tutorial_that_fails_leaves_nothing(
    core: AgentStepperCore, folder: Path, tmp_path: Path, name: str, cell: str
) -> None:
    with pytest.raises(CellExecutionError, match="SystemError"):
        execute(folder / f"{name}.ipynb", failing_after=cell)
    assert psutil.wait_procs(started(tmp_path), TIMEOUT_S)[1] == []
