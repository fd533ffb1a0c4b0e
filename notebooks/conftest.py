"""Runs the tutorials: a Core, and a driver that presses the buttons."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import pytest

from agentstepper_nb.widgets import VIEW_MIME

from .renewed_outputs import teach_nbval
from .tutorial_core import serve_tutorials

#: What the tutorials make beside themselves: its tests are the agent's to run.
collect_ignore = ["background", "cart", "history", "sessions", "shop", "talks", "travel", "weather"]

_running = ExitStack()


def pytest_configure(config: pytest.Config) -> None:
    """Start before nbval starts the kernels, which inherit the environment."""
    teach_nbval()
    _running.enter_context(serve_tutorials())


def pytest_itemcollected(item: Any) -> None:
    """Compare no output that names a view: the tutorials keep none, as their Core is gone."""
    if VIEW_MIME not in item.parent.skip_compare:
        item.parent.skip_compare += (VIEW_MIME,)


def pytest_unconfigure(config: pytest.Config) -> None:
    """End with the tests."""
    _running.close()
