"""`agentstepper run --fork` and `--replay`: the command of a recorded run, started again."""

from __future__ import annotations

import os
import socket
import sys
from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from ..core.start_methods import explain_no_command
from ..discover import CoreEndpoint
from ..errors import CommandError
from ..history import StoredRun, load_run
from ..history.runs_folder import find_folder_of_core
from ..protocol.start_methods import CommandStart, FunctionStart, WorkspaceMode
from ..replay import load_recording, prepare_workspace
from ..replay.agent_runs import find_fork_point
from ..replay.child_runs import parse_fork_place
from ..replay.function_process import make_command
from ..replay.recording_cuts import RecordingCuts
from ..replay.workspace import prepare_cut_workspace
from ..replay.workspace_report import describe_files
from ..sdk.environment import PROGRAM_WORKSPACE_VARIABLE
from ..sdk.environment_replays import (
    CUT_VARIABLE,
    FORK_PROGRAM_VARIABLE,
    FORK_VARIABLE,
    REPLAY_VARIABLE,
    REPLAY_VARIABLES,
    RERUN_VARIABLE,
    RUNS_FOLDER_VARIABLE,
)
from ..sdk.workspace_redirect import WORKSPACE_VARIABLE
from .terminal_text import escape_controls


class RunAgain(NamedTuple):
    """A command to run on a recording.

    Args:
        program: The command line.
        folder: The working directory; None: this process's.
        variables: Additional environment variables.
        start: The recorded run's start, if that was by its command.
    """

    program: list[str]
    folder: str | None
    variables: dict[str, str]
    start: CommandStart | None


def prepare(namespace: Namespace, core: CoreEndpoint) -> RunAgain:
    """Find the command to run again, and its recording.

    Args:
        namespace: The parsed command line: `fork`, `replay` or `rerun`, and perhaps `program`.
        core: The Core of the new run.

    Raises:
        CommandError: There is no such run or row, or its command isn't known.
        StoreError: The folder has no runs, or can't be read.
        OSError: The recorded folder is gone.
        WorkspaceError: The files of a fork can't be prepared.
    """
    folder = os.environ.get(RUNS_FOLDER_VARIABLE) or find_folder_of_core(core.url)
    row = None
    if namespace.cut is not None:
        name, _ = parse_fork_place(namespace.cut)
    elif namespace.fork is not None:
        name, row = parse_fork_place(namespace.fork)
    else:
        name = namespace.replay or namespace.rerun
    stored = load_run(name, folder)
    if row is not None:
        find_fork_point(load_recording(stored), row)
    variables = _make_variables(namespace, stored, row)
    if namespace.program:
        return _put_files(RunAgain(namespace.program, None, variables, None), stored, namespace)
    start = _find_command(stored, row)
    if not Path(start.folder).is_dir():
        raise NotADirectoryError(
            f"the folder {start.folder}, where run {stored.id} was started, is gone. Name the command "
            "after --, to start it in this folder."
        )
    if isinstance(stored.start_method(), CommandStart):  # which may open other runs before
        variables[FORK_PROGRAM_VARIABLE] = stored.header.program
    return _put_files(RunAgain(list(start.argv), start.folder, variables, start), stored, namespace)


def put_variables(environment: Mapping[str, str], again: RunAgain) -> dict[str, str]:
    """Make the environment of a replay; prints the variables that it lacks."""
    missing = () if again.start is None else set(again.start.variables).difference(environment)
    if missing:
        print(
            "agentstepper run: these variables of the recorded run aren't set here: "
            f"{', '.join(sorted(missing))}.",
            file=sys.stderr,
        )
    others = (*REPLAY_VARIABLES, WORKSPACE_VARIABLE, PROGRAM_WORKSPACE_VARIABLE)
    rest = {name: value for name, value in environment.items() if name not in others}
    return rest | again.variables


def _put_files(again: RunAgain, stored: StoredRun, namespace: Namespace) -> RunAgain:
    """Prepare the files of a fork's row, if the recorded run had a workspace."""
    if namespace.fork is not None:
        _, row = parse_fork_place(namespace.fork)
        mode = namespace.workspace or WorkspaceMode.FRESH
        prepared = prepare_workspace(stored, row, mode, cwd=again.folder)
    elif namespace.cut is not None:
        _, count = parse_fork_place(namespace.cut)
        recording = RecordingCuts(load_recording(stored)).make_recording(count)
        prepared = prepare_cut_workspace(recording, cwd=again.folder)
    else:
        return again
    if prepared is None:
        return again
    print(f"agentstepper run: {escape_controls(describe_files(prepared.report))}", file=sys.stderr)
    folder = again.folder if prepared.cwd is None else str(prepared.cwd)
    variables = {PROGRAM_WORKSPACE_VARIABLE: str(prepared.recorded), **prepared.make_variables()}
    return again._replace(folder=folder, variables=again.variables | variables)


def _find_command(stored: StoredRun, row: int | None) -> CommandStart:
    start = stored.start_method()
    refusal = explain_no_command(stored.header, start, row, socket.gethostname())
    if refusal is not None:
        raise CommandError("cannot_start_again", refusal, stored.id)
    if isinstance(start, FunctionStart):
        return _make_command(stored.id, start)
    assert isinstance(start, CommandStart)
    return start


def _make_command(run: str, start: FunctionStart) -> CommandStart:
    """The command by which a function is called again."""
    assert start.call
    return CommandStart(
        argv=tuple(make_command(start.call.python, run)),
        folder=start.call.folder,
        variables=start.call.variables,
        freezes=start.call.freezes,
    )


def _make_variables(namespace: Namespace, stored: StoredRun, row: int | None) -> dict[str, str]:
    folder = {RUNS_FOLDER_VARIABLE: str(stored.folder)}
    workspace = stored.header.workspace
    # An imported run, which has no start method, may name any folder of this machine.
    if workspace and stored.start_method() is not None and Path(workspace).is_dir():
        folder[PROGRAM_WORKSPACE_VARIABLE] = workspace
    if row is not None:
        return {**folder, FORK_VARIABLE: f"{stored.id}@{row}"}
    if namespace.cut is not None:
        return {**folder, CUT_VARIABLE: f"{stored.id}@{parse_fork_place(namespace.cut)[1]}"}
    variable = REPLAY_VARIABLE if namespace.replay else RERUN_VARIABLE
    return {**folder, variable: stored.id}
