"""Names and texts of anyone are one line where a line is written, and no line is longer than memory."""

from __future__ import annotations

import io
import logging

import pytest
from msgspec.structs import replace

from agentstepper_nb.cli.run_formatting import format_change, format_commit, format_row, format_run
from agentstepper_nb.cli.terminal_text import LogLineFormatter
from agentstepper_nb.core import make_row
from agentstepper_nb.protocol.data_model import (
    ChangeKind,
    Commit,
    Failure,
    FileChange,
    RunEnding,
    RunState,
)
from agentstepper_nb.store.archive import render_run_text
from tests.helpers.histories import make_full_history

HISTORY = make_full_history()
FORGED = "mine\n— theirs: finished —\x1b[2J\u202e\u2028"
SHOWN = "mine\\n— theirs: finished —\\x1b[2J\\u202e\\u2028"


def test_a_runs_name_and_failure_forge_no_line() -> None:
    run = replace(
        HISTORY.run,
        name=FORGED,
        state=RunState.IDLE,
        ending=RunEnding.CRASHED,
        failure=Failure(type="E", message=FORGED),
        usage=None,
    )
    assert format_run(run) == f"{SHOWN}: crashed (E: {SHOWN})"


def test_commits_and_changes_forge_no_line() -> None:
    change = FileChange(path=FORGED, kind=ChangeKind.RENAMED, previous_path="a")
    commit = Commit(id="c", at=1.0, title=FORGED, changes=(change,))
    assert format_commit(1, commit) == f"      changes 1: {SHOWN} (1 file, +0 -0)"
    assert format_change(change) == f"  > a → {SHOWN}  +0 -0"


def test_a_deep_row_is_set_to_the_right_only_so_far() -> None:
    shown = make_row(HISTORY.halt_points[0])
    assert format_row(replace(shown, depth=2**52)) == format_row(replace(shown, depth=20))
    assert format_row(replace(shown, depth=2)) != format_row(replace(shown, depth=3))


def test_a_run_as_text_has_no_forged_line() -> None:
    run = replace(HISTORY.run, name=FORGED)
    commits = tuple(replace(commit, title=FORGED) for commit in HISTORY.commits)
    text = render_run_text(replace(HISTORY, run=run, commits=commits))
    assert text.startswith(f"{SHOWN} (")
    assert "\n— theirs" not in text and text.count(SHOWN) == 1 + len(commits)


def test_a_log_has_a_line_for_a_record() -> None:
    out = io.StringIO()
    handler = logging.StreamHandler(out)
    handler.setFormatter(LogLineFormatter("%(levelname)s %(message)s"))
    log = logging.Logger("hostile")
    log.addHandler(handler)
    log.info("%s imported", FORGED)
    try:
        raise ValueError("below")
    except ValueError:
        log.exception("it failed")
    lines = out.getvalue().splitlines()
    assert lines[:2] == [f"INFO {SHOWN} imported", "ERROR it failed"]
    assert lines[2].startswith("Traceback") and lines[-1] == "ValueError: below"


@pytest.mark.parametrize("text", ["plain: ünïcode 🎉", ""])
def test_what_is_harmless_stays(text: str) -> None:
    assert format_run(replace(HISTORY.run, name=text)).startswith(f"{text}: ")
