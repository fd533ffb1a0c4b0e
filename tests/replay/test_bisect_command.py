"""`agentstepper bisect`: a real command under a real Core, executed until the event is found."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from agentstepper_nb import load_run
from agentstepper_nb.history import StoredRun
from agentstepper_nb.replay import load_recording
from agentstepper_nb.replay.recording_cuts import RecordingCuts
from tests.replay.command_scene import Scene, open_scene, scene
from tests.sdk.scripted_core import TIMEOUT_S

__all__ = ["open_scene", "scene"]

#: It asks four times what its first argument's file says; the third answer decides.
PROGRAM = """
import sys
from pathlib import Path
from agentstepper_nb import AgentStepper

with AgentStepper("steps", stop_on_entry=False, mode="continue") as dbg:
    ask = dbg.traced_llm(lambda number: Path(sys.argv[1]).read_text(), model="m")
    came = [ask(number) for number in range(4)]
print("passed" if came[2] == "good" else "failed")
"""


#: Each of its calls notes a number in a file of its workspace; the second answer decides.
NOTER = """
import sys
from pathlib import Path
from agentstepper_nb import AgentStepper

def note(number):
    with (dbg.workspace / "notes").open("a") as file:
        print(number, file=file)
    return Path(sys.argv[2]).read_text()

with AgentStepper(
    "noter", agent_workspace_path=sys.argv[1], stop_on_entry=False, mode="continue"
) as dbg:
    tool = dbg.traced_tool(note)
    came = [tool(number) for number in range(3)]
    assert (dbg.workspace / "notes").read_text().split() == ["0", "1", "2"]
print("passed" if came[1] == "good" else "failed")
"""


_recorded: list[StoredRun] = []


@pytest.fixture
def good(scene: Scene) -> StoredRun:
    """A run that passed, in a world that is bad since; recorded once."""
    if _recorded and _recorded[0].folder == scene.folder / "runs":
        return _recorded[0]
    world = scene.folder / "world"
    world.write_text("good")
    program = (sys.executable, "-c", PROGRAM, str(world))
    code, out, err = scene.execute("--", *program)
    assert (code, out) == (0, "passed"), err
    world.write_text("bad")
    _recorded[:] = [scene.newest]
    return _recorded[0]


def bisect(folder: Path, *arguments: str, said: str = "") -> tuple[int, str, str]:
    """Run the command: exit code, output, errors."""
    done = subprocess.run(
        [sys.executable, "-m", "agentstepper_nb", "bisect", *arguments],
        cwd=folder,
        input=said,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S * 4,
        check=False,
    )
    return done.returncode, done.stdout.strip(), done.stderr.strip()


@pytest.mark.slow
def test_the_event_of_a_recorded_command_is_found(scene: Scene, good: StoredRun) -> None:
    outcomes = RecordingCuts(load_recording(good)).outcomes
    check = 'test -n "$AGENTSTEPPER_RUN" && grep -qx passed'
    code, out, err = bisect(scene.folder, good.id, "--check", check, "--repeat", "1", said="yes\n")
    assert code == 0, err
    assert "and makes up to " in out
    assert f"Row {outcomes[2].end_seq} of run {good.id}, the end of llm_query m, decides" in out
    newest = load_run(scene.newest.id, scene.folder / "runs")
    assert newest.forked_from is not None and newest.forked_from.run == good.id


@pytest.mark.soak
def test_each_execution_of_a_command_has_the_files_of_its_row(scene: Scene, tmp_path: Path) -> None:
    project, world = tmp_path / "project", tmp_path / "world"
    project.mkdir()
    world.write_text("good")
    code, _, err = scene.execute("--", sys.executable, "-c", NOTER, str(project), str(world))
    assert code == 0, err
    world.write_text("bad")
    recorded = scene.newest
    second = RecordingCuts(load_recording(recorded)).outcomes[1]
    code, out, err = bisect(
        scene.folder, recorded.id, "--check", "grep -qx passed", "--repeat", "1", "--yes"
    )
    assert code == 0, (out, err)
    assert f"Row {second.end_seq} of run {recorded.id}, the end of tool_invocation note" in out
    assert (project / "notes").read_text().split() == ["0", "1", "2"]


@pytest.mark.slow
def test_who_declines_starts_nothing(scene: Scene, good: StoredRun) -> None:
    newest = scene.newest.id
    code, out, _ = bisect(scene.folder, good.id, "--check", "true", said="no\n")
    assert code == 1
    assert out.endswith("You declined, and the search ended there.")
    assert scene.newest.id == newest


@pytest.mark.slow
def test_a_program_without_a_run_is_an_error(scene: Scene, good: StoredRun) -> None:
    program = (sys.executable, "-c", "raise SystemExit(3)")
    code, _, err = bisect(scene.folder, good.id, "--check", "true", "--yes", "--", *program)
    assert code == 1
    assert "The program ended with exit code 3, and no run of it came to the Core." in err


def test_arguments_are_checked(scene: Scene, good: StoredRun) -> None:
    code, _, err = bisect(scene.folder, good.id, "--check", "true", "--repeat", "0")
    assert (code, "--repeat 0 isn't allowed." in err) == (2, True)
    code, _, err = bisect(scene.folder, "nobody", "--check", "true", "--yes")
    assert (code, "nobody" in err) == (1, True)
