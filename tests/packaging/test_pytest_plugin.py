"""pytest finds the plugin where the package is installed."""

from __future__ import annotations

import tomllib
from importlib import import_module

from tests.docs.pages import ROOT


def test_the_entry_point_names_the_plugin() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    found = project["entry-points"]["pytest11"]
    assert found == {"agentstepper_nb": "agentstepper_nb.pytest_plugin"}
    plugin = import_module(found["agentstepper_nb"])
    assert plugin.pytest_addoption and plugin.replay_agent
