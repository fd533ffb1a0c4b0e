"""smolagents, as it comes from PyPI, under the debugger."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from agentstepper_nb.hub import AgentStepperCore
from agentstepper_nb.models.scripted.scripts.fix_tests import GUESSED_LINE, RIGHT_LINE
from agentstepper_nb.protocol.data_model import (
    Actor,
    EventKind,
    EventSide,
    RunEnding,
    RunState,
    TimelineRow,
)
from tests.sdk.person import LiveView

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "third_party_smolagents.py"

pytestmark = pytest.mark.timeout(600)  # it may have to be installed


@pytest.fixture(scope="session")
def frameworks() -> Path:
    """Where they are installed; `make test` has done it by now."""
    subprocess.run(["make", "--silent", "third-party"], cwd=ROOT, check=True)
    return ROOT / ".make" / "third_party"


@contextmanager
def debugged(frameworks: Path, folder: Path) -> Iterator[tuple[LiveView, subprocess.Popen[str]]]:
    """The example in a process of its own, and a person at its debugger."""
    with AgentStepperCore("127.0.0.1", 0, 0) as core, LiveView(core.ui_port) as person:
        environment = {
            **os.environ,
            "AGENTSTEPPER_URL": f"ws://127.0.0.1:{core.client_port}",
            "AGENTSTEPPER_TOKEN": core.tokens.agent,
            "HF_HUB_OFFLINE": "1",
            "JUPYTER_DATA_DIR": str(folder / "jupyter"),
            "PYTHONPATH": str(frameworks),
            "TMPDIR": str(folder),
        }
        command = [sys.executable, str(EXAMPLE), "--offline"]
        with subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, text=True
        ) as process:
            yield person, process


def test_at_most_ten_lines_are_ours() -> None:
    code = EXAMPLE.read_text().split('"""', 2)[2]
    assert 0 < sum("dbg" in line for line in code.splitlines()) <= 10


@pytest.mark.slow
def test_halted_edited_and_continued(frameworks: Path, tmp_path: Path) -> None:
    with debugged(frameworks, tmp_path) as (person, process):
        seen = []
        while (row := halted(person)).name != "write" or row.side is EventSide.END:
            seen.append((row.kind, row.side, row.name))
            person.step()
        call = person.get_data(row)
        assert GUESSED_LINE in call["Argument"]["kwargs"]["content"]
        content = call["Argument"]["kwargs"]["content"].replace(GUESSED_LINE, RIGHT_LINE)
        call["Argument"]["kwargs"]["content"] = content
        person.step(call)
        person.wait_until_halted()
        person.resume()
        run = person.wait_until_ended()
        said, _ = process.communicate()

        assert seen == [
            (EventKind.PROGRAM_STARTED, EventSide.BEGIN, None),
            (EventKind.LLM_QUERY, EventSide.BEGIN, "scripted"),
            (EventKind.LLM_QUERY, EventSide.END, "scripted"),
            (EventKind.TOOL_INVOCATION, EventSide.BEGIN, "test"),
            (EventKind.TOOL_INVOCATION, EventSide.END, "test"),
            (EventKind.LLM_QUERY, EventSide.BEGIN, "scripted"),
            (EventKind.LLM_QUERY, EventSide.END, "scripted"),
            (EventKind.TOOL_INVOCATION, EventSide.BEGIN, "read"),
            (EventKind.TOOL_INVOCATION, EventSide.END, "read"),
            (EventKind.LLM_QUERY, EventSide.BEGIN, "scripted"),
            (EventKind.LLM_QUERY, EventSide.END, "scripted"),
        ]
        assert process.returncode == 0
        assert run.ending is RunEnding.FINISHED
        assert said.splitlines()[-1] == "All tests pass."
        rows = person.list_rows()
        assert [row.name for row in rows if row.edited] == ["write"]
        answers = [row.summary for row in rows if row.source is Actor.LLM]
        assert answers[-1] == "Calls final_answer(All tests pass.)"
        assert run.commits == 1  # the file that was written


@pytest.mark.soak
def test_without_the_edit_its_tests_stay_red(frameworks: Path, tmp_path: Path) -> None:
    with debugged(frameworks, tmp_path) as (person, process):
        person.wait_until_halted()
        person.resume()
        person.wait_until_ended()
        said, _ = process.communicate()
        assert said.splitlines()[-1] == "The tests still fail."
        assert not any(row.edited for row in person.list_rows())


@pytest.mark.soak  # the one before edits what it runs on
def test_a_prompt_is_edited(frameworks: Path, tmp_path: Path) -> None:
    """What the framework's client sends is what the person made of it."""
    with debugged(frameworks, tmp_path) as (person, process):
        while halted(person).kind is not EventKind.LLM_QUERY:
            person.step()
        prompt = person.get_data(halted(person))
        prompt["messages"].append({"role": "user", "content": "Observation: exit code 0"})
        prompt["messages"].append({"role": "assistant", "content": "I ran the tests."})
        person.step(prompt)
        person.wait_until_halted()
        person.resume()
        person.wait_until_ended()
        said, _ = process.communicate()
        assert said.splitlines()[-1] == "All tests pass."


def halted(person: LiveView) -> TimelineRow:
    """The row of the message that the run is halted at."""
    halt_point = person.wait_until(lambda run: run.state is RunState.HALTED).pending[0]
    return next(row for row in person.list_rows() if row.id == halt_point)
