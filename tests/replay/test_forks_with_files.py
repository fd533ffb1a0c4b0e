"""Agents that write files, forked under a live Core: the fork works on the files of its row."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import agentstepper_nb
from agentstepper_nb import (
    AgentStepper,
    AgentStepperCore,
    WorkspaceError,
    discover,
    find_deciding_event,
    fork_run,
    load_run,
    put_back,
)
from agentstepper_nb.history import StoredRun
from agentstepper_nb.replay import prepare_workspace
from tests.helpers.core_announcement import announce_core
from tests.replay.test_agent_runs import newest
from tests.replay.workspace_trees import digest
from tests.sdk.workspace.helpers import fingerprint, make_repository

pytestmark = pytest.mark.slow


class Writer:
    """An agent whose four steps each write a file; it records the files that each of them found."""

    def __init__(self) -> None:
        self.found: list[list[str]] = []
        self.folders: list[Path | None] = []

    def run(self) -> str:
        with AgentStepper("writer") as dbg:
            self.folders.append(dbg.workspace)
            write = dbg.traced_tool(self.write)
            return " ".join(write(step) for step in range(1, 5))

    def write(self, step: int) -> str:
        folder = agentstepper_nb.workspace
        assert folder is not None
        self.found.append(sorted(path.name for path in folder.glob("*.txt")))
        (folder / f"step{step}.txt").write_text(f"{step}\n")
        return f"wrote {step}"


def use_home(patch: pytest.MonkeyPatch, home: Path) -> None:
    """Let this process find the Core and the snapshots of a home."""
    for name in ("AGENTSTEPPER_URL", "AGENTSTEPPER_TOKEN", "JPY_PARENT_PID"):
        patch.delenv(name, raising=False)
    for name in ("JUPYTER_RUNTIME_DIR", "JUPYTER_DATA_DIR"):
        patch.setenv(name, str(home / name.lower()))


@pytest.fixture(scope="module")
def recorded_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, StoredRun]]:
    """A home with a Core that keeps runs, and a run of the agent in its folder `project`."""
    home = tmp_path_factory.mktemp("home")
    project = make_repository(home / "project")
    with pytest.MonkeyPatch.context() as patch:
        use_home(patch, home)
        with AgentStepperCore("127.0.0.1", 0, 0, data=home / "runs") as core:
            file = announce_core(core)
            with (
                AgentStepper(
                    "writer", agent_workspace_path=project, stop_on_entry=False, mode="continue"
                ) as dbg,
                agentstepper_nb.sdk.set_current_stepper(dbg),
            ):
                assert Writer().run() == "wrote 1 wrote 2 wrote 3 wrote 4"
                run = dbg.run_id
            yield home, load_run(run, home / "runs")
            discover.remove_core_info(file)


@pytest.fixture
def recorded(
    recorded_home: tuple[Path, StoredRun],
    no_core_of_this_machine: None,
    monkeypatch: pytest.MonkeyPatch,
) -> StoredRun:
    """The run, which all tests fork: its files are afterwards as they were."""
    home, run = recorded_home
    use_home(monkeypatch, home)
    return run


@pytest.fixture
def project(recorded: StoredRun) -> Path:
    return Path(recorded.header.workspace or "")


def find_row(run: StoredRun, step: int, side: str) -> int:
    rows = run.events().query(f"kind == 'tool_invocation' and side == '{side}'").seq
    return int(rows.iloc[step - 1])


def test_a_fork_sees_the_files_of_the_steps_before(recorded: StoredRun, project: Path) -> None:
    before = fingerprint(project)
    agent = Writer()
    row = find_row(recorded, 3, "begin")
    edit = {"Tool": "write", "Argument": {"step": 30}}
    assert fork_run(recorded, row, agent.run, edit=edit) == "wrote 1 wrote 2 wrote 30 wrote 4"
    assert agent.found == [
        ["step1.txt", "step2.txt"],
        ["step1.txt", "step2.txt", "step30.txt"],
    ]
    (folder,) = agent.folders
    assert folder is not None
    assert folder != project
    assert sorted(path.name for path in folder.iterdir()) == [
        *("readme", "step1.txt", "step2.txt", "step30.txt", "step4.txt"),
    ]
    assert fingerprint(project) == before
    assert agentstepper_nb.workspace is None


def test_the_forks_own_changes_are_recorded(recorded: StoredRun) -> None:
    fork_run(recorded, find_row(recorded, 3, "end"), Writer().run, edit="wrote nothing")
    fork = newest(recorded.folder)
    assert fork.header.workspace != recorded.header.workspace
    assert fork.commits().paths.tolist() == [["step4.txt"]]
    assert fork.header.notice == ""


def test_what_is_not_as_in_the_snapshot_is_a_notice_of_the_fork(
    recorded: StoredRun, project: Path
) -> None:
    left_out = [project / ".gitignore", project / "agent.log"]
    for file in left_out:
        file.write_text("*.log\n")
    row, agent = find_row(recorded, 3, "end"), Writer()
    fork_run(recorded, row, agent.run, edit="wrote nothing")
    assert newest(recorded.folder).header.notice == (
        "Files left out: agent.log: .gitignore leaves it out, so that no snapshot has it."
    )
    fork_run(recorded, row, agent.run, edit="wrote nothing", workspace="in_place")
    assert newest(recorded.folder).header.notice == (
        f"Files restored in place: to undo it, run agentstepper put-back {project}."
    )
    put_back(project)
    for file in left_out:
        file.unlink()


def test_a_fork_of_a_fork_has_the_files_of_its_row(recorded: StoredRun) -> None:
    fork_run(recorded, find_row(recorded, 2, "end"), Writer().run, edit="wrote two")
    fork, agent = newest(recorded.folder), Writer()
    row = find_row(fork, 4, "begin")
    fork_run(fork, row, agent.run, edit={"Tool": "write", "Argument": {"step": 4}})
    assert agent.found == [["step1.txt", "step2.txt", "step3.txt"]]


def test_a_row_that_a_fork_was_served_has_the_other_runs_files(recorded: StoredRun) -> None:
    fork_run(recorded, find_row(recorded, 3, "end"), Writer().run, edit="wrote three")
    fork = newest(recorded.folder)
    row = find_row(fork, 1, "end")
    with pytest.raises(WorkspaceError, match=f"at row {row} are those of the run that it replays"):
        fork_run(fork, row, Writer().run, edit="wrote one")


def test_a_fork_in_place_is_put_back(recorded: StoredRun, project: Path) -> None:
    before, git, agent = digest(project), fingerprint(project / ".git"), Writer()
    row = find_row(recorded, 2, "begin")
    edit = {"Tool": "write", "Argument": {"step": 20}}
    fork_run(recorded, row, agent.run, edit=edit, workspace="in_place")
    assert agent.found[0] == ["step1.txt"]
    assert agent.folders == [project]
    assert (project / "step20.txt").exists()
    assert put_back(recorded).deleted == ("step20.txt",)
    assert digest(project) == before
    assert fingerprint(project / ".git") == git


def test_a_fork_without_files_works_where_it_finds_itself(recorded: StoredRun) -> None:
    def agent() -> str:
        with AgentStepper("writer") as dbg:
            return str(dbg.workspace or dbg.traced_tool(lambda step: "wrote", name="write")(1))

    row = find_row(recorded, 1, "begin")
    edit = {"Tool": "write", "Argument": {"step": 1}}
    assert fork_run(recorded, row, agent, edit=edit, workspace="none") == "wrote"


def test_a_stepper_for_the_recorded_folder_watches_the_forks(
    recorded: StoredRun, project: Path
) -> None:
    found = []

    def agent() -> None:
        with AgentStepper("writer", agent_workspace_path=project) as dbg:
            found.append(dbg.workspace)
            thread = threading.Thread(target=in_thread)
            thread.start()
            thread.join()
            dbg.traced_tool(Writer().write, name="write")(1)

    def in_thread() -> None:
        with AgentStepper("writer", agent_workspace_path=project / ".") as dbg:
            found.append(dbg.workspace)

    row = find_row(recorded, 1, "end")
    fork_run(recorded, row, agent, edit="wrote")
    fork = newest(recorded.folder).header.workspace
    assert [str(each) for each in found] == [fork, fork]
    assert fork != str(project)


def test_a_process_that_is_started_as_a_fork_watches_its_folder(
    recorded: StoredRun, forked_programs: None, project: Path
) -> None:
    prepared = prepare_workspace(recorded, find_row(recorded, 2, "end"), cwd=project)
    assert prepared is not None
    program = """
