"""Runs on disk: their names, their care, and what happens to damaged ones."""

from __future__ import annotations

import logging
import stat
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from agentstepper_nb.protocol.records import RunHistory
from agentstepper_nb.protocol.v1 import runfile
from agentstepper_nb.store.files import RunFiles

RECORDED = Path(__file__).parents[2] / "wire" / "recorded.run"
LOGGER = "agentstepper_nb.store.files"


def history(name: str = "Run #1 of P", id: str = "r", **fields: object) -> RunHistory:
    loaded = runfile.load(RECORDED.read_bytes(), id)
    return replace(loaded, run=replace(loaded.run, name=name, **fields))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "data" / "logs"


@pytest.fixture
def files(folder: Path) -> Iterator[RunFiles]:
    files = RunFiles(folder)
    yield files
    files.close()


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def at(run: RunHistory) -> str:
    return time.strftime("%Y-%m-%d_%H-%M-%S", time.localtime(run.run.started_at))


def test_a_run_is_two_files_of_its_owner_alone(files: RunFiles, folder: Path) -> None:
    run = history()
    files.write(run)
    files.close()
    stem = f"Run #1 of P_{at(run)}"
    assert names(folder) == [f"{stem}.log", f"{stem}.run"]
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o600 for path in folder.iterdir())
    assert runfile.load((folder / f"{stem}.run").read_bytes()).run.name == "Run #1 of P"


def test_a_run_written_again_takes_its_place(files: RunFiles, folder: Path) -> None:
    files.write(history())
    files.write(history("Renamed"))
    files.close()
    (run,) = folder.glob("*.run")
    assert run.name.startswith("Run #1 of P_")
    assert runfile.load(run.read_bytes()).run.name == "Renamed"


def test_runs_of_one_name_and_second_have_files_of_their_own(files: RunFiles, folder: Path) -> None:
    for id in ("a", "b", "c"):
        files.write(history(id=id))
    files.close()
    stem = f"Run #1 of P_{at(history())}"
    assert names(folder) == sorted(
        f"{stem}{number}{kind}" for number in ("", "_2", "_3") for kind in (".log", ".run")
    )


@pytest.mark.parametrize(
    ("name", "begins"),
    [
        ("../../etc/passwd", "etcpasswd_2"),
        ("..", "run_2"),
        ("/", "run_2"),
        ("", "run_2"),
        (".hidden", "hidden_2"),
        ("a\nb\x00c", "abc_2"),
        ("Größe ✓ 数", "Größe  数_2"),
        ("数" * 200, "数" * 40 + "_2"),
        ("x" * 10_000, "x" * 120 + "_2"),
        ("-rf", "-rf_2"),
    ],
    ids=range(10),
)
def test_any_name_makes_a_file(files: RunFiles, folder: Path, name: str, begins: str) -> None:
    files.write(history(name))
    files.close()
    (run,) = folder.glob("*.run")
    assert run.name.startswith(begins)
    assert runfile.load(run.read_bytes()).run.name == name


def test_deleting_takes_both_files(files: RunFiles, folder: Path) -> None:
    files.write(history(id="a"))
    files.write(history(id="b"))
    files.delete("a")
    files.delete("a")
    files.delete("never there")
    files.close()
    assert [path.suffix for path in sorted(folder.iterdir())] == [".log", ".run"]


def test_they_are_listed_again_oldest_first(folder: Path) -> None:
    files = RunFiles(folder)
    for id, started in (("new", 3000.0), ("old", 1000.0), ("middle", 2000.0)):
        files.write(history(id=id, started_at=started))
    files.close()
    again = RunFiles(folder)
    assert [each.run.id for each in again.load()] == ["old", "middle", "new"]
    again.delete("middle")
    again.write(history("Renamed", id="old", started_at=1000.0))
    again.close()
    last = RunFiles(folder)
    assert [(each.run.id, each.run.name) for each in last.load()] == [
        ("old", "Renamed"),
        ("new", "Run #1 of P"),
    ]
    last.close()
    assert len(names(folder)) == 4


def test_a_missing_folder_is_made_when_needed(files: RunFiles, folder: Path) -> None:
    assert list(files.load()) == []
    assert not folder.exists()


def test_a_copied_file_is_a_run_of_its_own(files: RunFiles, folder: Path) -> None:
    folder.mkdir(parents=True)
    for name in ("a", "b"):
        (folder / f"{name}.run").write_bytes(RECORDED.read_bytes())
    ids = [each.run.id for each in files.load()]
    assert len(set(ids)) == 2
    assert "b" in ids


def test_a_damaged_file_is_logged_and_left_alone(
    files: RunFiles, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder.mkdir(parents=True)
    (folder / "good.run").write_bytes(RECORDED.read_bytes())
    (folder / "cut.run").write_bytes(RECORDED.read_bytes()[:500])
    (folder / "empty.run").write_bytes(b"")
    (folder / "folder.run").mkdir()
    (folder / "other.txt").write_text("not ours")
    (folder / "half written.run.part").write_bytes(b"")
    with caplog.at_level(logging.WARNING, LOGGER):
        assert [each.run.name for each in files.load()] == ["Recorded run"]
    said = "\n".join(record.getMessage() for record in caplog.records)
    assert said.count("is not listed") == 3
    assert (
        "cut.run is not listed: This is no .run file" in said
        or "cut.run is not listed: The" in said
    )
    assert (folder / "cut.run").stat().st_size == 500


def test_what_cannot_be_written_or_deleted_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "a file").write_text("in the way")
    files = RunFiles(tmp_path / "a file")
    with caplog.at_level(logging.ERROR, LOGGER):
        files.write(history())
        files.delete("r")
        files.close()
    assert ["could not be written" in caplog.text, "could not be deleted" in caplog.text] == [
        True,
        True,
    ]


def test_a_line_of_text_for_people(files: RunFiles, folder: Path) -> None:
    files.write(history())
    files.close()
    (log,) = folder.glob("*.log")
    text = log.read_text(encoding="utf-8")
    assert text.startswith("Run #1 of P (Recorder)\nstarted 2026-11-21T21:10:22.000+00:00\n")
    for line in (
        "[1] 2026-11-21T21:10:22.000+00:00 program started, begin: Agent program started.",
        '"wrote 4 bytes to b.txt"',
        'edited to: {"messages": [{"role": "user", "content": "edited"}]}',
        "[6] 2026-11-21T21:10:24.000+00:00 debug message",
        '"loop finished \\u2713"',
        "commit 97ebd3d5fb4f 2026-11-21T21:10:24.000+00:00 Add b.txt",
        "  added b.txt +1 -0",
        "  changed a.txt +1 -0",
        "  deleted README.md +0 -0",
    ):
        assert line in text.splitlines()
    order = [text.index(word) for word in ("[1]", "[5]", "Add b.txt", "[6]", "[7]")]
    assert order == sorted(order)
