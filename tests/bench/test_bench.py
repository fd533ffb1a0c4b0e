from __future__ import annotations

import json
import re

import pytest

from bench import arms, report, round_trip, storing
from bench.__main__ import main
from bench.conversation import body
from bench.imports import Snippet, Start
from bench.looks import Look
from bench.round_trip import RoundTrip, Spread
from bench.storing import Opening, Room, Storing


@pytest.mark.soak
def test_it_runs_and_tells(capsys: pytest.CaptureFixture[str]) -> None:
    once = ("--sets", "--blocks", "--starts", "--looks", "--rounds")
    few = ("--appends", "--turns", "--growth", "--runs")
    options = [*once, *few]
    numbers = ["1"] * len(once) + ["2"] * len(few)
    main(
        [
            *(word for pair in zip(options, numbers, strict=True) for word in pair),
            *("--files", "50", "--clicks", "0", "--rest", "0"),
        ]
    )
    page = capsys.readouterr().out
    for arm in round_trip.KINDS:
        assert len(re.findall(rf"\| {arm.name} +\| \d+ KB", page)) == 2
    assert len(re.findall(r"\d+ µs \[\d+ – \d+\]", page)) == 14 + 4
    assert len(re.findall(r"\d+ ms \[\d+ – \d+\]", page)) == 7
    assert re.search(r"\| nothing changed +\| \d+ ms \[\d+ – \d+\] +\| \d+\.\d\d × ", page)
    assert "Step in the browser" not in page


@pytest.mark.parametrize("kind", [arms.FLOOR, arms.VERSION_1[1], arms.VERSION_2[2]])
def test_an_arm_goes_through_its_turns(kind: arms.Kind) -> None:
    with arms.arm(kind, 1_000) as arm:
        assert len(arm.block(70)) == 70  # so many that an acknowledgement is among the answers


def test_what_is_kept_is_weighed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storing, "_QUIET", 0.2)
    effort = storing.Effort(rounds=1, one_by_one=2, together=3, turns=3, runs=2)
    kept = storing.measure(effort)
    assert [rate.ratio.middle == 1 for rate in kept.rates] == [True, False, True, False]
    assert kept.room.new > 3 * 2000
    assert kept.room.idle > kept.room.new / 10
    assert kept.opening.seconds.middle > 0


@pytest.mark.parametrize("size", [1_000, 50_000])
def test_a_body_is_as_long_as_it_says(size: int) -> None:
    assert len(json.dumps(body(size))) == size


def test_a_missed_goal_is_said() -> None:
    ratio = Spread(1.1, 1.31, 1.5)
    trips = [RoundTrip("version 1, relaxed", 1_000, Spread(1e-4, 2e-4, 3e-4), ratio)]
    starts = [Start(Snippet("import x", "", goal=0.1), Spread(0.01, 0.02, 0.03))]
    looks = [Look("look", Spread(0.04, 0.051, 0.06), Spread(1.1, 1.2, 1.3), goal=0.05)]
    kept = Storing([], Room(500, 1_000_000, 3_100_000), Opening(1000, Spread(0.01, 0.02, 0.03)))
    page = report.page(trips, kept, [9.0, 11.0, 12.0], looks, starts)
    assert "1.31 × [1.10 – 1.50] | ≤ 1.3 ×: MISSED |" in page
    assert "| `import x` | 20 ms [10 – 30] | ≤ 100 ms: held |" in page
    assert "| 3.10 MB, 3.10 × the 1.00 MB that are new in it | ≤ 3 ×: MISSED |" in page
    assert "3 clicks: median 11.0 ms, at most 12.0 ms; goal ≤ 10 ms: MISSED." in page
    assert "200 µs [100 – 300]" in page
    assert "| look | 51 ms [40 – 60] | 1.20 × [1.10 – 1.30] | ≤ 50 ms: MISSED |" in page


def test_a_single_value_is_its_own_spread() -> None:
    assert Spread.of([2.0]) == Spread(2.0, 2.0, 2.0)
    assert Spread.of([1.0, 2.0, 3.0, 4.0, 5.0]) == Spread(2.0, 3.0, 4.0)
