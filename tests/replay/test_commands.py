"""`agentstepper run --fork` and `--replay`: real commands under a real Core, started again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from agentstepper_nb import AgentStepperCore, discover
from agentstepper_nb.history import StoredRun
from agentstepper_nb.protocol.data_model import RunEnding
from agentstepper_nb.protocol.replay_marks import ReplayRole
from agentstepper_nb.protocol.start_methods import ForkOrigin
from tests.replay.command_scene import AGENT, Scene, open_scene, scene
from tests.sdk.person import LiveView
from tests.sdk.scripted_core import TIMEOUT_S

__all__ = ["open_scene", "scene"]

#: An agent that does nothing.
QUICK = (
    sys.executable,
    "-c",
    "from agentstepper_nb import AgentStepper\n"
    "AgentStepper('x', mode='continue', stop_on_entry=False).close()",
)
_recorded: list[StoredRun] = []


@pytest.fixture
def recorded(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> StoredRun:
    """A run of the agent, recorded once."""
    if not _recorded or _recorded[0].folder != scene.folder / "runs":
        with monkeypatch.context() as patch:
            patch.setenv("OF_THE_FIRST", "1")
            _recorded[:] = [scene.record()]
    return _recorded[0]


def roles(run: StoredRun) -> list[ReplayRole]:
    points = run.history().halt_points
    return [point.replay.role for point in points if point.replay]


def find_row(run: StoredRun, kind: str, side: str) -> int:
    return int(run.events().query(f"kind == '{kind}' and side == '{side}'").seq.iloc[0])


def test_a_fork_halts_at_its_row_and_goes_on_from_there(scene: Scene, recorded: StoredRun) -> None:
    asked = len(scene.model.exchanges)
    counted = scene.counted
    row = find_row(recorded, "tool_invocation", "end")
    with (
        LiveView(scene.core.ui_port) as person,
        scene.start("--fork", f"{recorded.id}@{row}") as process,
    ):
        person.wait_until(lambda run: run.id != recorded.id and bool(run.pending))
        assert person.run.forked_from == ForkOrigin(run=recorded.id, row=row)
        assert person.run.rows == row  # and nowhere before
        assert len(scene.model.exchanges) == asked
        person.step(4)
        person.resume()
        out, _ = process.communicate(timeout=TIMEOUT_S)
    assert out.strip() == "There are others."
    assert scene.counted == counted
    served, forked, live = ReplayRole.SERVED, ReplayRole.FORKED, ReplayRole.LIVE
    assert roles(scene.newest) == [served, served, forked, live]
    assert scene.newest.forked_from == ForkOrigin(run=recorded.id, row=row)


def test_a_replay_asks_nobody_and_names_missing_variables(
    scene: Scene, recorded: StoredRun
) -> None:
    asked, counted = len(scene.model.exchanges), scene.counted
    code, out, err = scene.execute("--replay", recorded.header.name)
    assert (code, out) == (0, "There are three.")
    assert (len(scene.model.exchanges), scene.counted) == (asked, counted)
    assert "these variables of the recorded run aren't set here: OF_THE_FIRST." in err
    assert roles(scene.newest) == [ReplayRole.SERVED] * 3
    assert scene.newest.forked_from == ForkOrigin(run=recorded.id)


def test_another_command_may_be_given(scene: Scene, recorded: StoredRun) -> None:
    other = (sys.executable, str(AGENT), "counted", "How", "much?")
    code, out, err = scene.execute("--discover-tools", "--replay", recorded.id, "--", *other)
    assert (code, out) == (1, "")
    assert "Divergence: The replay differs from run" in err
    assert scene.newest.header.ending is RunEnding.CRASHED


def test_a_program_that_ends_early_is_told(scene: Scene, recorded: StoredRun) -> None:
    code, _, err = scene.execute("--replay", recorded.id, "--", *QUICK)
    assert code == 0
    assert err == (
        f"agentstepper: The replay of run {recorded.id} ended before its recording. Expected next: row "
        "3."
    )


def test_a_run_may_only_be_started_again(scene: Scene, recorded: StoredRun) -> None:
    asked = len(scene.model.exchanges)
    with (
        LiveView(scene.core.ui_port) as person,
        scene.start("--rerun", recorded.id) as process,
    ):
        person.wait_until(lambda run: run.id != recorded.id and bool(run.pending))
        assert person.run.forked_from == ForkOrigin(run=recorded.id, is_live=True)
        person.resume()
        assert process.wait(TIMEOUT_S) == 0
    assert len(scene.model.exchanges) == asked + 2
    assert roles(scene.newest) == []


def test_what_the_program_starts_in_turn_is_no_replay(scene: Scene, recorded: StoredRun) -> None:
    program = (
        "import json, os, subprocess, sys\n"
        "from agentstepper_nb import AgentStepper\n"
        "with AgentStepper('x', mode='continue'): pass\n"
        "print(json.dumps([name for name in os.environ if 'FORK' in name or 'REPLAY' in name]))"
    )
    row = find_row(recorded, "tool_invocation", "end")
    code, out, _ = scene.execute(
        "--fork", f"{recorded.id}@{row}", "--", sys.executable, "-c", program
    )
    assert (code, json.loads(out)) == (0, [])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--fork", "ID"), "'ID' names no row to fork at. Write RUN@ROW"),
        (("--fork", "ID@99"), "Run ID can't be forked at row 99: no query, tool call or custom"),
        (("--replay", "nobody"), "No run has the id or name 'nobody'. The newest runs are"),
    ],
)
def test_what_is_not_there_is_said_first(
    scene: Scene, recorded: StoredRun, arguments: tuple[str, ...], said: str
) -> None:
    given = [each.replace("ID", recorded.id) for each in arguments]
    code, out, err = scene.execute(*given)
    assert (code, out) == (125, "")
    assert err.startswith(f"agentstepper run: {said.replace('ID', recorded.id)}")


def test_a_masked_argument_must_be_given(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THE_TOKEN", "of-great-value-1234")
    assert scene.execute("--", *QUICK, "--with=of-great-value-1234")[0] == 0
    recorded = scene.newest
    code, _, err = scene.execute("--replay", recorded.id)
    assert code == 125
    assert err == (
        f"agentstepper run: Arguments of the command of run {recorded.id} were masked when it was "
        "recorded: 3 (--with=[masked THE_TOKEN]). Give the whole command: agentstepper run --replay "
        f"{recorded.id} -- {sys.executable} …"
    )


def test_a_run_that_was_started_elsewhere_says_what_to_do(scene: Scene) -> None:
    subprocess.run(QUICK, check=True, timeout=TIMEOUT_S)
    run = scene.newest
    code, _, err = scene.execute("--replay", run.id)
    assert code == 125
    assert err == (
        f"agentstepper run: This Core doesn't know how run {run.id} was started: the run was imported, "
        "or its program was started by neither agentstepper run, spawn, %%step nor a function with "
        f"@entry. Name a command, agentstepper run --replay {run.id} -- python agent.py, or a function, "
        f'replay_run("{run.header.name}", agent, …).'
    )


def test_a_folder_that_is_gone_is_named(scene: Scene, tmp_path: Path) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    assert scene.execute("--", *QUICK, cwd=folder)[0] == 0
    folder.rmdir()
    code, _, err = scene.execute("--replay", scene.newest.id)
    assert (code, f"agentstepper run: the folder {folder}, where run" in err) == (125, True)


# ---- from a view ----------------------------------------------------------------------------------


def test_a_view_forks_a_finished_run(scene: Scene, recorded: StoredRun) -> None:
    asked, counted = len(scene.model.exchanges), scene.counted
    row = find_row(recorded, "tool_invocation", "end")
    with LiveView(scene.core.ui_port) as person:
        begun = person.start_again(recorded.id, row=row)
        run = person.wait_until(lambda run: run.id == begun.run and bool(run.pending))
        assert (run.forked_from, run.rows) == (ForkOrigin(run=recorded.id, row=row), row)
        person.step(4)
        person.resume()
        assert person.wait_until_ended().ending is RunEnding.FINISHED
    assert len(scene.model.exchanges) == asked + 1
    assert scene.counted == counted


def test_a_view_starts_a_run_anew_and_replays_one(scene: Scene, recorded: StoredRun) -> None:
    with LiveView(scene.core.ui_port) as person:
        begun = person.start_again(recorded.id)
        run = person.wait_until(lambda run: run.id == begun.run and bool(run.pending))
        assert run.forked_from == ForkOrigin(run=recorded.id, is_live=True)
        person.stop()
        person.wait_until_ended()
        asked = len(scene.model.exchanges)
        begun = person.start_again(recorded.id, is_replay=True)
        run = person.wait_until(lambda run: run.id == begun.run and not run.live)
        assert run.ending is RunEnding.FINISHED
        assert run.forked_from == ForkOrigin(run=recorded.id)
    assert len(scene.model.exchanges) == asked


@pytest.mark.slow
def test_a_view_forks_a_run_that_is_halted(scene: Scene) -> None:
    program = (sys.executable, str(AGENT), "counted")
    with (
        LiveView(scene.core.ui_port) as person,
        scene.start("--discover-tools", "--", *program),
    ):
        while person.wait_until(lambda run: bool(run.pending)).rows < 4:  # past its first answer
            person.step()
        halted = person.run
        begun = person.start_again(halted.id, row=3)
        run = person.wait_until(lambda run: run.id == begun.run and bool(run.pending))
        assert (run.forked_from, run.rows) == (ForkOrigin(run=halted.id, row=3), 3)
        person.stop()
        person.wait_until_ended()


def test_what_a_view_started_goes_on_where_the_core_stops(
    forked_programs: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AGENTSTEPPER_RUNS_FOLDER", raising=False)
    program = QUICK[2].replace("'x', mode='continue', ", "'x', ")  # it halts at its end
    runs = tmp_path / "runs"
    with AgentStepperCore("127.0.0.1", 0, 0, data=runs) as core:
        scene = Scene(core, None, tmp_path)  # type: ignore[arg-type]  # it asks no model
        file = discover.write_core_info(url=core.url(core.client_port), data_dir=runs)
        script = tmp_path / "agent.py"
        script.write_text(program)
        assert scene.execute("--", sys.executable, str(script))[0] == 0
        script.write_text(
            f"{program.splitlines()[0]}\nAgentStepper('x').begin_llm_query_breakpoint(1)"
        )
        with LiveView(core.ui_port or 0) as person:
            begun = person.start_again(scene.newest.id)
            pid = person.wait_until(lambda run: run.id == begun.run and bool(run.pending)).pid
        discover.remove_core_info(file)
    assert pid is not None
    os.kill(pid, signal.SIGTERM)  # which fails where there is no such process


def test_a_view_hears_why_a_command_began_no_run(scene: Scene, tmp_path: Path) -> None:
    script = tmp_path / "agent.py"
    script.write_text(QUICK[2])
    assert scene.execute("--", sys.executable, str(script))[0] == 0
    script.write_text("raise SystemExit('this script is broken')")
    with LiveView(scene.core.ui_port) as person, pytest.raises(AssertionError) as refused:
        person.start_again(scene.newest.id)
    assert "code='cannot_start_again'" in str(refused.value)
    assert "exit code 1 before it began a run: this script is broken" in str(refused.value)


def test_a_view_hears_of_a_row_that_is_none(scene: Scene, recorded: StoredRun) -> None:
    with LiveView(scene.core.ui_port) as person, pytest.raises(AssertionError) as refused:
        person.start_again(recorded.id, row=77)
    assert "can't be forked at row 77" in str(refused.value)
