"""The run of a program that opens none: it begins with the first query, and ends with the process."""

from __future__ import annotations

import os
import sys
import threading
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import ConnectionLostError, DiscoveryError, WorkspaceError

if TYPE_CHECKING:
    from ..sdk.base_stepper import BaseStepper


class _AutoRun:
    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.is_enabled = False
        self.stepper: BaseStepper | None = None
        self.has_seen_query = False
        self.workspace: str | None = None


_auto = _AutoRun()


def is_enabled() -> bool:
    """Whether a query outside of any run opens one."""
    return _auto.is_enabled


def has_seen_query() -> bool:
    """Whether any query was made while this was enabled."""
    return _auto.has_seen_query


def set_enabled(is_enabled: bool) -> None:
    """Say whether a query outside of any run opens one; ends the run that it opened where not."""
    with _auto.lock:
        if is_enabled and not _auto.is_enabled:
            _expect_run()
        _auto.is_enabled = is_enabled
        if is_enabled:
            return
        ended, _auto.stepper = _auto.stepper, None
    if ended is not None:
        ended._finish(None)


def _expect_run() -> None:
    """Begin to number tasks and threads, and freeze the run if the environment requests that."""
    from ..sdk import scopes
    from ..sdk.environment import FREEZE_VARIABLE, PROGRAM_WORKSPACE_VARIABLE

    # The processes that the program starts may work elsewhere.
    _auto.workspace = os.environ.pop(PROGRAM_WORKSPACE_VARIABLE, _auto.workspace)
    scopes.wrap_creation()
    root = scopes.expect_run()
    if os.environ.get(FREEZE_VARIABLE) == "1":
        from ..sdk import environment_replays, frozen_values, run_events, run_session

        run = run_events.make_id()
        run_session.set_next_run_id(run)
        frozen_values.freeze(root, run, environment_replays.find_recorded_run() or run)


def open_run() -> BaseStepper | None:
    """Return the process's run; open it first where it isn't open.

    Returns:
        None where no Core is found, which is reported once: the agent goes on without the debugger.
    """
    from ..sdk import AgentStepper

    with _auto.lock:
        _auto.has_seen_query = True
        if _auto.stepper is None and _auto.is_enabled:
            try:
                _auto.stepper = AgentStepper(
                    _program_name(), agent_workspace_path=_auto.workspace, stop_on_entry=False
                )
            except (DiscoveryError, ConnectionLostError, WorkspaceError) as error:
                _auto.is_enabled = False
                warnings.warn(
                    f"This program runs without the debugger: {error}", RuntimeWarning, stacklevel=2
                )
        return _auto.stepper


def _program_name() -> str:
    return Path(sys.argv[0]).name if sys.argv and sys.argv[0] not in ("", "-c", "-m") else "agent"
