from __future__ import annotations

import json
import re
from contextlib import ExitStack
from pathlib import Path

import pytest

from agentstepper_nb import AgentStepper, AgentStepperCore, instrument
from agentstepper_nb.protocol.data_model import EventKind
from agentstepper_nb.protocol.envelope import SUBPROTOCOL
from bench import (
    background,
    conversations_text,
    flooding_agent,
    lease,
    long_runs,
    many_agents,
    measured_server,
    report,
    round_trip,
    seam,
    store_cost,
    wire,
)
from bench.__main__ import main
from bench.access import TOKENS
from bench.conversation import make_body
from bench.imports import ImportTime, Snippet
from bench.lease import LeaseCost
from bench.long_runs import LongRunCosts
from bench.open_fleet import FleetOpening
from bench.open_long import BrowserOpening
from bench.round_trip import RoundTrip, Spread
from bench.store_cost import DiskUsage, FolderOpening, StoreCosts
from bench.workspace_steps import SnapshotCost
from tests.helpers.core_announcement import announce_core
from tests.sdk.person import LiveView


@pytest.mark.soak
@pytest.mark.timeout(600)  # all rows, once
def test_it_runs_and_tells(capsys: pytest.CaptureFixture[str]) -> None:
    once = ("--sets", "--blocks", "--starts", "--looks", "--rounds", "--forks", "--replays")
    few = ("--appends", "--turns", "--growth", "--runs")
    options = [*once, *few]
    numbers = ["1"] * len(once) + ["2"] * len(few)
    main(
        [
            *(word for pair in zip(options, numbers, strict=True) for word in pair),
            *("--files", "50", "--clicks", "0", "--opens", "0", "--rest", "0"),
            *(
                "--halt-points",
                "0",
                "--steps",
                "0",
                "--actions",
                "0",
                "--queries",
                "0",
                "--sessions",
                "0",
            ),
        ]
    )
    page = capsys.readouterr().out
    for arm in round_trip.SETUPS:
        assert len(re.findall(rf"\| {arm.name} +\| \d+ KB", page)) == 2
    assert len(re.findall(r"\d+ µs \[\d+ – \d+\]", page)) == 14 + 4 + 6
    assert len(re.findall(r"\d+ ms \[\d+ – \d+\]", page)) == 7 + 4 + 2
    assert re.search(r"\| nothing changed +\| \d+ ms \[\d+ – \d+\] +\| \d+\.\d\d × ", page)
    assert re.search(r"\| a fresh folder +\| \d+ ms \[\d+ – \d+\] +\| \d+\.\d\d × ", page)
    assert "Step in the browser" not in page


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(measured_server.FLOOR, marks=pytest.mark.soak),
        pytest.param(measured_server.VERSION_1[1], marks=pytest.mark.soak),
        measured_server.VERSION_2[2],
    ],
)
def test_an_arm_goes_through_its_turns(kind: measured_server.Setup) -> None:
    with measured_server.start_agent(kind, 1_000) as arm:
        # So many that an acknowledgement is among the answers.
        assert len(arm.measure_block(70)) == 70


def test_what_is_kept_is_weighed() -> None:
    effort = store_cost.StoreEffort(
        rounds=1, one_by_one=2, together=3, turns=3, runs=2, quiet_s=0.2
    )
    kept = store_cost.measure(effort)
    assert [rate.ratio.middle == 1 for rate in kept.appends] == [True, False, True, False]
    assert kept.disk_usage.new_bytes > 3 * 2000
    assert kept.disk_usage.idle_bytes > kept.disk_usage.new_bytes / 10
    assert kept.opening.seconds.middle > 0


@pytest.mark.slow
def test_what_travels_is_weighed() -> None:
    (one,) = wire.measure(3, {"": conversations_text.grow})
    assert one.turns == 3
    assert one.new_bytes > 3 * 2000
    assert one.new_bytes / 2 < one.view_bytes < one.agent_bytes < 3 * one.new_bytes


@pytest.mark.slow
def test_a_leased_agent_waits_for_nobody() -> None:
    with lease.start_timed_agent(1_000, 2) as leased:
        assert len(leased.time_block(3)) == 2 * 3


@pytest.mark.slow
def test_queries_by_the_seam_are_recorded_and_timed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path))
    with ExitStack() as stack:
        core = stack.enter_context(
            AgentStepperCore("127.0.0.1", 0, 0, token=TOKENS.agent, control_token=TOKENS.control)
        )
        announce_core(core)
        stack.enter_context(measured_server.start_process("viewer", str(core.ui_port), SUBPROTOCOL))
        model = int(stack.enter_context(measured_server.start_process("model")))
        agent = seam.OpenAIAgent(model, 1_000, (seam.PLAIN, seam.SEAM))
        stack.callback(agent.close)
        port = core.client_port
        dbg = stack.enter_context(AgentStepper("bench", "127.0.0.1", port, token=TOKENS.agent))
        rounds = [agent.measure_round(index, 2, dbg) for index in range(2)]
        person = stack.enter_context(LiveView(core.ui_port))
        queries = [row for row in person.list_rows() if row.kind is EventKind.LLM_QUERY]
    assert len(queries) == 2 * 2 * (2 + 1)  # rounds, sides, queries of the seam's blocks alone
    assert all(row.failure is None for row in queries)
    assert not instrument.is_enabled()
    results = seam.summarize(1_000, rounds)
    assert [each.measure for each in results[::2]] == list(seam.MEASURES)
    assert all(each.values.middle > 0 for each in results)


