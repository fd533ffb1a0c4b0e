"""Runs as tables: what is in them, of which types, and where they are empty."""

from __future__ import annotations

import builtins
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

import agentstepper_nb
from agentstepper_nb import history
from agentstepper_nb.errors import CommandError, StoreError
from agentstepper_nb.history.data_frames import make_run_frame
from tests.helpers.histories import make_full_history

EVERY = make_full_history()


def test_runs(folder: Path) -> None:
    runs = agentstepper_nb.list_runs(folder)
    assert list(runs.index) == ["r", "01-run", "02-run"]
    run = runs.loc["r"].to_dict()
    assert run == {
        "name": "Night run",
        "program": "solver",
        "state": "idle",
        "ending": "crashed",
        "started_at": datetime.fromtimestamp(1.5, UTC),
        "ended_at": datetime.fromtimestamp(9.25, UTC),
        "duration": 7.75,
        "rows": 4,
        "commits": 1,
        "input_tokens": 1,
        "output_tokens": 2,
        "cost": 0.5,
        "tags": ["a", "b"],
        "workspace": "/w",
        "host": "h",
        "pid": 4,
        "exit_code": -9,
        "failure": "builtins.OSError: gone",
        "last_event": "Calls ls",
        "forked_from": "parent",
        "forked_at": 4,
    }
    assert str(runs.dtypes["started_at"]).endswith("UTC]")
    assert runs.dtypes["rows"] == "Int64"
    assert runs["exit_code"].isna().tolist() == [False, True, True]


def test_a_run_is_found_by_its_programs_name(folder: Path) -> None:
    assert agentstepper_nb.load_run("solver", folder).id == "r"


def test_what_pandas_does_with_them(folder: Path) -> None:
    runs = agentstepper_nb.list_runs(folder)
    assert runs.groupby("program")["rows"].sum()["solver"] == 4
    assert list(runs[runs.tags.map(lambda tags: "a" in tags)].index) == ["r"]
    assert (runs.ended_at - runs.started_at).dt.total_seconds().loc["r"] == 7.75


def test_events(folder: Path) -> None:
    events = agentstepper_nb.load_run("r", folder).events()
    assert list(events.index) == ["b", "c", "d", "a"]
    row = events.loc["c"].to_dict()
    assert row.pop("at") == datetime.fromtimestamp(2.0, UTC)
    assert row == {
        "seq": 2,
        "kind": "custom",
        "side": "end",
        "name": "retrieval",
        "source": "tools",
        "target": "agent",
        "summary": "Raised by a person: ValueError: no",
        "sentence": "It asks.",
        "duration": 0.5,
        "tokens": 11,
        "cost": 0.125,
        "outcome": "error",
        "failure": "builtins.OSError: gone",
        "edited": True,
        "answer": "deny",
        "approval": False,
        "reason": None,
        "size": 18,
        "depth": 1,
        "event": "e",
        "note": None,
        "agent": "planner",
        "node": "draft",
    }
    said = events.loc["d"]
    assert (said.kind, said.side, said.note) == ("debug_message", None, "why?")
    asked = events.loc["a"]
    assert (asked.approval, asked.answer, asked.reason) == (True, "resume", None)
    assert events.loc["b"].reason == "Not today."
    assert str(events.dtypes["edited"]) == str(events.dtypes["approval"]) == "bool"
    assert (asked.agent, asked.node) == (None, None)
    assert events["tokens"].isna().tolist() == [True, False, True, True]


def test_commits(folder: Path) -> None:
    commits = agentstepper_nb.load_run("r", folder).commits()
    (commit,) = commits.reset_index().to_dict("records")
    assert commit.pop("at") == datetime.fromtimestamp(3.5, UTC)
    assert commit == {
        "id": "c0ffee",
        "seq": 2,
        "title": "Mend it",
        "description": "It was broken.",
        "sentence": "It mends a.py.",
        "snapshot": True,
        "files": 2,
        "added": 1,
        "removed": 1,
        "paths": ["a.py", "c.bin"],
        "event": "e",
    }


def test_contents(folder: Path) -> None:
    run = agentstepper_nb.load_run("r", folder)
    assert run.content("b") is run.content(1) is None  # as edited
    assert run.content(3) == run.content("d") == "said"
    for missing in ("e", 5, 0):
        with pytest.raises(CommandError, match="has no row") as error:
            run.content(missing)
        assert error.value.code == "unknown_content"


def test_each_row_of_each_run_has_contents(folder: Path) -> None:
    for id in ("01-run", "02-run"):
        run = agentstepper_nb.load_run(id, folder)
        points = {point.id: point for point in run.history().halt_points}
        for row in run.events().itertuples():
            if row.Index in points:
                assert run.content(row.Index) == json.loads(points[row.Index].current)
                assert run.content(int(row.seq)) == run.content(row.Index)


def test_tables_of_nothing(tmp_path: Path, folder: Path) -> None:
    found = history.search_runs("nowhere to be found", folder=folder)
    assert found.empty
    assert list(found.columns) == ["run", "name", "place", "id", "text", "found"]


# ---- which run --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wanted", "id"),
    [("r", "r"), ("Night run", "r"), ("01", "01-run"), ("Twin", "02-run"), ("02-run", "02-run")],
)
def test_a_run_by_its_id_its_name_or_a_beginning(folder: Path, wanted: str, id: str) -> None:
    assert agentstepper_nb.load_run(wanted, folder).id == id


@pytest.mark.parametrize(
    ("wanted", "says"),
    [
        ("0", r"Several runs have ids that begin with 0: 01-run \(Twin\), 02-run \(Twin\)"),
        ("x", "No run has the id or name 'x'. The newest runs are: Twin, Night run."),
        ("", "No run has the id or name ''"),
    ],
)
def test_no_run_or_several(folder: Path, wanted: str, says: str) -> None:
    with pytest.raises(CommandError, match=says) as error:
        agentstepper_nb.load_run(wanted, folder)
    assert error.value.code == "unknown_run"


def test_what_a_run_shows_of_itself(folder: Path) -> None:
    run = agentstepper_nb.load_run("r", folder)
    assert repr(run) == "<StoredRun r 'Night run', crashed, 4 rows>"
    assert run.header == EVERY.run
    assert run.history() == EVERY


# ---- what is missing --------------------------------------------------------------------------------


def test_a_folder_without_runs(tmp_path: Path) -> None:
    for call in (
        lambda: history.list_runs(tmp_path),
        lambda: history.load_run("a", tmp_path),
        lambda: history.search_runs("a", folder=tmp_path),
    ):
        with pytest.raises(
            StoreError, match=r"The folder .* has no runs: there is no store.sqlite"
        ):
            call()
    assert list(tmp_path.iterdir()) == []


def test_the_folder_is_jupyters_where_none_is_named(home: Path) -> None:
    with pytest.raises(StoreError, match="jupyter_data_dir/agentstepper"):
        agentstepper_nb.list_runs()


def test_without_pandas(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any, **more: Any) -> Any:
        if name == "pandas":
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"pip install 'agentstepper_nb\[history\]'"):
        agentstepper_nb.list_runs(folder)
    assert agentstepper_nb.load_run("r", folder).content(3) == "said"


def test_times_that_pandas_can_not_tell_are_empty() -> None:
    far = replace(EVERY.run, ended_at=250_000_000_000.0)
    frame = make_run_frame([EVERY.run, far])
    assert frame.started_at.notna().all()
    assert frame.ended_at.isna().tolist() == [False, True]
