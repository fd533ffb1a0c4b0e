"""The replay that a process's environment requests: a program is started again with these variables.

The first run of the process that opens takes the request, and the variables leave the environment at
once: programs that the program starts are no replays.
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
#: The folder of the recorded run; if unset, Jupyter's data folder has the run.
RUNS_FOLDER_VARIABLE: Final = "AGENTSTEPPER_RUNS_FOLDER"
#: The program whose run takes the request; if unset, the first run of each process does.
FORK_PROGRAM_VARIABLE: Final = "AGENTSTEPPER_FORK_PROGRAM"
REPLAY_VARIABLES: Final = (
    FORK_VARIABLE,
    CUT_VARIABLE,
    REPLAY_VARIABLE,
    RERUN_VARIABLE,
    RUNS_FOLDER_VARIABLE,
    FORK_PROGRAM_VARIABLE,
)
#: The module of `open_replay`, which imports this package: imported only if a replay is requested.
_OPENER: Final = "agentstepper_nb.replay.child_runs"


class OpenedReplay(NamedTuple):
    """The replay source and the origin of a run that begins."""

    source: ReplaySource | None = None  # answers the run's events; None: the run is live
    origin: ForkOrigin | None = None  # the run that the new run is started from


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
    """The id of the recorded run that this process is to replay, until a run has taken the request."""
    for name in (FORK_VARIABLE, CUT_VARIABLE):
        if name in os.environ:
            return os.environ[name].rpartition("@")[0]
    return os.environ.get(REPLAY_VARIABLE)


_requests: list[dict[str, str]] = []
