"""What effect checks remember of a run: its files, its open calls, and what a restart restores."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from agentstepper_nb.core.effects import EffectChecks, EffectRecorder, load_effect_checks
from tests.unit.core.breakpoints.builders import END, TOOL, call, commit, history, point, recorded

from .tool_runs import ADDED, CHANGED, ToolRun, changed

WRITE = {"path": "cart.py", "content": "def total(): ...\n"}
CALL = json.dumps({"Tool": "write_file", "Argument": WRITE}).encode()


def test_after_a_formatter_the_file_holds_what_that_made() -> None:
    run = ToolRun()
    formatted = {**WRITE, "content": "def total():\n    ...\n"}
    run.call("write_file", WRITE, "wrote", changed("cart.py", CHANGED, formatted["content"]))
    assert run.names("write_file", WRITE, "wrote") == ["no_effect"]
    (mark,) = run.call("write_file", formatted, "wrote")
    assert mark.message == "It writes what cart.py holds already: nothing changed."


def test_of_many_files_the_last_five_hundred_are_known() -> None:
    run = ToolRun()
    run.tracker.record_changes(tuple(changed(f"f{each}.py", ADDED, "x") for each in range(501)))
    first, last = ({"path": f"f{each}.py", "content": "x"} for each in (0, 500))
    assert run.names("write_file", first, "wrote") == ["no_effect"]
    assert run.names("write_file", last, "wrote") == ["same_content"]


def test_of_many_open_calls_the_last_thousand_are_checked() -> None:
    tracker = ToolRun().tracker
    for each in range(1001):
        tracker.begin(f"e{each}", "write_file", CALL)
    tracker.record_edit("e0", CALL)  # a person may still edit it
    assert tracker.end("e0", 1001, b'"wrote"') is None
    report = tracker.end("e1000", 1002, b'"wrote"')
    assert report is not None
    assert [mark.check for mark in report.marks] == ["no_effect"]


def test_a_call_that_is_open_at_a_restart_is_checked_at_its_end() -> None:
    begun = recorded(1, call(WRITE, name="write_file"))
    before = history(begun, commits=(commit(0),))
    recorder = EffectRecorder(EffectChecks())
    recorder.restore_history(before.run, before)
    ended = recorded(2, point("wrote it", TOOL, END, name="write_file"))
    checked = recorder.evaluate(replace(ended, event=begun.event))
    assert checked.effects
    assert [mark.check for mark in checked.effects.marks] == ["no_effect"]


PACKAGE = """
from agentstepper_nb.core.effects import EffectCheck
prays = EffectCheck("prays", "Prayers", lambda call: None)
curses = "no check"
"""


def test_of_a_package_only_what_is_a_check_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "prayers_of_effects.py").write_text(PACKAGE)
    info = tmp_path / "prayers_of_effects-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: prayers_of_effects\nVersion: 1\n")
    names = "\n".join(f"{each} = prayers_of_effects:{each}" for each in ("prays", "curses"))
    (info / "entry_points.txt").write_text(f"[agentstepper_nb.effect_checks]\n{names}\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert [check.name for check in load_effect_checks()] == ["prays"]
