"""`agentstepper run --fork` with the files of the row, in a fresh folder and in place."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from agentstepper_nb import put_back
from agentstepper_nb.history import StoredRun
from agentstepper_nb.protocol.data_model import RunEnding
from agentstepper_nb.protocol.start_methods import WorkspaceMode
from tests.replay.command_scene import AGENT, Scene, open_scene, scene
from tests.sdk.person import LiveView
from tests.sdk.scripted_core import TIMEOUT_S

__all__ = ["open_scene", "scene"]

#: An agent whose two calls of a tool each write a file; it prints what it works on.
WRITER = """
import sys
from pathlib import Path
from agentstepper_nb import AgentStepper

def write(name):
    (dbg.workspace / name).write_text(name)

with AgentStepper("writer", agent_workspace_path=sys.argv[1], mode="continue") as dbg:
    tool = dbg.traced_tool(write)
    tool("one")
    tool("two")
    print(dbg.workspace, Path.cwd(), sorted(path.name for path in dbg.workspace.glob("[!.]*")))
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The workspace of a recorded command, which ran in a folder below."""
    (tmp_path / "project/src").mkdir(parents=True)
    (tmp_path / "project/src/main.py").write_text("print(1)\n")
    (tmp_path / "project/.gitignore").write_text("*.log\n")
    (tmp_path / "project/agent.log").touch()
    return tmp_path / "project"


def record_writer(scene: Scene, project: Path) -> StoredRun:
    writer = (sys.executable, "-c", WRITER, str(project))
    code, _, err = scene.execute("--", *writer, cwd=project / "src")
    assert code == 0, err
    return scene.newest


def fork_writer(scene: Scene, recorded: StoredRun, *arguments: str) -> tuple[str, str, str]:
    """Fork the newest run at its second call: the folders that it says, and the files."""
    row = int(recorded.events().query("kind == 'tool_invocation' and side == 'begin'").seq.iloc[1])
    with (
        LiveView(scene.core.ui_port) as person,
        scene.start("--fork", f"{recorded.id}@{row}", *arguments) as process,
    ):
        person.wait_until(lambda run: run.id != recorded.id and bool(run.pending))
        person.step({"Tool": "write", "Argument": {"name": "other"}})
        person.resume()
        out, err = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 0, err
    folder, cwd, files = out.strip().split(" ", 2)
    return folder, cwd, files


@pytest.mark.soak
def test_a_view_forks_a_command_with_its_files(scene: Scene, project: Path) -> None:
    recorded = record_writer(scene, project)
    row = int(recorded.events().query("kind == 'tool_invocation' and side == 'begin'").seq.iloc[1])
    with LiveView(scene.core.ui_port) as person:
        begun = person.start_again(recorded.id, row=row)
        person.wait_until(lambda run: run.id == begun.run and bool(run.pending))
        person.step({"Tool": "write", "Argument": {"name": "other"}})
        person.resume()
        run = person.wait_until_ended()
    assert run.ending is RunEnding.FINISHED
    assert run.notice.startswith("Files left out: agent.log")
    folder = Path(run.workspace or "")
    assert folder != project
    assert sorted(path.name for path in folder.glob("[!.]*")) == ["one", "other", "src"]
    assert not (project / "other").exists()


@pytest.mark.slow
def test_a_view_forks_a_command_in_place_and_puts_back(scene: Scene, project: Path) -> None:
    recorded = record_writer(scene, project)
    row = int(recorded.events().query("kind == 'tool_invocation' and side == 'begin'").seq.iloc[1])
    with LiveView(scene.core.ui_port) as person:
        begun = person.start_again(recorded.id, row=row, workspace=WorkspaceMode.IN_PLACE)
        fork = person.wait_until(lambda run: run.id == begun.run and bool(run.pending))
        assert fork.workspace == recorded.header.workspace
        assert list_names(project) == ["agent.log", "one", "src"]
        person.step({"Tool": "write", "Argument": {"name": "other"}})
        (restored,) = person.list_forks(recorded.id).restored
        with pytest.raises(AssertionError, match="still works in"):
            person.put_back(restored)
        with pytest.raises(AssertionError, match="still works in"):
            person.start_again(recorded.id, row=row, workspace=WorkspaceMode.IN_PLACE)
        person.resume()
        assert person.wait_until_ended().ending is RunEnding.FINISHED
        tree = person.list_forks(fork.id)
        assert [node.edit for node in tree.nodes] == ["", "Argument.name: “two” → “other”"]
        assert [node.point for node in tree.nodes] == ["", "tool call write"]
        assert [node.changed_files for node in tree.nodes] == [2, 1]
        assert list_names(project) == ["agent.log", "one", "other", "src"]
        assert "1 file written, 1 file deleted" in person.put_back(restored)
        assert list_names(project) == ["agent.log", "one", "src", "two"]
        assert person.list_forks(fork.id).restored == ()


def list_names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("[!.]*"))


@pytest.mark.slow
def test_a_command_is_forked_with_its_files(scene: Scene, project: Path) -> None:
    recorded = record_writer(scene, project)
    folder, cwd, files = fork_writer(scene, recorded)
    assert files == "['one', 'other', 'src']"
    assert cwd == f"{folder}/src"
    assert scene.newest.header.workspace == folder != str(project)
    assert scene.newest.header.notice.startswith("Files left out: agent.log: .gitignore")
    assert sorted(path.name for path in project.glob("[!.]*")) == [
        *("agent.log", "one", "src", "two"),
    ]


@pytest.mark.slow
def test_a_program_with_no_line_of_ours_has_a_workspace_and_is_forked_with_its_files(
    scene: Scene, project: Path
) -> None:
    program = (sys.executable, str(AGENT), "counted")
    recorded = scene.record_command(
        "--workspace", ".", "--discover-tools", "--", *program, cwd=project
    )
    assert recorded.header.workspace == str(project)
    assert recorded.commits().files.tolist() == [1]
    row = int(recorded.events().query("kind == 'llm_query' and side == 'begin'").seq.iloc[1])
    fork = scene.record_command("--fork", f"{recorded.id}@{row}")
    folder = Path(fork.header.workspace or "")
    assert folder != project
    assert (folder / "counted").read_text() == (project / "counted").read_text() == "lorem\n"


@pytest.mark.soak
def test_a_command_is_forked_in_place_and_put_back(scene: Scene, project: Path) -> None:
    recorded = record_writer(scene, project)
    folder, cwd, files = fork_writer(scene, recorded, "--workspace", "in_place")
    assert (folder, cwd) == (str(project), str(project / "src"))
    assert files == "['agent.log', 'one', 'other', 'src']"
    put_back(recorded)
    assert sorted(path.name for path in project.glob("[!.]*")) == [
        *("agent.log", "one", "src", "two"),
    ]
