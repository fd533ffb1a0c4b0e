"""Fifty damaged bytes and 25 truncations of each kind of file: tests/unit/store has a sample."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.helpers.damage import OTHERS, Harm, build, endure, harmed, with_others

TIMES = {Harm.FLIP: 50, Harm.CUT: 25}


@pytest.mark.timeout(900)
@pytest.mark.parametrize("harm", Harm, ids=lambda harm: harm.value)
@pytest.mark.parametrize("file", ["store.sqlite", "store.sqlite-wal", "marks", *OTHERS])
def test_nothing_is_silently_wrong(file: str, harm: Harm, tmp_path: Path) -> None:
    built = build(tmp_path / "built", emptied=file in ("store.sqlite", *OTHERS))
    if file in OTHERS:
        built = with_others(built, tmp_path / "others")
    chance = random.Random(f"{file} {harm}")
    hurt = 0
    for _ in range(TIMES[harm]):
        data = harmed(built.files[file], harm, chance)
        about = endure(built, tmp_path / "data", file, data)
        hurt += bool(about.damaged_store or about.missing or about.damaged_counters)
    assert bool(hurt) is (file not in OTHERS)  # some of it hit what counts
