"""Names and texts of anyone are one line where a line is written, and no line is longer than memory."""

from __future__ import annotations

import io
import logging

import pytest
from msgspec.structs import replace

from agentstepper_nb.cli.lines import change_line, commit_line, row_line, run_line
from agentstepper_nb.cli.text import LineFormatter
from agentstepper_nb.core import row
from agentstepper_nb.protocol.values import (
    ChangeKind,
    Commit,
    Ending,
    Failure,
    FileChange,
    RunState,
)
from agentstepper_nb.store.archive import readable
from tests.helpers.histories import with_every_field

HISTORY = with_every_field()
FORGED = "mine\n— theirs: finished —\x1b[2J\u202e\u2028"
SHOWN = "mine\\n— theirs: finished —\\x1b[2J\\u202e\\u2028"


def test_a_runs_name_and_failure_forge_no_line() -> None:
    run = replace(
        HISTORY.run,
        name=FORGED,
        state=RunState.IDLE,
        ending=Ending.CRASHED,
        failure=Failure(type="E", message=FORGED),
        usage=None,
    )
    assert run_line(run) == f"{SHOWN}: crashed (E: {SHOWN})"


def test_commits_and_changes_forge_no_line() -> None:
    change = FileChange(path=FORGED, kind=ChangeKind.RENAMED, previous_path="a")
    commit = Commit(id="c", at=1.0, title=FORGED, changes=(change,))
    assert commit_line(1, commit) == f"      changes 1: {SHOWN} (1 file, +0 -0)"
    assert change_line(change) == f"  > a → {SHOWN}  +0 -0"


def test_a_deep_row_is_set_to_the_right_only_so_far() -> None:
    shown = row(HISTORY.breakpoints[0])
    assert row_line(replace(shown, depth=2**52)) == row_line(replace(shown, depth=20))
    assert row_line(replace(shown, depth=2)) != row_line(replace(shown, depth=3))


def test_a_run_as_text_has_no_forged_line() -> None:
    run = replace(HISTORY.run, name=FORGED)
    commits = tuple(replace(commit, title=FORGED) for commit in HISTORY.commits)
    text = readable(replace(HISTORY, run=run, commits=commits))
    assert text.startswith(f"{SHOWN} (")
    assert "\n— theirs" not in text and text.count(SHOWN) == 1 + len(commits)


def test_a_log_has_a_line_for_a_record() -> None:
    out = io.StringIO()
    handler = logging.StreamHandler(out)
    handler.setFormatter(LineFormatter("%(levelname)s %(message)s"))
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
    assert run_line(replace(HISTORY.run, name=text)).startswith(f"{text}: ")
