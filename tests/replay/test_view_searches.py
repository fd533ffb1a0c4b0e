"""A view looks for the event that decides, and writes a test: real programs that a real Core starts."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentstepper_nb.history import StoredRun
from agentstepper_nb.protocol.data_model import RunState
from agentstepper_nb.protocol.run_programs import (
    AnswerBisect,
    BisectPhase,
    CancelBisect,
    ExportTest,
    StartBisect,
)
from agentstepper_nb.replay import load_recording
from agentstepper_nb.replay.recording_cuts import RecordingCuts
from tests.replay.command_scene import Scene, open_scene, scene
from tests.sdk.person import LiveView
from tests.sdk.scripted_core import TIMEOUT_S

__all__ = ["open_scene", "scene"]

#: It asks four times what a file says; the third answer decides.
AGENT = """
import sys
from pathlib import Path
from agentstepper_nb import AgentStepper

def look(number):
    return Path("world").read_text()

def answer():
    with AgentStepper("looker", mode="continue", stop_on_entry=False) as dbg:
        ask = dbg.traced_llm(look, model="m")
        came = [ask(number) for number in range(4)]
    return "passed" if came[2] == "good" else "failed"

if __name__ == "__main__":
    print(answer())
"""
END_PHASES = (BisectPhase.FOUND, BisectPhase.UNDECIDED, BisectPhase.FAILED, BisectPhase.CANCELLED)


@pytest.fixture
def folder(scene: Scene, tmp_path: Path) -> Path:
    (tmp_path / "looker.py").write_text(AGENT)
    (tmp_path / "world").write_text("good")
    return tmp_path


@pytest.fixture
def good(scene: Scene, folder: Path) -> StoredRun:
    """A run that passed, in a world that is bad since."""
    code, out, err = scene.execute("--", sys.executable, "looker.py", cwd=folder)
    assert (code, out) == (0, "passed"), err
    (folder / "world").write_text("bad")
    return scene.newest


@pytest.fixture
def person(scene: Scene) -> Iterator[LiveView]:
    with LiveView(scene.core.ui_port) as view:
        yield view


def start(person: LiveView, run: StoredRun, check: str = "grep -qx passed") -> None:
    begun = person.bisect(StartBisect(run=run.id, bad=None, check=check, repeat=1))
    assert begun.phase is BisectPhase.READING


@pytest.mark.slow
def test_a_person_agrees_to_the_queries_and_sees_the_event(
    scene: Scene, good: StoredRun, person: LiveView, folder: Path
) -> None:
    outcomes = RecordingCuts(load_recording(good)).outcomes
    start(person, good, "test -e looker.py && grep -qx passed")  # it runs in the agent's folder
    asked = person.wait_bisect(good.id, BisectPhase.ASKING)
    assert f"makes up to {asked.queries} LLM queries" in asked.question
    assert scene.newest.id == good.id  # nothing was executed yet
    person.bisect(AnswerBisect(run=good.id, goes_on=True))
    found = person.wait_bisect(good.id, *END_PHASES)
    assert found.phase is BisectPhase.FOUND, found.message
    assert found.row == outcomes[2].end_seq
    assert found.message.startswith(f"Row {found.row} of run {good.id}, the end of llm_query m")
    assert sum(probe.queries for probe in found.probes) <= asked.queries
    executed = [run for probe in found.probes for run in probe.runs]
    assert set(executed) <= set(person.runs)
    assert {person.runs[run].forked_from.run for run in executed} == {good.id}


def test_who_declines_has_nothing_executed(scene: Scene, good: StoredRun, person: LiveView) -> None:
    start(person, good)
    person.wait_bisect(good.id, BisectPhase.ASKING)
    person.bisect(AnswerBisect(run=good.id, goes_on=False))
    ended = person.wait_bisect(good.id, *END_PHASES)
    assert (ended.phase, ended.probes) == (BisectPhase.CANCELLED, ())
    assert scene.newest.id == good.id


@pytest.mark.slow
def test_a_cancelled_search_ends_its_agent(
    scene: Scene, good: StoredRun, person: LiveView, folder: Path
) -> None:
    """The agent doesn't end: it waits for what nobody writes."""
    agent = (folder / "looker.py").read_text()
    waits = "__import__('time').sleep(1000) if Path('world').read_text() == 'bad' else None"
    (folder / "looker.py").write_text(
        agent.replace("def look(number):", f"def look(number):\n    {waits}")
    )
    start(person, good, "true")
    person.wait_bisect(good.id, BisectPhase.ASKING)
    person.bisect(AnswerBisect(run=good.id, goes_on=True))
    state = person.wait_bisect(good.id, BisectPhase.RUNNING)
    while len(state.probes) < 2 or state.execution is None:  # the first is served whole
        state = person.wait_bisect_change(state)
    person.bisect(CancelBisect(run=good.id))
    assert person.wait_bisect(good.id, *END_PHASES).phase is BisectPhase.CANCELLED
    while person.runs[state.execution].state is not RunState.IDLE:
        person.wait_change()


@pytest.mark.slow
def test_a_check_that_cannot_be_executed_is_told(good: StoredRun, person: LiveView) -> None:
    start(person, good, "no-such-program-here")
    person.wait_bisect(good.id, BisectPhase.ASKING)
    person.bisect(AnswerBisect(run=good.id, goes_on=True))
    ended = person.wait_bisect(good.id, *END_PHASES)
    assert ended.phase is BisectPhase.FAILED
    assert "The check 'no-such-program-here' can't be executed" in ended.message


# ---- the export as a test ---------------------------------------------------------------------------


def export(person: LiveView, run: StoredRun, **fields: object) -> str:
    asked = {"agent": "looker:answer", "args": (), "file": "test_looker.py"} | fields
    return person.export_test(ExportTest(run=run.id, **asked))


@pytest.mark.slow
def test_a_test_is_written_into_the_folder_of_the_agent(
    good: StoredRun, person: LiveView, folder: Path
) -> None:
    path = export(person, good)
    assert Path(path) == folder / "test_looker.py"
    assert "assert result == 'passed'" in Path(path).read_text()
    command = [sys.executable, "-m", "pytest", "-q", "-p", "agentstepper_nb.pytest_plugin", path]
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": ""},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_what_cannot_be_written_says_why(good: StoredRun, person: LiveView, folder: Path) -> None:
    refusals: list[tuple[dict[str, object], str]] = [
        ({"agent": "looker:nobody"}, "The module looker has no nobody."),
        ({"file": "looker_test.py"}, "pytest doesn't find tests in a file called looker_test.py."),
        ({"file": "../test_x.py"}, "../test_x.py is no name of a file."),
        ({"args": ("1",)}, "answer() takes 0 positional arguments but 1 was given"),
    ]
    for fields, said in refusals:
        with pytest.raises(AssertionError, match="cannot_export_test") as refused:
            export(person, good, **fields)
        assert said in str(refused.value)
    assert [path.name for path in folder.glob("*test_*")] == []


@pytest.mark.slow
def test_a_file_is_replaced_where_the_person_says_so(
    good: StoredRun, person: LiveView, folder: Path
) -> None:
    (folder / "test_looker.py").write_text("mine")
    with pytest.raises(AssertionError, match="exists"):
        export(person, good)
    assert (folder / "test_looker.py").read_text() == "mine"
    export(person, good, replaces=True)
    assert "replay_agent" in (folder / "test_looker.py").read_text()
