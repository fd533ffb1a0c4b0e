from __future__ import annotations

import re
from dataclasses import replace

import pytest

from agentstepper_nb.protocol.runtime import AgentState, SessionStatus
from bench import report
from bench.fleet import FleetEffort, FleetRun, PlannedSession, measure, plan_sessions
from bench.fleet_monikers import HARMS, CountConfig
from bench.fleet_processes import MAX_DESCRIPTORS, Peak
from bench.report_fleet import make_fleet_section
from bench.round_trip import Spread
from bench.store_cost import DiskUsage, FolderOpening, StoreCosts

RUN = FleetRun(
    effort=FleetEffort(),
    steps=59_000,
    wall_s=100.0,
    core_cpu_s=59.0,
    core=Peak(descriptors=40, bytes=90_000_000),
    worker=Peak(descriptors=110, bytes=60_000_000, tree_bytes=300_000_000, processes=33),
    restarts=0,
    runs_bytes=59_000_000,
    sessions_bytes=5_900_000,
    faults=(),
    load=1.5,
)


def make_state(status: SessionStatus) -> AgentState:
    return AgentState(
        agent_id="a", session_id="s", moniker="m", status=status, created_at=1.0, updated_at=1.0
    )


def test_one_session_in_fifty_is_harmful_each_in_its_way() -> None:
    planned = plan_sessions(FleetEffort(sessions=1000, steps=60))
    harmful = [session.config for session in planned if session.config.harm]
    assert len(harmful) == 20
    assert {config.harm for config in harmful} == set(HARMS)
    assert all(0 <= config.harm_at < 60 for config in harmful)
    assert len({config.harm_at for config in harmful}) > 10
    assert not any(each.config.harm for each in plan_sessions(FleetEffort(harm_every=0)))


@pytest.mark.parametrize(
    "config", [CountConfig(steps=3), CountConfig(steps=9, harm="leak", harm_at=3)]
)
def test_a_session_is_judged_by_its_end_and_its_steps(config: CountConfig) -> None:
    session = PlannedSession("s", config)
    right, wrong = SessionStatus.DONE, SessionStatus.ERROR
    if config.harm:
        right, wrong = wrong, right
    assert session.find_fault(make_state(right), [0, 1, 2]) is None
    for status, iterations in (
        (wrong, [0, 1, 2]),
        (SessionStatus.RUNNING, [0, 1, 2]),
        (right, [0, 1]),  # lost
        (right, [0, 1, 1, 2]),  # doubled
        (right, [0, 2]),
    ):
        fault = session.find_fault(make_state(status), iterations)
        assert fault is not None and fault.startswith("s (")


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_small_fleet_ends_where_it_should() -> None:
    effort = FleetEffort(sessions=12, workers=1, steps=4, harm_every=4)
    run = measure(effort)
    assert run.faults == ()
    # Three harmful ones, at their steps 0, 3 and 2: seven times their number, within the steps.
    assert run.steps == 9 * 4 + 0 + 3 + 2
    assert run.restarts == 0
    assert 0 < run.core.descriptors < MAX_DESCRIPTORS
    assert run.core_cpu_s > 0
    assert run.worker.tree_bytes > run.worker.bytes > 1_000_000
    assert run.runs_bytes > run.sessions_bytes > 0


def test_fleets_are_said_beside_each_other() -> None:
    cooperative = replace(RUN, effort=FleetEffort(isolation="none"), steps=118_000, restarts=13)
    section = re.sub(" +", " ", "\n".join(make_fleet_section([RUN, cooperative])))
    for words in (
        "1,000 sessions of 60 steps that wait for nothing, on one Core and 4 workers",
        "| | isolated | cooperative | goal |",
        "| sessions that aren't where they should be | 0 | 0 | 0: held |",
        "| steps a second | 590 | 1,180 | |",
        "| workers that ended, and were started again | 0 | 13 | |",
        "| the same, with its step processes | 300 MB | 300 MB | |",
        "| bytes a step, of sessions | 100 | 50 | |",
    ):
        assert words in section
    missed = "\n".join(make_fleet_section([replace(RUN, faults=("s is gone",))]))
    assert re.search(r"should be +\| 1 +\| 0: MISSED", missed)
    empty = StoreCosts([], DiskUsage(1, 1, 1), FolderOpening(1, Spread(1, 2, 3)))
    page = report.make_page([], empty, [], [], [], fleet_runs=[RUN])
    assert "## A thousand sessions at once" in page
    assert "thousand" not in report.make_page([], empty, [], [], [])