def test_what_a_query_costs_is_said() -> None:
    rounds = [
        {
            seam.PLAIN: dict.fromkeys(seam.MEASURES, 0.001) | {seam.TOKENS_PER_S: 9000.0},
            seam.PASSIVE: dict.fromkeys(seam.MEASURES, 0.0015) | {seam.TOKENS_PER_S: 4500.0},
        }
    ]
    empty = StoreCosts([], DiskUsage(1, 1, 1), FolderOpening(1, Spread(1, 2, 3)))
    page = report.make_page([], empty, [], [], [], query_costs=seam.summarize(1_000, rounds))
    for words in (
        "| a whole answer | plain client | 1 KB | 1000 µs [1000 – 1000] | 1 |",
        "| a stream's first token | OpenInference | 1 KB | 1500 µs [1500 – 1500] | 1.50 × ",
        "| a stream's tokens a second | OpenInference | 1 KB | 4500 a second [4500 – 4500] | 0.50 × ",
    ):
        assert words in re.sub(" +", " ", page)
    assert "isn't halted" not in report.make_page([], empty, [], [], [])


@pytest.mark.soak
def test_a_long_run_and_many_agents_are_measured() -> None:
    long = long_runs.measure(long_runs.LongRunEffort(halt_points=3000, blocks=2, openings=2))
    assert long.memory_bytes > 10_000_000
    assert 0 < long.opening.first_bytes < 256 * 1024
    assert len(many_agents.measure(5, agent_count=4)) == 5
    assert len(flooding_agent.measure(5)) == 5


def test_what_a_long_run_costs_is_said() -> None:
    quick, slow = Spread(1e-4, 2e-4, 3e-4), Spread(2e-4, 3e-4, 4e-4)
    opening = long_runs.RunOpening(113_000, Spread(0.01, 0.02, 0.03), quick, 5.0)
    long = LongRunCosts(100_000, quick, slow, 1.5, 94_000_000, opening)
    empty = StoreCosts([], DiskUsage(1, 1, 1), FolderOpening(1, quick))
    page = report.make_page(
        [], empty, [], [], [], long_run=long, step_s=[0.001] * 99 + [0.07], flooded_step_s=[0.01]
    )
    for words in (
        "300 µs [200 – 400], 1.50 × the 200 µs [100 – 300] | ≤ 1.2 ×: MISSED |",
        "94 MB | ≤ 300 MB: held |",
        "113 KB, 20 ms [10 – 30] | ≤ 256 KB: held |",
        "a second each | median 1.0 ms, p99 70 ms | p99 ≤ 50 ms: MISSED |",
        "as fast as it can | median 10.0 ms, p99 10 ms | p99 ≤ 50 ms: held |",
    ):
        assert words in re.sub(" +", " ", page)


@pytest.mark.soak
def test_agents_that_run_on_their_own_are_measured() -> None:
    effort = background.BackgroundEffort(actions=40, rows=3000, blocks=2, pairs=5, steps=5, rest=0)
    measured = background.measure(effort)
    assert 0 < measured.wake_up.seconds.middle < measured.wake_up.seconds.high
    assert measured.wake_up.actions_per_s > 1
    for found in (measured.claims, measured.steps):
        assert [each.store for each in found] == ["SQLite", "PostgreSQL"]
    assert all(each.steps_per_s > 1 for each in measured.steps)
    assert all(each.few.middle > 0 and each.ratio.middle > 0 for each in measured.claims)


def test_what_agents_cost_the_queue_is_said() -> None:
    quick, slow = Spread(1e-4, 2e-4, 3e-4), Spread(2e-4, 3e-4, 4e-4)
    claiming = (
        background.ClaimCost("SQLite", 100_000, quick, slow, Spread(1, 1.5, 2)),
        background.ClaimCost("another", 100_000, quick, slow, Spread(1, 1.51, 2)),
    )
    rates = (background.StepRate("SQLite", 20, 1234.5),)
    waking = background.WakeUpCost(slow, 300, 1234.5)
    measured = background.BackgroundCosts(waking, claiming, rates)
    empty = StoreCosts([], DiskUsage(1, 1, 1), FolderOpening(1, quick))
    page = report.make_page([], empty, [], [], [], background_costs=measured)
    for words in (
        "| from asking until the handler begins | 300 µs [200 – 400] |",
        "| 300 actions asked for at one go | 1,234 a second |",
        "| SQLite: steps of 20 sessions at once | 1,234 a second |",
        "| SQLite: a claim with its end at 100,000 rows, against 1,000 |"
        " 300 µs [200 – 400], 1.50 × the 200 µs [100 – 300] | ≤ 1.5 ×: held |",
        "another: a claim with its end at 100,000 rows, against 1,000 |"
        " 300 µs [200 – 400], 1.51 × the 200 µs [100 – 300] | ≤ 1.5 ×: MISSED |",
    ):
        assert words in re.sub(" +", " ", page)
    assert "run on their own" not in report.make_page([], empty, [], [], [])


