"""Fifty damaged bytes and 25 truncations of each kind of file: tests/unit/store has a sample."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.helpers.damaged_folders import (
    OTHERS,
    DamageKind,
    build,
    check_damage_is_reported,
    damage_bytes,
    with_other_files,
)

TIMES = {DamageKind.FLIP: 50, DamageKind.CUT: 25}


@pytest.mark.timeout(900)
@pytest.mark.parametrize("harm", DamageKind, ids=lambda harm: harm.value)
@pytest.mark.parametrize("file", ["store.sqlite", "store.sqlite-wal", "marks", *OTHERS])
def test_nothing_is_silently_wrong(file: str, harm: DamageKind, tmp_path: Path) -> None:
    built = build(tmp_path / "built", emptied=file in ("store.sqlite", *OTHERS))
    if file in OTHERS:
        built = with_other_files(built, tmp_path / "others")
    chance = random.Random(f"{file} {harm}")
    hurt = 0
    for _ in range(TIMES[harm]):
        data = damage_bytes(built.files[file], harm, chance)
        about = check_damage_is_reported(built, tmp_path / "data", file, data)
        hurt += bool(about.damaged_store or about.missing or about.damaged_counters)
    assert bool(hurt) is (file not in OTHERS)  # some of it hit what counts
