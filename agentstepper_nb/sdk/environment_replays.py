"""The replay that the environment of a process asks for: who starts a program again puts it there.

A run of the process that opens takes the request, and the variables leave the environment at once: what
the program starts in turn is no replay.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any, Final, NamedTuple

from ..protocol.start_methods import ForkOrigin
from .replay_source import ReplaySource

#: RUN@ROW: the run is forked at a row. RUN@COUNT: so many outcomes are served, and no later one.
#: RUN: it is replayed, or only started again.
FORK_VARIABLE: Final = "AGENTSTEPPER_FORK"
CUT_VARIABLE: Final = "AGENTSTEPPER_CUT"
REPLAY_VARIABLE: Final = "AGENTSTEPPER_REPLAY"
RERUN_VARIABLE: Final = "AGENTSTEPPER_RERUN"
#: The folder that keeps the recorded run; without it Jupyter's data folder has it.
RUNS_FOLDER_VARIABLE: Final = "AGENTSTEPPER_RUNS_FOLDER"
#: The program whose run takes the request; without it the first run of each process does.
FORK_PROGRAM_VARIABLE: Final = "AGENTSTEPPER_FORK_PROGRAM"
REPLAY_VARIABLES: Final = (
    FORK_VARIABLE,
    CUT_VARIABLE,
    REPLAY_VARIABLE,
    RERUN_VARIABLE,
    RUNS_FOLDER_VARIABLE,
    FORK_PROGRAM_VARIABLE,
)
#: Has `open_replay`. It imports this package, and so it is imported where a replay is asked for alone.
_OPENER: Final = "agentstepper_nb.replay.child_runs"


class OpenedReplay(NamedTuple):
    """What a run that begins is a replay of."""

    source: ReplaySource | None = None  # answers its events; None: it is live
    origin: ForkOrigin | None = None  # the run that it was started again from


def take_environment_replay(program: str) -> OpenedReplay:
    """The replay that this process was started as; once.

    Args:
        program: The name of the program of the run that begins.

    Raises:
        CommandError: `unknown_run`, `unknown_content`: there is no such run or row.
        StoreError: The folder has no runs, or can't be read.
    """
    if taken := hold_request():
        _requests[:] = [taken]
    if not _requests or _requests[0].get(FORK_PROGRAM_VARIABLE, program) != program:
        return OpenedReplay()
    opener: Any = import_module(_OPENER)
    opened: OpenedReplay = opener.open_replay(_requests[0])
    _requests.clear()
    return opened


def hold_request() -> dict[str, str]:
    """Take the request out of the environment, where no run has taken it; who holds it puts it back."""
    return {name: os.environ.pop(name) for name in REPLAY_VARIABLES if name in os.environ}


def is_requested() -> bool:
    """Whether the next run of this process is to be one that was started again."""
    return bool(_requests) or any(name in os.environ for name in REPLAY_VARIABLES)


def find_recorded_run() -> str | None:
    """The id of the run on whose recording this process is to run, while no run has taken that."""
    for name in (FORK_VARIABLE, CUT_VARIABLE):
        if name in os.environ:
            return os.environ[name].rpartition("@")[0]
    return os.environ.get(REPLAY_VARIABLE)


_requests: list[dict[str, str]] = []
