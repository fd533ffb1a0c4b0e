"""Damaged files: what is hurt is named, everything else is as it was, nothing is silently wrong.

A seeded sample; tests/soak/test_damaged_folders.py has the many.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.helpers.damaged_folders import (
    OTHERS,
    CoreFolderFiles,
    DamageKind,
    build,
    check_damage_is_reported,
    damage_bytes,
    histories,
    list_named_runs,
    with_other_files,
)
from tests.helpers.sampling import select_sample

pytestmark = pytest.mark.slow

FILES = ("store.sqlite", "store.sqlite-wal", "marks", *OTHERS)
SAMPLE = 1


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> dict[str, CoreFolderFiles]:
    """For each kind of file a store in which it counts."""
    folder = tmp_path_factory.mktemp("stores")
    emptied = build(folder / "emptied", emptied=True)
    journaled = build(folder / "journaled", emptied=False)
    others = with_other_files(emptied, folder / "others")
    return {
        "store.sqlite": emptied,
        "store.sqlite-wal": journaled,
        "marks": journaled,
        **dict.fromkeys(OTHERS, others),
    }


@pytest.mark.parametrize("harm", DamageKind, ids=lambda harm: harm.value)
@pytest.mark.parametrize("file", FILES)
def test_nothing_is_silently_wrong(
    stores: dict[str, CoreFolderFiles], file: str, harm: DamageKind, tmp_path: Path
) -> None:
    built = stores[file]
    for seed in range(SAMPLE):
        data = damage_bytes(built.files[file], harm, random.Random(f"{file} {harm} {seed}"))
        about = check_damage_is_reported(built, tmp_path / "data", file, data)
        if file in OTHERS:
            assert not about.damaged_store and not about.missing


@pytest.mark.parametrize(
    "size", select_sample([0, 99, 2000, 4095, 4096, 20_000, 60_000], 99, 20_000)
)
def test_a_store_that_was_cut(
    stores: dict[str, CoreFolderFiles], size: int, tmp_path: Path
) -> None:
    built = stores["store.sqlite"]
    about = check_damage_is_reported(
        built, tmp_path / "data", "store.sqlite", built.files["store.sqlite"][:size]
    )
    assert about.unopenable_store is not None


@pytest.mark.parametrize("size", select_sample([0, 4096, 20_000], 4096))
def test_where_the_list_of_runs_is_lost_the_search_names_them(
    stores: dict[str, CoreFolderFiles], size: int, tmp_path: Path
) -> None:
    built = stores["search.sqlite"]
    about = check_damage_is_reported(
        built, tmp_path / "data", "store.sqlite", built.files["store.sqlite"][:size]
    )
    assert list_named_runs(about) == set(built.histories)


@pytest.mark.parametrize(
    "word", select_sample(["runs", "header", "UNIQUE", "CREATE INDEX"], "runs")
)
def test_a_schema_whose_words_are_hurt(
    stores: dict[str, CoreFolderFiles], word: str, tmp_path: Path
) -> None:
    built = stores["store.sqlite"]
    data = built.files["store.sqlite"]
    data = data[:4096].replace(word.encode(), word[::-1].encode()) + data[4096:]
    about = check_damage_is_reported(built, tmp_path / "data", "store.sqlite", data)
    assert about.unopenable_store is not None


#: What stands at a byte of a store's header, and whether SQLite reads the store without these bits.
HEADER = {
    "a format's name": (0, 4, False),
    "pages of another size": (16, 0x30, False),
    "how it is written": (18, 4, True),
    "how it is read": (19, 4, False),
    "reserved bytes": (20, 4, None),
    "how many pages there are": (28, 4, True),
    "how many of them are free": (36, 4, True),
    "a version": (63, 4, True),
    "how pages are given back": (67, 1, True),
}


@pytest.mark.parametrize(
    "hurt", select_sample(HEADER, "a format's name", "reserved bytes", "how many of them are free")
)
def test_a_header_that_is_hurt(
    stores: dict[str, CoreFolderFiles], hurt: str, tmp_path: Path
) -> None:
    """What SQLite reads nevertheless comes back whole (None: in part)."""
    at, bits, readable = HEADER[hurt]
    built = stores["store.sqlite"]
    data = bytearray(built.files["store.sqlite"])
    data[at] ^= bits
    about = check_damage_is_reported(built, tmp_path / "data", "store.sqlite", bytes(data))
    assert about.unopenable_store is not None or at == 36
    back = histories(tmp_path / "data")
    if readable is not None:
        assert back == (built.histories if readable else {})


def test_a_store_that_was_not_harmed_is_as_it_was(
    stores: dict[str, CoreFolderFiles], tmp_path: Path
) -> None:
    for built in {id(each): each for each in stores.values()}.values():
        about = check_damage_is_reported(built, tmp_path / "data", "marks", built.files["marks"])
        assert (about.damaged, about.missing, about.structure_problems, about.unopenable_store) == (
            (),
            (),
            (),
            None,
        )
        assert about.runs == len(built.histories) == 5
