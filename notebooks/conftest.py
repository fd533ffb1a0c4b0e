"""Runs the tutorials: a Core, and a driver that presses the buttons."""

from __future__ import annotations

import os
import tempfile
from typing import Any

import pytest

from agentstepper_nb.hub import AgentStepperCore
from agentstepper_nb.widgets import VIEW_MIME
from scripts.demo import KERNELSPECS

from .driver import Driver
from .renewed_outputs import teach_nbval

#: What the tutorials make beside themselves: its tests are the agent's to run.
collect_ignore = ["background", "cart", "history", "sessions", "shop", "talks", "weather"]

_running: list[tuple[AgentStepperCore, Driver]] = []


def pytest_configure(config: pytest.Config) -> None:
    """Start before nbval starts the kernels, which inherit the environment."""
    teach_nbval()
    core = AgentStepperCore("127.0.0.1", 0, 0)
    core.start()
    driver = Driver(f"ws://127.0.0.1:{core.ui_port}")
    driver.start()
    _running.append((core, driver))
    os.environ["AGENTSTEPPER_URL"] = f"ws://127.0.0.1:{core.client_port}"
    os.environ["AGENTSTEPPER_TOKEN"] = core.tokens.agent
    os.environ["AGENTSTEPPER_CONTROL_TOKEN"] = core.tokens.control
    os.environ["JUPYTER_PATH"] = str(KERNELSPECS)
    # What is kept and announced stays out of the home folder.
    for variable in ("JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR"):
        os.environ[variable] = tempfile.mkdtemp(prefix="agentstepper-notebooks-")


def pytest_itemcollected(item: Any) -> None:
    """Compare no output that names a view: the tutorials keep none, as their Core is gone."""
    if VIEW_MIME not in item.parent.skip_compare:
        item.parent.skip_compare += (VIEW_MIME,)


def pytest_unconfigure(config: pytest.Config) -> None:
    """End with the tests."""
    for core, driver in _running:
        driver.stop()
        core.stop()