def test_what_a_lease_saves_is_said() -> None:
    version_1, quick, slow = Spread(3e-4, 4e-4, 5e-4), Spread(1e-5, 2e-5, 3e-5), Spread(0, 9e-5, 1)
    leased = [
        LeaseCost(1_000, version_1, quick, Spread(18, 19, 20), slow),
        LeaseCost(50_000, version_1, slow, Spread(3, 4, 5), slow),
    ]
    page = report.make_page(
        [],
        StoreCosts([], DiskUsage(1, 1, 1), FolderOpening(1, quick)),
        [],
        [],
        [],
        lease_costs=leased,
    )
    assert "| ≤ 26 µs: held; ≥ 20 × cheaper than version 1, it is 19.0 ×: MISSED |" in page
    assert "| ≤ 75 µs: MISSED " in page


def test_conversations_say_nothing_twice() -> None:
    for talk in conversations_text.CONVERSATIONS.values():
        turns = list(talk(60))
        assert len({json.dumps(turn.answer) for turn in turns}) == 60
        assert (
            conversations_text.count_new_bytes(turns)
            == conversations_text.count_new_bytes(iter(turns))
            > 60 * 2000
        )


@pytest.mark.parametrize("size", [1_000, 50_000])
def test_a_body_is_as_long_as_it_says(size: int) -> None:
    assert len(json.dumps(make_body(size))) == size


def test_a_missed_goal_is_said() -> None:
    ratio = Spread(1.1, 1.31, 1.5)
    trips = [RoundTrip("version 1, relaxed", 1_000, Spread(1e-4, 2e-4, 3e-4), ratio)]
    starts = [ImportTime(Snippet("import x", "", goal=0.1), Spread(0.01, 0.02, 0.03))]
    looks = [SnapshotCost("look", Spread(0.04, 0.051, 0.06), Spread(1.1, 1.2, 1.3), goal=0.05)]
    kept = StoreCosts(
        [], DiskUsage(500, 1_000_000, 3_100_000), FolderOpening(1000, Spread(0.01, 0.02, 0.03))
    )
    travelled = [
        wire.WireCost("", 500, 1_000_000, 3_100_000, 2_000_000),
        wire.WireCost("cut", 500, 1_000_000, 4_000_000, 5_000_000),
    ]
    opened = BrowserOpening(100_000, [300.0, 501.0, 600.0], 256 * 1024, 60)
    page = report.make_page(trips, kept, [9.0, 11.0, 12.0], looks, starts, travelled, opened)
    assert "1.31 × [1.10 – 1.50] | ≤ 1.3 ×: MISSED |" in page
    assert "| `import x` | 20 ms [10 – 30] | ≤ 100 ms: held |" in page
    assert "| 3.10 MB, 3.10 × the 1.00 MB that are new in it | ≤ 3 ×: MISSED |" in page
    assert (
        "each: agent to Core | 3.10 MB, 3.10 × the 1.00 MB that are new in it | ≤ 3 ×: MISSED"
        in page
    )
    assert (
        "each: Core to view  | 2.00 MB, 2.00 × the 1.00 MB that are new in it | ≤ 3 ×: held" in page
    )
    assert re.search(r"\| cut: Core to view +\| 5.00 MB, 5.00 × .* \| +\|", page)
    assert "3 clicks: median 11.0 ms, at most 12.0 ms; goal ≤ 10 ms: MISSED." in page
    assert re.search(r"100,000 events, .* \| 501 ms, at most 600 ms \| ≤ 500 ms: MISSED", page)
    assert re.search(r"brings it +\| 256 KB +\| ≤ 256 KB: held", page)
    assert "200 µs [100 – 300]" in page
    assert "| look | 51 ms [40 – 60] | 1.20 × [1.10 – 1.30] | ≤ 50 ms: MISSED |" in page


def test_a_single_value_is_its_own_spread() -> None:
    assert Spread.of([2.0]) == Spread(2.0, 2.0, 2.0)
    assert Spread.of([1.0, 2.0, 3.0, 4.0, 5.0]) == Spread(2.0, 3.0, 4.0)


def test_a_fleet_is_held_to_time_and_rows() -> None:
    assert "median 400 ms, at most 900 ms" in FleetOpening(10, [300, 400, 900], 200).describe()
    assert FleetOpening(10, [300, 400, 900], 200).describe().endswith(": held.")
    assert FleetOpening(10, [300, 501, 900], 200).describe().endswith(": MISSED.")
    assert FleetOpening(10, [300, 400, 900], 201).describe().endswith(": MISSED.")
