"""`%%step --fork` and `--replay`: a cell that runs on a recording."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import NamedTuple

from IPython.core.error import UsageError

from ..core.start_methods import make_option
from ..discover import discover
from ..errors import AgentStepperError
from ..history import StoredRun, load_run
from ..history.runs_folder import find_folder_of_core
from ..protocol.start_methods import CellStart, CommandStart
from ..replay import PreparedWorkspace, load_recording, prepare_workspace
from ..replay.child_runs import open_fork, parse_fork_place
from ..replay.replayer import Replayer
from ..sdk.run_session import set_next_replay
from ..widgets.kernel_core import get_kernel_core

_IN_MEMORY = (
    "The Core of this kernel keeps its runs in memory, where a cell can't be run again on them. Install "
    "agentstepper_nb in the Jupyter server's environment, or start agentstepper serve, to keep runs."
)


class CellReplay(NamedTuple):
    """A cell to run on a recording.

    Args:
        source: The cell's source.
        program: The recorded run's program name.
        replayer: Answers the cell's events.
        is_strict: Whether a difference from the recording ends the cell.
        workspace: The folder of a fork; None: the recorded run had no folder, or is replayed.
        freezes: Whether the recorded run was frozen, so that the new one is frozen, too.
    """

    source: str
    program: str
    replayer: Replayer
    is_strict: bool
    workspace: PreparedWorkspace | None = None
    freezes: bool = False

    @contextmanager
    def open(self) -> Iterator[None]:
        """Make the run opened inside the replay. At the end, a strict replay must be complete."""
        with self.use_workspace():
            forget = set_next_replay(self.replayer)
            try:
                yield
            finally:
                forget()

    def use_workspace(self) -> AbstractContextManager[None]:
        """Run the cell in the fork's folder, where there is one."""
        return nullcontext() if self.workspace is None else self.workspace.use()

    def check_end(self) -> None:
        """Check, where the cell has ended without an exception, that a strict replay lacks nothing.

        Raises:
            Divergence: Something is missing.
        """
        if self.is_strict:
            self.replayer.check_complete()


def prepare_replay(source: str, fork: str | None, replay: str | None) -> CellReplay | None:
    """Prepare a line's `--fork` or `--replay`; None if the line has neither.

    Args:
        source: The cell's body; if empty, the recorded cell's source.
        fork: RUN@ROW.
        replay: RUN.

    Raises:
        UsageError: There is no such run or row; the run wasn't a cell's and the body is empty; or the
            files of a fork can't be prepared.
    """
    if fork is None and replay is None:
        return None
    if get_kernel_core() is not None:
        raise UsageError(_IN_MEMORY)
    try:
        name, row = (replay or "", None) if fork is None else parse_fork_place(fork)
        stored = load_run(name, find_folder_of_core(discover().url))
        recording = load_recording(stored)
        replayer = Replayer(recording) if row is None else open_fork(recording, row)
        body = source if source.strip() else _find_source(stored, row)
        workspace = None if row is None else prepare_workspace(recording, row)
    except (AgentStepperError, OSError) as error:
        raise UsageError(str(error)) from None
    print(
        f"Runs on the recording of run {stored.id}, with the names of this kernel as they are now."
    )
    if workspace is not None:
        print(workspace.report)
    freezes = _was_frozen(stored)
    return CellReplay(body, recording.program, replayer, row is None, workspace, freezes)


def _was_frozen(stored: StoredRun) -> bool:
    start = stored.start_method()
    return isinstance(start, CellStart | CommandStart) and start.freezes


def _find_source(stored: StoredRun, row: int | None) -> str:
    start = stored.start_method()
    line = f"%%step {make_option(stored.header, row)}"
    if not isinstance(start, CellStart):
        raise UsageError(
            f"Run {stored.id} isn't known as a cell's. Put the agent's code below {line}."
        )
    if start.is_masked:
        raise UsageError(
            f"The cell of run {stored.id} had a secret, which was masked when it was recorded. Put the "
            f"cell below {line}."
        )
    return start.source
