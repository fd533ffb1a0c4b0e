"""A Core that is killed, by SIGKILL and wherever it stands, loses nothing and doubles nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.crash_recovery.core_hosts import JupyterHost, ServeHost
from tests.crash_recovery.faults import KillPoint
from tests.crash_recovery.person import CONTINUED, STEPPED
from tests.crash_recovery.session import CrashTest

pytestmark = pytest.mark.timeout(600)

AT_POINTS = [point for point in KillPoint if point is not KillPoint.ANYWHERE]


@pytest.mark.parametrize("seed", range(5))
def test_serve_killed_at_fifty_points(tmp_path: Path, seed: int) -> None:
    """Ten in each: one at each point, and six anywhere."""
    CrashTest(ServeHost(tmp_path), tmp_path, seed).survive([*AT_POINTS, *[KillPoint.ANYWHERE] * 6])


@pytest.mark.parametrize("durability", ["relaxed", "sync"])
def test_the_other_durabilities(tmp_path: Path, durability: str) -> None:
    host = ServeHost(tmp_path, ["--durability", durability])
    session = CrashTest(host, tmp_path, seed=7, relaxed=durability == "relaxed")
    session.survive([KillPoint.ANYWHERE] * 5)


@pytest.mark.parametrize("name", [STEPPED, CONTINUED])
def test_twenty_agents_killed(tmp_path: Path, name: str) -> None:
    CrashTest(ServeHost(tmp_path), tmp_path, seed=9).lose_agents(20, name)


def test_a_jupyter_server_killed_five_times(tmp_path: Path) -> None:
    CrashTest(JupyterHost(tmp_path), tmp_path, seed=8).survive([KillPoint.ANYWHERE] * 5)
