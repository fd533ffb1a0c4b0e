"""The `.run` files of earlier Cores, each taken in once."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from agentstepper_nb.store.sqlite.reader import delete_run_file, find_unimported_files

RECORDED = Path(__file__).parents[3] / "wire" / "recorded.run"


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    (tmp_path / "logs").mkdir()
    return tmp_path / "logs"


def test_files_are_given_once_and_a_copy_is_a_run_of_its_own(tmp_path: Path, logs: Path) -> None:
    for name in ("a", "b"):
        (logs / f"{name}.run").write_bytes(RECORDED.read_bytes())
    (logs / "a.log").write_text("for people")
    found = dict(find_unimported_files(tmp_path, (), ()))
    assert set(found) == {"a.run", "b.run"}
    first, second = (found[name].run.id for name in ("a.run", "b.run"))
    assert first != second
    again = dict(find_unimported_files(tmp_path, {"a.run"}, {first}))
    assert set(again) == {"b.run"}
    assert again["b.run"].run.id == second
    assert list(find_unimported_files(tmp_path, set(found), {first, second})) == []


def test_a_damaged_one_is_logged_and_left(
    tmp_path: Path, logs: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (logs / "cut.run").write_bytes(RECORDED.read_bytes()[:500])
    (logs / "folder.run").mkdir()
    (logs / "good.run").write_bytes(RECORDED.read_bytes())
    with caplog.at_level(logging.WARNING):
        assert [name for name, _ in find_unimported_files(tmp_path, (), ())] == ["good.run"]
    assert caplog.text.count("is not listed:") == 2
    assert (logs / "cut.run").stat().st_size == 500


def test_without_such_a_folder(tmp_path: Path) -> None:
    assert list(find_unimported_files(tmp_path, (), ())) == []


def test_a_deleted_run_leaves_no_file(tmp_path: Path, logs: Path) -> None:
    for name in ("a.run", "a.log", "b.run"):
        (logs / name).write_bytes(RECORDED.read_bytes())
    delete_run_file(tmp_path, "a.run")
    delete_run_file(tmp_path, "a.run")
    assert [each.name for each in logs.iterdir()] == ["b.run"]
