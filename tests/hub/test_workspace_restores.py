"""Files that a fork restored in place are put back from a view: every refusal, and the files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentstepper_nb.hub import AccessRights, Hub, workspace_restores
from agentstepper_nb.replay.restore import find_restore, restore_in_place
from agentstepper_nb.replay.workspace import find_snapshot
from agentstepper_nb.sdk.workspace.workspace import find_data_dir
from agentstepper_nb.store import open_store
from tests.hub.harness import FakeConnection, ScriptedAgent, ScriptedView, open_hub
from tests.replay.workspace_trees import RecordedRun
from tests.sdk.workspace.helpers import make_repository


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The workspace of the recorded run, whose snapshots are where they are by default."""
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "jupyter"))
    return make_repository(tmp_path / "project", **{"main.py": "first\n"})


@pytest.fixture
def recorded(folder: Path) -> Iterator[RecordedRun]:
    run = RecordedRun(folder, find_data_dir())
    run.add_row()
    (folder / "main.py").write_text("second\n")
    yield run
    run.workspace.close()


def restore(recorded: RecordedRun) -> None:
    """What a fork of row 1 in place does."""
    data = find_data_dir().resolve()
    source = find_snapshot(recorded.files(), 1, data)
    restore_in_place(source, data)


async def record(hub: Hub, folder: Path | None, run: str = "run-1", **hello: Any) -> ScriptedAgent:
    workspace = {} if folder is None else {"workspace": str(folder.resolve())}
    agent = ScriptedAgent(run=run, **workspace, **hello)
    await agent.connect(hub)
    agent.begin("e")
    agent.reach("b", "hi", "e", waits=False)
    await hub.wait_recorded()
    return agent


async def list_restored(hub: Hub, run: str = "run-1") -> list[dict[str, Any]]:
    answer = await ScriptedView(hub).request("list_forks", run=run)
    restored: list[dict[str, Any]] = answer["body"]["restored"]
    return restored


async def refusal(hub: Hub, rights: AccessRights | None = None, **fields: Any) -> tuple[str, str]:
    view = ScriptedView(hub)
    if rights is not None:
        view.connection = FakeConnection()
        view.session = hub.connect_view(view.connection, 2, rights)
        view.send_command("hello", version=2, client="t")
    answer = await view.request("put_back", **{"run": "run-1"} | fields)
    assert answer["type"] == "error", answer
    return answer["body"]["code"], answer["body"]["message"]


async def test_files_are_put_back(folder: Path, recorded: RecordedRun) -> None:
    hub = await open_hub()
    (await record(hub, folder)).send_bye()
    assert await list_restored(hub) == []
    restore(recorded)
    assert (folder / "main.py").read_text() == "first\n"
    (await record(hub, folder, "f", forked_from={"run": "run-1", "row": 1})).send_bye()
    await hub.wait_recorded()
    (shown,) = await list_restored(hub)
    assert shown["folder"] == str(folder.resolve())
    assert (shown["recorded_run"], shown["row"], shown["is_done"]) == ("run-1", 1, True)
    view = ScriptedView(hub)
    answer = await view.request("put_back", run=shown["run"], restore=shown["restore"])
    assert answer["type"] == "files_put_back", answer
    assert "1 file written" in answer["body"]["report"]
    assert str(folder.resolve()) in answer["body"]["report"]
    assert (folder / "main.py").read_text() == "second\n"
    assert await list_restored(hub) == []
    code, message = await refusal(hub, run="f")
    assert code == "cannot_put_back"
    assert "There is nothing to put back in" in message
    await hub.close()


async def test_only_the_restore_that_was_seen_is_put_back(
    folder: Path, recorded: RecordedRun
) -> None:
    hub = await open_hub()
    (await record(hub, folder)).send_bye()
    restore(recorded)
    seen = (await list_restored(hub))[0]["restore"]
    (folder / "main.py").write_text("third\n")
    restore(recorded)
    code, message = await refusal(hub, restore=seen)
    assert (code, "Another fork has restored files in" in message) == ("cannot_put_back", True)
    assert (folder / "main.py").read_text() == "first\n"
    view = ScriptedView(hub)
    for expected in ("third\n", "second\n"):  # one by one, the newest first
        newest = (await list_restored(hub))[0]["restore"]
        await view.request("put_back", run="run-1", restore=newest)
        assert (folder / "main.py").read_text() == expected
    await hub.close()


async def test_who_may_not_puts_nothing_back(folder: Path, recorded: RecordedRun) -> None:
    hub = await open_hub()
    (await record(hub, folder)).send_bye()
    restore(recorded)
    no_login = await refusal(hub, AccessRights(has_login=False))
    assert no_login == ("cannot_put_back", workspace_restores.NO_TOKEN)
    watches, _ = await refusal(hub, AccessRights(can_control=False))
    assert watches == "watch_only"
    assert (folder / "main.py").read_text() == "first\n"
    assert find_restore(folder.resolve()) is not None
    await hub.close()


async def test_nothing_is_put_back_under_an_agent_that_works_there(
    folder: Path, recorded: RecordedRun
) -> None:
    hub = await open_hub()
    (await record(hub, folder)).send_bye()
    restore(recorded)
    fork = await record(hub, folder, "f", forked_from={"run": "run-1", "row": 1})
    code, message = await refusal(hub)
    assert (code, "still works in" in message) == ("cannot_put_back", True)
    fork.send_bye()
    await hub.wait_recorded()
    answer = await ScriptedView(hub).request("put_back", run="run-1")
    assert answer["type"] == "files_put_back"
    await hub.close()


async def test_runs_of_other_machines_and_imports(
    folder: Path, recorded: RecordedRun, tmp_path: Path
) -> None:
    hub = await open_hub(open_store(tmp_path / "store"))
    restore(recorded)
    (await record(hub, folder, host="elsewhere")).send_bye()
    assert await list_restored(hub) == []
    code, message = await refusal(hub)
    assert (code, "ran on another machine, elsewhere" in message) == ("cannot_put_back", True)
    (await record(hub, folder, "here")).send_bye()
    await hub.wait_recorded()
    _, data = await hub.export("here", "archive")
    imported = await hub.import_run(data)
    refused = await refusal(hub, run=imported.id)
    assert refused == ("cannot_put_back", workspace_restores.IMPORTED)
    assert (folder / "main.py").read_text() == "first\n"
    await hub.close()


async def test_a_run_without_a_workspace_and_one_that_never_was(tmp_path: Path) -> None:
    hub = await open_hub()
    (await record(hub, None)).send_bye()
    await hub.wait_recorded()
    assert await refusal(hub) == ("cannot_put_back", workspace_restores.NO_WORKSPACE)
    assert (await refusal(hub, run="never"))[0] == "unknown_run"
    await hub.close()


async def test_a_restore_of_another_tree_is_not_listed(folder: Path, recorded: RecordedRun) -> None:
    hub = await open_hub()
    (await record(hub, folder, "another")).send_bye()
    restore(recorded)  # of run-1, which this Core doesn't know
    assert await list_restored(hub, "another") == []
    await hub.close()


async def test_a_journal_that_cannot_be_read_spoils_no_tree(
    folder: Path, recorded: RecordedRun, caplog: pytest.LogCaptureFixture
) -> None:
    hub = await open_hub()
    (await record(hub, folder)).send_bye()
    restore(recorded)
    (journal,) = find_data_dir().resolve().glob("workspaces/*/restores/*.json")
    journal.write_text("{")
    assert await list_restored(hub) == []
    code, message = await refusal(hub)
    assert (code, "can't be read" in message) == ("cannot_put_back", True)
    await hub.close()
