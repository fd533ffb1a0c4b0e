"""Commits, as an agent makes them; what they hold is tested in `workspace`."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from agentstepper_nb import AgentStepper, AsyncAgentStepper, ConnectionLostError, WorkspaceError
from agentstepper_nb.protocol.agent import Bye, CommitMade, EventBegun, HaltPointReached
from tests.sdk.both_steppers import both, run
from tests.sdk.scripted_core import ScriptedCore
from tests.sdk.workspace.helpers import git


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "old.txt").write_text("old\n")
    return folder


@both
def test_commits(stepper_kind: str, core: ScriptedCore, folder: Path) -> None:
    async def scenario(dbg: Any) -> Any:
        made = [await dbg.commit_agent_changes()]
        async with dbg.tool("write", {}) as t:
            (folder / "new.txt").write_text("new\n")
            made.append(await dbg.commit_agent_changes("A summary", "and more"))
            t.result = None
        made.append(await dbg.commit_agent_changes())
        return made

    made = run(stepper_kind, core, scenario, agent_workspace_path=folder)
    assert made == [False, True, False]
    peer = core.wait_for_peer()
    peer.wait_until_gone()
    kinds = [type(message) for message in peer.received[:3]]
    assert kinds == [EventBegun, CommitMade, HaltPointReached]
    first, second = (message for message in peer.received if isinstance(message, CommitMade))
    assert (first.title, first.changes, first.event) == ("Initialized repository", (), None)
    assert (second.title, second.description) == ("A summary", "and more")
    assert [change.path for change in second.changes] == ["new.txt"]
    assert second.event == peer.events[1].id
    assert peer.hello is not None
    assert peer.hello.workspace == str(folder.resolve())
    assert sorted(path.name for path in folder.iterdir()) == ["new.txt", "old.txt"]


@both
def test_whose_title_was_made_by_rule_is_told(
    stepper_kind: str, core: ScriptedCore, folder: Path
) -> None:
    async def scenario(dbg: Any) -> None:
        async with dbg.tool("write", {}) as t:
            (folder / "a.txt").write_text("a\n")
            t.result = None
        await dbg.commit_agent_changes()
        (folder / "b.txt").write_text("b\n")
        await dbg.commit_agent_changes("A summary")

    run(stepper_kind, core, scenario, agent_workspace_path=folder)
    peer = core.wait_for_peer()
    peer.wait_until_gone()
    commits = [message for message in peer.received if isinstance(message, CommitMade)]
    assert [(commit.snapshot, commit.has_rule_title) for commit in commits] == [
        (False, False),  # the initial one
        (True, True),
        (False, True),
        (False, False),
    ]


@both
def test_without_a_workspace_there_is_nothing_to_commit(
    stepper_kind: str, core: ScriptedCore, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario(dbg: Any) -> Any:
        return await dbg.commit_agent_changes("x")

    assert run(stepper_kind, core, scenario) is False
    assert "No changes to commit" in caplog.text


@both
def test_a_folder_that_cannot_be_watched_starts_no_run(
    stepper_kind: str, core: ScriptedCore, tmp_path: Path
) -> None:
    async def scenario(dbg: Any) -> None: ...

    with pytest.raises(WorkspaceError):
        run(stepper_kind, core, scenario, agent_workspace_path=tmp_path / "missing")
    assert core.peers == []


@both
def test_a_workspace_that_must_be_clean_and_is_not(
    stepper_kind: str, core: ScriptedCore, folder: Path
) -> None:
    async def scenario(dbg: Any) -> None: ...

    git(folder, "init", "--quiet")  # with old.txt uncommitted
    with pytest.raises(WorkspaceError, match="uncommitted"):
        run(stepper_kind, core, scenario, agent_workspace_path=folder, require_clean=True)
    assert core.peers == []


def test_after_close_a_commit_is_refused(core: ScriptedCore, folder: Path) -> None:
    dbg = AgentStepper("T", "127.0.0.1", core.port, str(folder))
    dbg.close()
    (folder / "new.txt").write_text("new\n")
    with pytest.raises(ConnectionLostError, match="is closed"):
        dbg.commit_agent_changes()


async def test_a_cancelled_commit_is_finished(core: ScriptedCore, folder: Path) -> None:
    async with AsyncAgentStepper("T", "127.0.0.1", core.port, folder) as dbg:
        (folder / "new.txt").write_text("new\n")
        task = asyncio.create_task(dbg.commit_agent_changes("Cancelled"))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        peer = core.wait_for_peer()
        commits = [await asyncio.to_thread(peer.receive, CommitMade) for _ in range(2)]
        assert commits[1].title == "Cancelled"


def test_many_threads_commit(core: ScriptedCore, folder: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor

    with AgentStepper("T", "127.0.0.1", core.port, folder) as dbg, ThreadPoolExecutor(8) as pool:

        def work(n: int) -> bool:
            (folder / f"{n}.txt").write_text("x")
            return dbg.commit_agent_changes()

        made = list(pool.map(work, range(8)))
    peer = core.wait_for_peer()
    assert isinstance(peer.wait_until_gone(), Bye)
    commits = [message for message in peer.received if isinstance(message, CommitMade)]
    assert len(commits) == 1 + sum(made)
    paths = [change.path for commit in commits for change in commit.changes]
    assert sorted(paths) == [f"{n}.txt" for n in range(8)]
