"""Runs an agent's function again on a recording."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from os import PathLike
from typing import Any, Final

from ..errors import CommandError
from ..history import StoredRun, load_run
from ..protocol.data_model import EventSide
from ..sdk import AgentStepper, frozen_values, set_current_stepper
from ..sdk.core_location import OFFLINE_URL
from ..sdk.run_session import set_next_replay
from ..sdk.start_methods import make_function_start, set_next_start
from .event_matcher import ReplayDepth
from .recordings import Recording, make_recording
from .replayer import ForkPoint, RepeatedDivergence, Replayer
from .workspace import PreparedWorkspace, prepare_workspace
from .workspace_report import WorkspaceMode

_NO_EDIT: Final = object()


def load_recording(
    run: str | StoredRun,
    folder: str | PathLike[str] | None = None,
    volatile: Sequence[str] = (),
) -> Recording:
    """Load a stored run as a recording.

    Args:
        run: The run, or its id or name, as for `load_run`.
        folder: The folder that stores the runs; None: `agentstepper/` in Jupyter's data folder.
        volatile: Regular expressions for text that differs in each execution, as dates, ids and
            temporary paths. Their matches are ignored when requests are compared.

    Raises:
        CommandError: `unknown_run`.
        StoreError: The folder has no store, or the store can't be read.
        re.error: A pattern is no regular expression.
    """
    stored = load_run(run, folder) if isinstance(run, str) else run
    return make_recording(stored.history(), stored.hash_key(), volatile)


def replay_run(
    run: str | StoredRun | Recording,
    function: Callable[..., Any],
    *args: Any,
    depth: ReplayDepth = ReplayDepth.WHOLE,
    halts: bool = False,
    offline: bool = False,
    freeze: bool = False,
) -> Any:
    """Run an agent again on its recording: no model is queried, and no tool is called.

    Args:
        run: The recorded run: a stored run, its id or name, or the result of `load_recording`.
        function: The agent, synchronous or `async`; called with `args`. An AgentStepper that the
            function makes without an address belongs to the replay's run.
        args: The function's arguments.
        depth: Whether a sub-agent's call is served as one, or the sub-agent runs and its own
            queries and tool calls are served.
        halts: Whether the run halts in the view where it differs, before it ends.
        offline: Whether to use no Core: then the replay's run is neither recorded nor shown.
        freeze: Whether the agent sees the recorded time. If the run was recorded with frozen values
            (`freeze_runs`, `agentstepper run --freeze`), the agent also sees the recorded random
            numbers.

    Returns:
        The function's result; for an `async` function an awaitable of it.

    Raises:
        Divergence: The agent does something else than its recording has, or ends before the
            recording does.
        CommandError: `unknown_run`.
        ConnectionError: No Core can be reached.
    """
    recording = run if isinstance(run, Recording) else load_recording(run)
    replayer = Replayer(recording, depth=depth, halts=halts)
    opened = open_replay_run(replayer, function, is_offline=offline, is_frozen=freeze)
    return _run(opened, replayer, function, args, is_strict=True)


def fork_run(
    run: str | StoredRun | Recording,
    row: int,
    function: Callable[..., Any],
    *args: Any,
    edit: Any = _NO_EDIT,
    depth: ReplayDepth = ReplayDepth.WHOLE,
    workspace: WorkspaceMode | str = WorkspaceMode.FRESH,
    freeze: bool = False,
) -> Any:
    """Run an agent again: on its recording up to a row, and on its own from there.

    If the recorded run had a workspace, the agent works on a new folder with the files of the
    snapshot at the row. `agentstepper_nb.workspace` names the new folder. If the process's working
    folder lies in the recorded workspace, the process works in the same place of the new folder
    while the agent runs.

    Args:
        run: The recorded run, as for `replay_run`.
        row: The number of a row in the run's timeline: the begin or the end of a query, a tool call
            or a custom event.
        function: The agent, as for `replay_run`.
        args: The function's arguments.
        edit: The data that replaces the row's data. Without an edit the run halts at the row.
        depth: As for `replay_run`.
        workspace: The folder that the agent works on. "fresh": a new folder. "in_place": the
            recorded run's folder, in which the snapshot's files are restored until `put_back`.
            "none": no folder is prepared.
        freeze: As for `replay_run`. From the row on, the agent sees the real time and new random
            numbers.

    Returns:
        The function's result; for an `async` function an awaitable of it.

    Raises:
        CommandError: `unknown_run`; `unknown_content`: the run has no such row, or can't be forked
            there.
        TypeError: The edit can't be written as JSON.
        ValueError: `workspace` is none of the three.
        WorkspaceError: The snapshot isn't on this machine, or its files can't be written.
        ConnectionError: No Core can be reached.
    """
    recording = run if isinstance(run, Recording) else load_recording(run)
    text = None if edit is _NO_EDIT else json.dumps(edit)
    replayer = Replayer(recording, find_fork_point(recording, row, text), depth)
    prepared = prepare_workspace(recording, row, workspace)
    opened = open_replay_run(replayer, function, prepared, is_frozen=freeze)
    return _run(opened, replayer, function, args, is_strict=False)


def find_fork_point(recording: Recording, row: int, edit: str | None = None) -> ForkPoint:
    """Find the point at which a run can be forked at a row.

    Args:
        recording: The run.
        row: The row's number.
        edit: JSON text that replaces the row's data; None: no edit.

    Raises:
        CommandError: `unknown_content`: no query, tool call or custom event begins or ends at the
            row.
    """
    for event in recording.events:
        if event.seq == row:
            return ForkPoint(event.id, EventSide.BEGIN, edit)
        if event.end_seq == row:
            return ForkPoint(event.id, EventSide.END, edit)
    raise CommandError(
        "unknown_content",
        f"Run {recording.run} can't be forked at row {row}: no query, tool call or custom event begins "
        "or ends there. Choose another row of its timeline.",
        recording.run,
    )


def _run(
    run: AbstractContextManager[AgentStepper],
    replayer: Replayer,
    function: Callable[..., Any],
    args: tuple[Any, ...],
    *,
    is_strict: bool,
) -> Any:
    if inspect.iscoroutinefunction(function):
        return _run_async(run, replayer, function, args, is_strict)
    with run:
        result = function(*args)
        if is_strict:
            replayer.check_complete()
        return result


async def _run_async(
    run: AbstractContextManager[AgentStepper],
    replayer: Replayer,
    function: Callable[..., Any],
    args: tuple[Any, ...],
    is_strict: bool,
) -> Any:
    with run:
        result = await function(*args)
        if is_strict:
            replayer.check_complete()
        return result


@contextmanager
def open_replay_run(
    replayer: Replayer,
    function: Callable[..., Any],
    prepared: PreparedWorkspace | None = None,
    *,
    is_offline: bool = False,
    is_frozen: bool = False,
) -> Iterator[AgentStepper]:
    """Open the run of a replay, which halts only where it is forked or differs.

    Args:
        replayer: Serves the run's events.
        function: The agent; recorded as the function that the run was started with.
        prepared: The folder that the agent works on.
        is_offline: Whether to use no Core.
        is_frozen: Whether the agent sees the recorded time.
    """
    with nullcontext() if prepared is None else prepared.use():
        with ExitStack() as opening:
            opening.callback(set_next_start(make_function_start(function)))
            opening.callback(set_next_replay(replayer))
            stepper = AgentStepper(
                replayer.recording.program,
                agent_workspace_path=None if prepared is None else prepared.path,
                url=OFFLINE_URL if is_offline else None,
                stop_on_entry=False,
                mode="continue",
            )
        with stepper, set_current_stepper(stepper):
            if is_frozen:
                root = stepper._current_session().events.root
                frozen_values.freeze(root, stepper.run_id, seed=replayer.recording.run)
            try:
                yield stepper
            except RepeatedDivergence as error:
                raise (replayer.divergence or error) from None
