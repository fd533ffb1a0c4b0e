"""Opens the replay that a process was started as, when its run begins: see `sdk.environment_replays`."""

from __future__ import annotations

import atexit
import sys
from collections.abc import Mapping
from functools import partial

from ..errors import CommandError, Divergence
from ..history import load_run
from ..protocol.start_methods import ForkOrigin
from ..sdk.environment_replays import (
    CUT_VARIABLE,
    FORK_VARIABLE,
    REPLAY_VARIABLE,
    RERUN_VARIABLE,
    RUNS_FOLDER_VARIABLE,
    OpenedReplay,
)
from .agent_runs import find_fork_point, load_recording
from .deciding_event import open_cut
from .recording_cuts import RecordingCuts
from .recordings import Recording
from .replayer import Replayer


def open_replay(variables: Mapping[str, str]) -> OpenedReplay:
    """Open the recording that a run of this process replays.

    Args:
        variables: The environment variables that request the replay.

    Raises:
        CommandError: `unknown_run`, `unknown_content`: there is no such run or row.
        StoreError: The folder has no runs, or can't be read.
    """
    folder = variables.get(RUNS_FOLDER_VARIABLE)
    if (place := variables.get(FORK_VARIABLE)) is not None:
        run, row = parse_fork_place(place)
        source = open_fork(load_recording(run, folder), row)
        return OpenedReplay(source, source.origin)
    if (place := variables.get(CUT_VARIABLE)) is not None:
        run, count = parse_fork_place(place)
        cuts = RecordingCuts(load_recording(run, folder))
        source = open_cut(cuts.make_recording(count))
        return OpenedReplay(source, source.origin)
    if (run_name := variables.get(REPLAY_VARIABLE)) is not None:
        source = Replayer(load_recording(run_name, folder), halts=False)
        atexit.register(partial(_report_incomplete, source))
        return OpenedReplay(source, source.origin)
    if (run_name := variables.get(RERUN_VARIABLE)) is not None:
        return OpenedReplay(origin=ForkOrigin(run=load_run(run_name, folder).id, is_live=True))
    return OpenedReplay()


def open_fork(recording: Recording, row: int) -> Replayer:
    """Begin a fork in this process, which halts at its row.

    Args:
        recording: The run.
        row: The row's number.

    Raises:
        CommandError: `unknown_content`: the run can't be forked there.
    """
    return Replayer(recording, find_fork_point(recording, row))


def parse_fork_place(text: str) -> tuple[str, int]:
    """The run and the row of a text like `my-agent@7`.

    Raises:
        CommandError: `unknown_content`: it isn't one.
    """
    run, _, row = text.rpartition("@")
    if not run or not (row.isascii() and row.isdigit()):
        raise CommandError(
            "unknown_content",
            f"{text!r} names no row to fork at. Write RUN@ROW: the run's id or name, and the row's "
            "number in its timeline.",
        )
    return run, int(row)


def _report_incomplete(replayer: Replayer) -> None:
    """Say at a program's end what its replay lacks."""
    try:
        replayer.check_complete()
    except Divergence as error:
        print(f"agentstepper: {error}", file=sys.stderr)
