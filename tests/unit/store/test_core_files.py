"""The files of a Core's folder beside its store: what is wrong with them is said, and put right."""

from __future__ import annotations

import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from agentstepper_nb.store.checkup import examine_folder, repair_folder
from agentstepper_nb.store.checkup.core_files import list_set_aside_stores
from agentstepper_nb.store.checkup.salvage import open_damaged_store
from tests.helpers.damaged_folders import CoreFolderFiles, histories

RECORDED = Path(__file__).parents[2] / "wire" / "recorded.run"


def spoil_search(folder: Path) -> None:
    (folder / "search.sqlite").write_bytes(b"no database" * 100)


def spoil_token(folder: Path) -> None:
    (folder / "agent-token").write_bytes(b"a tok\xffen\n")


def spoil_control_token(folder: Path) -> None:
    (folder / "control-token").write_bytes(b"")


def open_control_token_up(folder: Path) -> None:
    (folder / "control-token").write_text("x" * 43 + "\n")
    (folder / "control-token").chmod(0o640)


def open_up(folder: Path) -> None:
    (folder / "store.sqlite").chmod(0o644)


def interrupt(folder: Path) -> None:
    (folder / "store.sqlite.before-2.part").write_bytes(b"half")


@pytest.mark.parametrize(
    ("spoil", "field"),
    [
        (spoil_search, "search_problem"),
        (spoil_token, "tokens"),
        (spoil_control_token, "tokens"),
        (open_control_token_up, "open_to_others"),
        (open_up, "open_to_others"),
        (interrupt, "leftover_files"),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_other_files_are_looked_at_and_put_right(
    built: CoreFolderFiles, folder: Path, spoil: Callable[[Path], None], field: str
) -> None:
    assert not getattr(examine_folder(folder), field)
    spoil(folder)
    assert getattr(examine_folder(folder), field)
    assert [*repair_folder(folder)]
    assert not getattr(examine_folder(folder), field)
    assert histories(folder) == built.histories
    assert stat.S_IMODE((folder / "store.sqlite").stat().st_mode) == 0o600


def test_damaged_files_of_version_1_are_named_and_left(folder: Path) -> None:
    (folder / "logs").mkdir()
    (folder / "logs" / "good.run").write_bytes(RECORDED.read_bytes())
    (folder / "logs" / "cut.run").write_bytes(RECORDED.read_bytes()[:500])
    ((name, why),) = examine_folder(folder).unreadable_run_files
    assert name == "cut.run"
    assert why
    repair_folder(folder)
    assert (folder / "logs" / "cut.run").stat().st_size == 500


def test_good_tokens_are_no_damage(folder: Path) -> None:
    for name in ("agent-token", "control-token"):
        (folder / name).write_text("x" * 43 + "\n")
    assert examine_folder(folder).tokens == ()


def test_the_copies_of_two_who_look_are_their_own(folder: Path) -> None:
    path = folder / "store.sqlite"
    aside = path.rename(folder / "store.sqlite.damaged-20261128-120000")
    with open_damaged_store(aside) as one, open_damaged_store(aside) as other:
        assert len(list(folder.glob("*.salvage.part"))) == 2
        assert list_set_aside_stores(path) == [aside]
        for reader in (one, other):
            assert len(list(reader.runs())) == 5
    assert list(folder.glob("*.part*")) == []
