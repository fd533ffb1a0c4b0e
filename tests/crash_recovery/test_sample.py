"""A Core that is killed loses nothing: a sample of what tests/soak has."""

from __future__ import annotations

from pathlib import Path

import pytest

from .core_hosts import ServeHost
from .faults import KillPoint
from .person import CONTINUED, STEPPED
from .session import CrashTest


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_core_killed_twice_loses_nothing(tmp_path: Path) -> None:
    """Once from outside while its agents begin, and once by itself after a commit."""
    CrashTest(ServeHost(tmp_path), tmp_path, seed=4).survive([KillPoint.AFTER_COMMIT])


@pytest.mark.parametrize("name", [pytest.param(STEPPED, marks=pytest.mark.soak), CONTINUED])
def test_an_agent_killed_leaves_what_it_passed(tmp_path: Path, name: str) -> None:
    """All of it where it waited; else all but what it had yet to send."""
    CrashTest(ServeHost(tmp_path), tmp_path, seed=5).lose_agents(1, name)