import sys
import agentstepper_nb
from agentstepper_nb import AgentStepper

with AgentStepper("w", agent_workspace_path=sys.argv[1], stop_on_entry=False, mode="continue") as dbg:
    print(dbg.workspace, agentstepper_nb.workspace, sorted(p.name for p in dbg.workspace.glob("*.txt")))
"""
    done = subprocess.run(
        [sys.executable, "-c", program, str(project)],
        env=os.environ | prepared.make_variables(),
        cwd=prepared.cwd,
        capture_output=True,
        text=True,
        check=True,
    )
    path = prepared.path
    assert done.stdout == f"{path} {path} ['step1.txt', 'step2.txt']\n"


class OtherWriter(Writer):
    """The same, whose answers are others than the recorded ones."""

    def write(self, step: int) -> str:
        return super().write(step).replace("wrote", "overwrote")


def test_what_decides_is_searched_for_in_folders_of_their_own(
    recorded: StoredRun, project: Path
) -> None:
    before, agent = fingerprint(project), OtherWriter()
    found = find_deciding_event(
        recorded,
        None,
        agent.run,
        check=lambda came: came.startswith("wrote 1 wrote 2"),
        repeat=1,
        yes=True,
    )
    assert found.row == find_row(recorded, 2, "end")
    starts = {len(names) for names in agent.found}
    assert {0, 1, 2} <= starts  # of executions with that many served calls, and more
    for names in agent.found:
        assert names == [f"step{step}.txt" for step in range(1, len(names) + 1)]
    assert project not in agent.folders
    assert fingerprint(project) == before


async def test_an_async_agent_has_the_files_too(
    recorded: StoredRun, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project)
    found = []

    async def agent() -> None:
        found.extend([Path.cwd(), agentstepper_nb.workspace])

    await fork_run(recorded, find_row(recorded, 1, "begin"), agent, edit=None)
    assert found[0] == found[1] != project
    assert Path.cwd() == project
