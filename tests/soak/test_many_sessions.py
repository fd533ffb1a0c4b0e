"""Hundreds of sessions at once, of which some harm their process: all others are where they should be.

The full size, and what it costs, is `python -m bench.fleet`'s.
"""

from __future__ import annotations

import pytest

from bench.fleet import FleetEffort, FleetRun, Isolation, measure, plan_sessions
from bench.fleet_processes import MAX_DESCRIPTORS

pytestmark = [pytest.mark.soak, pytest.mark.timeout(600)]


@pytest.mark.parametrize(
    ("isolation", "sessions", "steps"), [("process", 400, 4), ("none", 100, 10)]
)
def test_every_session_is_where_it_should_be(
    isolation: Isolation, sessions: int, steps: int
) -> None:
    effort = FleetEffort(sessions=sessions, workers=4, steps=steps, isolation=isolation)
    planned = plan_sessions(effort)
    assert len([session for session in planned if session.config.harm]) == sessions // 50
    run = measure(effort)
    assert run.faults == ()
    wanted = (
        session.config.harm_at if session.config.harm else session.config.steps
        for session in planned
    )
    assert run.steps == sum(wanted)
    _fits_its_limits(run)
    if isolation == "process":
        assert run.restarts == 0
    else:  # a crash and a leak end the worker that they share, once at most: then they are tried alone
        ending = [session for session in planned if session.config.harm in ("crash", "leak")]
        assert 0 < run.restarts <= len(ending)


def test_two_cores_on_one_database_share_the_sessions() -> None:
    run = measure(FleetEffort(sessions=200, steps=10, cores=2, store="postgresql"))
    assert run.faults == ()
    assert run.restarts == 0
    _fits_its_limits(run)


def _fits_its_limits(run: FleetRun) -> None:
    for peak in (run.core, run.worker):
        assert 0 < peak.descriptors < MAX_DESCRIPTORS
