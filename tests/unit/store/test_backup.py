"""`agentstepper backup`: whole, beside a Core that writes, and never over something else."""

from __future__ import annotations

import asyncio
import stat
from pathlib import Path

import pytest

from agentstepper_nb.cli import main
from agentstepper_nb.errors import StoreError
from agentstepper_nb.protocol.records import RunDeleted, RunStarted
from agentstepper_nb.store import open_store
from agentstepper_nb.store.backup import back_up
from agentstepper_nb.store.checkup import examine_folder
from agentstepper_nb.store.runtime.conformance.base_suite import create_session, read_snapshot
from agentstepper_nb.store.runtime.sqlite import open_runtime_store
from tests.helpers.damaged_folders import LIVE, RUNS, build, histories


async def test_a_copy_made_beside_a_core_has_all_that_was_recorded_until_then(
    tmp_path: Path,
) -> None:
    folder, copy = tmp_path / "data", tmp_path / "copy"
    built = build(folder, emptied=False)
    built.write_to(folder)
    store, agents = open_store(folder), open_runtime_store(folder)
    list(store.load())
    await create_session(agents)
    assert back_up(folder, copy) == ("store.sqlite", "runtime.sqlite")
    gone = asyncio.Event()
    store.append([RunDeleted(run=RUNS[0])], gone.set)  # the Core goes on writing
    await gone.wait()
    store.close()
    await agents.close()
    assert histories(copy) == built.histories
    assert histories(folder).keys() == built.histories.keys() - {RUNS[0]}
    opened, others = open_store(copy), open_runtime_store(copy)
    live = {each.run.id for each in opened.load() if isinstance(each, RunStarted)}
    assert live == set(LIVE)
    assert (await read_snapshot(others)).session_id == "s"
    opened.close()
    await others.close()
    assert not examine_folder(copy).damaged_store


def test_a_copy_is_its_owner_s_alone(tmp_path: Path) -> None:
    build(tmp_path / "data", emptied=True)
    back_up(tmp_path / "data", tmp_path / "copy")
    modes = [each.stat().st_mode for each in (tmp_path / "copy", *(tmp_path / "copy").iterdir())]
    assert [stat.S_IMODE(mode) for mode in modes] == [0o700, 0o600]


def test_a_damaged_store_is_not_copied(tmp_path: Path) -> None:
    path = tmp_path / "data" / "store.sqlite"
    build(path.parent, emptied=True)
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises(StoreError, match=r"can't be backed up to .*copy: .*doctor --data"):
        back_up(path.parent, tmp_path / "copy")
    assert not (tmp_path / "copy").exists()


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, copy = tmp_path / "data", tmp_path / "copy"
    command = ["backup", str(copy), "--data", str(folder)]
    assert main(command) == 1
    assert "holds no store" in capsys.readouterr().err
    build(folder, emptied=True)
    assert main(command) == 0
    assert f"{folder} to {copy}." in capsys.readouterr().out
    assert main(command) == 1
    assert f"{copy} exists: name a folder that doesn't exist yet." in capsys.readouterr().err
