"""The two bugs of the original's study, rebuilt as agents: each is marked on its row."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec import UNSET

from agentstepper_nb import AgentStepperCore, discover
from agentstepper_nb.protocol.overview import GetOverview, RunOutcome, RunOverview
from agentstepper_nb.protocol.records import RunHistory
from examples import execution_agent, repair_agent
from tests.helpers.core_announcement import announce_core
from tests.helpers.forked_python import fork_programs


@pytest.fixture
def live(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[AgentStepperCore]:
    """A real Core."""
    for name in ("AGENTSTEPPER_URL", "AGENTSTEPPER_TOKEN", "JPY_PARENT_PID"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "jupyter-runtime"))
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "jupyter-data"))
    with fork_programs(), AgentStepperCore("127.0.0.1", client_port=0, ui_port=0) as core:
        file = announce_core(core)
        yield core
        discover.remove_core_info(file)


def read(core: AgentStepperCore) -> tuple[RunHistory, RunOverview]:
    """The run, and its overview."""
    from agentstepper_nb.hub.overviews import read_overview

    assert core.hub is not None and core._loop is not None
    (run,) = core.hub.runs()

    async def both() -> tuple[RunHistory, RunOverview]:
        assert core.hub is not None
        overview = await read_overview(core.hub, GetOverview(run=run.id))
        return await core.hub.history(run.id), overview

    return asyncio.run_coroutine_threadsafe(both(), core._loop).result(60)


def marked(history: RunHistory) -> dict[int, list[str]]:
    """The checks that mark rows, by row."""
    return {
        point.seq: [mark.check for mark in point.effects.marks]
        for point in history.halt_points
        if point.effects is not UNSET and point.effects.marks
    }


@pytest.mark.slow
def test_the_edit_that_was_dropped_is_marked_on_its_row(
    live: AgentStepperCore, tmp_path: Path
) -> None:
    folder = tmp_path / "shop"
    assert "I fixed" in repair_agent.main(folder)
    assert ", 2)" not in (folder / "cart.py").read_text()  # the tool lied
    history, overview = read(live)
    (row,) = [point.seq for point in history.halt_points if "dropped_edit" in str(point.effects)]
    call = next(point for point in history.halt_points if point.seq == row - 1)
    assert ", 2)" in call.data
    assert marked(history) == {row: ["dropped_edit", "no_effect"]}
    assert history.run.effects is not UNSET
    assert (history.run.effects.rows, history.run.effects.first) == (1, row)
    assert overview.outcome is RunOutcome.FINISHED
    texts: list[Any] = [(each.text.split(":")[0], each.row) for each in overview.contradictions]
    assert texts == [
        ("It says that it succeeded, but its last tests failed", overview.tools[0].last),
        ("write_fix", row),
    ]
    assert {each.name: each.calls for each in overview.tools} == {
        "run_tests": 4,
        "write_fix": 2,
        "read_file": 1,
    }
    (file,) = [each for each in overview.files if each.changes]
    assert (file.path, file.changes, file.reads) == ("cart.py", 1, 1)
    assert overview.repeated[0].tool == "run_tests"
    assert overview.repeated[0].repetition.is_unchanged


def test_the_container_that_started_is_marked_on_the_row_that_reports_failure(
    live: AgentStepperCore, tmp_path: Path
) -> None:
    folder = tmp_path / "shop"
    folder.mkdir()
    assert "could not start" in execution_agent.main(folder)
    history, overview = read(live)
    marks = marked(history)
    first = min(marks)
    assert marks[first] == ["failed_effect"]
    point = next(each for each in history.halt_points if each.seq == first)
    assert point.effects is not UNSET
    assert point.effects.marks[0].message == (
        "It reports failure (“Error: container web did not start.”), but created run/web.cid."
    )
    assert [marks[row] for row in sorted(marks)[1:]] == [["already_done"], ["already_done"]]
    assert (overview.outcome, overview.reason) == (
        RunOutcome.GAVE_UP,
        "By its own words it did not reach its goal",
    )
    assert [each.row for each in overview.contradictions] == [first]
