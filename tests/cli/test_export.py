"""`agentstepper export`: a run that is kept, as a file, beside the Core that keeps it or without it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

import agentstepper_nb
from agentstepper_nb.cli import main
from agentstepper_nb.history import import_run, search_runs
from agentstepper_nb.protocol.records import ImportedRunSaved
from agentstepper_nb.protocol.v1 import runfile
from agentstepper_nb.store import archive, open_store
from agentstepper_nb.store.archive import render_run_text
from tests.helpers.forked_python import run_python
from tests.helpers.histories import make_full_history

from .conftest import COMMAND, RECORDED, ServeProcess

EVERY = make_full_history()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with one run, which nobody has."""
    folder = tmp_path / "runs"

    async def keep() -> None:
        store = open_store(folder)
        kept = asyncio.Event()
        store.append([ImportedRunSaved(history=EVERY)], on_synced=kept.set)
        await kept.wait()
        store.close()

    asyncio.run(keep())
    return folder


@pytest.mark.parametrize(
    ("name", "options", "expected"),
    [
        ("a.run", [], runfile.dump_run(EVERY)),
        ("a.zip", [], archive.dump_archive(EVERY)),
        ("a.log", [], render_run_text(EVERY).encode()),
        ("a", ["--format", "archive"], archive.dump_archive(EVERY)),
    ],
)
@pytest.mark.parametrize("wanted", ["r", "Night run"])
def test_a_run_is_written(
    folder: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    name: str,
    options: list[str],
    expected: bytes,
    wanted: str,
) -> None:
    path = tmp_path / name
    assert main(["export", wanted, str(path), "--data", str(folder), *options]) == 0
    assert path.read_bytes() == expected
    said = capsys.readouterr()
    assert (said.out, said.err) == (f"Wrote Night run (r) to {path}.\n", "")


def test_what_is_there_is_replaced_only_when_asked(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.run"
    path.write_text("mine")
    command = ["export", "r", str(path), "--data", str(folder)]
    assert main(command) == 1
    assert path.read_text() == "mine"
    assert capsys.readouterr().err == (
        f"agentstepper export: {path} exists: choose another name, or add --force to replace the file.\n"
    )
    assert main([*command, "--force"]) == 0
    assert path.read_bytes() == runfile.dump_run(EVERY)


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["r", "a.png"], 2, "The name a.png doesn't tell the format. End the name with"),
        (["x", "a.run"], 1, "No run has the id or name 'x'. The newest runs are: Night run."),
        (["r", "nowhere/a.run"], 1, "nowhere/a.run can't be written: No such file or directory."),
        (["r", "runs", "--format", "run"], 1, "runs is a folder: name a file in it."),
        (["r", "a.run", "--data", "empty"], 1, "The folder empty has no runs: there is no store"),
    ],
)
def test_what_can_not_be_done(
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    code: int,
    says: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["export", "--data", str(folder), *arguments]) == code
    said = capsys.readouterr()
    assert (said.out, said.err.count("\n")) == ("", 1)
    assert said.err.startswith(f"agentstepper export: {says}")
    assert not (tmp_path / "a.run").exists()


def test_a_hostile_name_does_nothing_to_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hostile = replace(EVERY, run=replace(EVERY.run, name="\x1b[2Jgone"))
    source = tmp_path / "a.zip"
    source.write_bytes(archive.dump_archive(hostile))
    taken = import_run(source, tmp_path / "runs")
    command = ["export", taken.id, str(tmp_path / "b.log"), "--data", str(tmp_path / "runs")]
    assert main(command) == 0
    assert "\x1b" not in capsys.readouterr().out


@pytest.mark.slow
def test_beside_a_core_that_takes_runs_in(
    serve: Callable[..., ServeProcess], folder: Path, tmp_path: Path
) -> None:
    served = serve("--data", str(folder))
    taken = import_run(RECORDED, folder)
    assert list(agentstepper_nb.list_runs(folder).index) == ["r", taken.id]
    path = tmp_path / "b.run"
    command = [*COMMAND, "export", taken.id, str(path), "--data", str(folder)]
    done = run_python(command)
    assert (done.returncode, done.stderr) == (0, "")
    expected = runfile.load_run(RECORDED.read_bytes(), taken.id)
    assert runfile.load_run(path.read_bytes()) == expected
    assert "Recorded run imported" in served.stop()
    assert taken.history() == expected
    assert set(search_runs("recorder", folder=folder).run) == {taken.id}
