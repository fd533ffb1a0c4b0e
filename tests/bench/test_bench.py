from __future__ import annotations

import re

import pytest

from bench import arms, report
from bench.__main__ import main
from bench.conversation import body
from bench.imports import Snippet, Start
from bench.looks import Look
from bench.round_trip import RoundTrip, Spread


def test_it_runs_and_tells(capsys: pytest.CaptureFixture[str]) -> None:
    once = ("--sets", "--blocks", "--starts", "--looks")
    main([*(word for option in once for word in (option, "1")), "--turns", "2", "--files", "50"])
    page = capsys.readouterr().out
    for arm in (arms.FLOOR, arms.VERSION_1, arms.VERSION_2):
        assert len(re.findall(rf"\| {arm.name} +\| \d+ KB", page)) == 2
    assert len(re.findall(r"\d+ µs \[\d+ – \d+\]", page)) == 6
    assert len(re.findall(r"\d+ ms \[\d+ – \d+\]", page)) == 6
    assert re.search(r"\| nothing changed +\| \d+ ms \[\d+ – \d+\] +\| \d+\.\d\d × ", page)


@pytest.mark.parametrize("size", [1_000, 50_000])
def test_a_body_is_as_long_as_it_says(size: int) -> None:
    import json

    assert len(json.dumps(body(size))) == size


def test_a_missed_goal_is_said() -> None:
    ratio = Spread(1.1, 1.31, 1.5)
    trips = [RoundTrip("version 1", 1_000, Spread(1e-4, 2e-4, 3e-4), ratio)]
    starts = [Start(Snippet("import x", "", goal=0.1), Spread(0.01, 0.02, 0.03))]
    looks = [Look("look", Spread(0.04, 0.051, 0.06), Spread(1.1, 1.2, 1.3), goal=0.05)]
    page = report.page(trips, looks, starts)
    assert "1.31 × [1.10 – 1.50] | ≤ 1.3 ×: MISSED |" in page
    assert "| `import x` | 20 ms [10 – 30] | ≤ 100 ms: held |" in page
    assert "200 µs [100 – 300]" in page
    assert "| look | 51 ms [40 – 60] | 1.20 × [1.10 – 1.30] | ≤ 50 ms: MISSED |" in page


def test_a_single_value_is_its_own_spread() -> None:
    assert Spread.of([2.0]) == Spread(2.0, 2.0, 2.0)
    assert Spread.of([1.0, 2.0, 3.0, 4.0, 5.0]) == Spread(2.0, 3.0, 4.0)
