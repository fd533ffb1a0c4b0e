"""A Core that is killed, by SIGKILL and wherever it stands, loses nothing and doubles nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.crash_recovery.core_hosts import Jupyter, Serve
from tests.crash_recovery.faults import Point
from tests.crash_recovery.person import CONTINUED, STEPPED
from tests.crash_recovery.session import Session

pytestmark = pytest.mark.timeout(600)

AT_POINTS = [point for point in Point if point is not Point.ANYWHERE]


@pytest.mark.parametrize("seed", range(5))
def test_serve_killed_at_fifty_points(tmp_path: Path, seed: int) -> None:
    """Ten in each: one at each point, and six anywhere."""
    Session(Serve(tmp_path), tmp_path, seed).survive([*AT_POINTS, *[Point.ANYWHERE] * 6])


@pytest.mark.parametrize("durability", ["relaxed", "sync"])
def test_the_other_durabilities(tmp_path: Path, durability: str) -> None:
    host = Serve(tmp_path, ["--durability", durability])
    session = Session(host, tmp_path, seed=7, relaxed=durability == "relaxed")
    session.survive([Point.ANYWHERE] * 5)


@pytest.mark.parametrize("name", [STEPPED, CONTINUED])
def test_twenty_agents_killed(tmp_path: Path, name: str) -> None:
    Session(Serve(tmp_path), tmp_path, seed=9).lose_agents(20, name)


def test_a_jupyter_server_killed_five_times(tmp_path: Path) -> None:
    Session(Jupyter(tmp_path), tmp_path, seed=8).survive([Point.ANYWHERE] * 5)
