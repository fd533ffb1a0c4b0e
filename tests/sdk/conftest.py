"""Nothing of this machine is found by accident."""

from collections.abc import Iterator
from pathlib import Path

import pytest

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
