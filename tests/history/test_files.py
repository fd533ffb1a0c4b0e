"""Runs that go to files, and come back from them: taken in here, or by the Core that has the folder."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import agentstepper_nb
from agentstepper_nb import history
from agentstepper_nb.discover import CoreEndpoint
from agentstepper_nb.errors import CommandError, DiscoveryError, ProtocolError, StoreError
from agentstepper_nb.history import run_import
from agentstepper_nb.protocol.records import ImportedRunSaved, Record, RunDeleted, RunHistory
from agentstepper_nb.protocol.store_info import StoreInfo
from agentstepper_nb.protocol.v1 import runfile
from agentstepper_nb.store import archive
from agentstepper_nb.store.archive import render_run_text
from agentstepper_nb.store.folder_lock import lock_folder
from agentstepper_nb.store.memory import MemoryStore
from tests.helpers.histories import make_full_history
from tests.history.conftest import store_records

EVERY = make_full_history()


def moved(history: RunHistory, id: str) -> RunHistory:
    return archive.load_archive(archive.dump_archive(history), id)


# ---- to a file --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "format", "expected"),
    [
        ("a.run", None, runfile.dump_run(EVERY)),
        ("a.agentstepper.zip", None, archive.dump_archive(EVERY)),
        ("a.LOG", None, render_run_text(EVERY).encode()),
        ("a.txt", None, render_run_text(EVERY).encode()),
        ("a.backup", "archive", archive.dump_archive(EVERY)),
        ("a.zip", "run", runfile.dump_run(EVERY)),
    ],
)
def test_each_format(
    folder: Path, tmp_path: Path, name: str, format: str | None, expected: bytes
) -> None:
    path = agentstepper_nb.load_run("r", folder).export(tmp_path / name, format)
    assert path == tmp_path / name
    assert path.read_bytes() == expected
    assert path.stat().st_mode & 0o777 == 0o600


def test_nothing_is_overwritten_unasked(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.run"
    path.write_text("mine")
    run = agentstepper_nb.load_run("r", folder)
    with pytest.raises(FileExistsError, match="exists"):
        run.export(path)
    assert path.read_text() == "mine"
    run.export(path, force=True)
    assert runfile.load_run(path.read_bytes()).run.name == "Night run"


@pytest.mark.parametrize(("name", "format"), [("a.png", None), ("a", None), ("a.run", "pdf")])
def test_a_format_that_nobody_knows(
    folder: Path, tmp_path: Path, name: str, format: str | None
) -> None:
    with pytest.raises(ValueError, match="doesn't tell the format"):
        agentstepper_nb.load_run("r", folder).export(tmp_path / name, format)


def test_a_run_that_was_deleted_meanwhile(folder: Path) -> None:
    run = agentstepper_nb.load_run("r", folder)
    asyncio.run(store_records(folder, [RunDeleted(run="r")]))
    for call in (run.events, run.history, lambda: run.header):
        with pytest.raises(CommandError) as error:
            call()
        assert error.value.code == "unknown_run"


# ---- from a file ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a.zip", "a.run"])
def test_a_run_is_taken_in_where_nobody_has_the_folder(
    folder: Path, tmp_path: Path, name: str
) -> None:
    path = agentstepper_nb.load_run("r", folder).export(tmp_path / name)
    target = tmp_path / "elsewhere"
    taken = history.import_run(path, target)
    assert taken.id != "r"
    assert list(agentstepper_nb.list_runs(target).index) == [taken.id]
    assert taken.history() == archive.load_run_file(path.read_bytes(), taken.id)
    assert set(history.search_runs("asks", folder=target).run) == {taken.id}


def test_a_damaged_file_leaves_no_trace(tmp_path: Path) -> None:
    path = tmp_path / "a.run"
    path.write_bytes(zlib.compress(b"{}"))
    with pytest.raises(ProtocolError, match="damaged"):
        history.import_run(path, tmp_path / "new")
    assert not (tmp_path / "new").exists()
    with pytest.raises(FileNotFoundError):
        history.import_run(tmp_path / "missing.run", tmp_path / "new")


class FullStore(MemoryStore):
    """A store on a full disk."""

    def append(self, records: Sequence[Record], *callbacks: Any, **options: Any) -> None:
        for trouble in (None, "The store can't write: free disk space.", None):
            self.on_write_trouble(StoreInfo(kind="sqlite", trouble=trouble))


async def test_a_run_that_cant_be_stored_is_an_error() -> None:
    with pytest.raises(StoreError, match="free disk space"):
        await run_import._save(FullStore(), ImportedRunSaved(history=EVERY))


def test_a_core_that_has_the_folder_and_is_not_found(folder: Path, tmp_path: Path) -> None:
    path = agentstepper_nb.load_run("r", folder).export(tmp_path / "a.zip")
    with lock_folder(folder, "a test"), pytest.raises(DiscoveryError, match="No AgentStepper Core"):
        history.import_run(path, folder)


def test_a_file_above_what_a_core_takes(folder: Path, tmp_path: Path) -> None:
    path = agentstepper_nb.load_run("r", folder).export(tmp_path / "a.zip")
    nowhere = CoreEndpoint("ws://127.0.0.1:9")
    with pytest.raises(ProtocolError, match="Stop the Core to import") as error:
        run_import._upload_to_core(nowhere, path.read_bytes(), max_message_bytes=1500)
    assert error.value.code == "too_large"
