"""The folder that takes the place of a recorded run's workspace, where that run is executed again."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Final, NamedTuple

from .scopes import propagate_to_threads

#: Has a `WorkspaceRedirect` for a process that is started as a fork, and for those that it starts.
WORKSPACE_VARIABLE: Final = "AGENTSTEPPER_FORK_WORKSPACE"


class WorkspaceRedirect(NamedTuple):
    """Two folders, with all links resolved."""

    recorded: Path  # the workspace of the recorded run
    path: Path  # the one of the run that is executed now
    notice: str = ""  # what a person must know of its files

    def make_variable(self) -> str:
        """The value of `WORKSPACE_VARIABLE` for this redirect."""
        return json.dumps([str(self.recorded), str(self.path), self.notice])


_current: ContextVar[WorkspaceRedirect | None] = ContextVar(
    "agentstepper_workspace_redirect", default=None
)
propagate_to_threads(_current)


@contextmanager
def redirect_workspace(redirect: WorkspaceRedirect) -> Iterator[None]:
    """Let an AgentStepper that is made inside for the one folder watch the other."""
    token = _current.set(redirect)
    try:
        yield
    finally:
        _current.reset(token)


def find_workspace_folder(folder: str | os.PathLike[str] | None) -> Path | None:
    """The folder that an AgentStepper watches.

    Args:
        folder: The folder that it was given; None: none.
    """
    if folder is None:
        return None
    redirect = _find_redirect()
    if redirect is not None:
        resolved = Path(folder).resolve()
        if resolved.is_relative_to(redirect.recorded):
            return redirect.path / resolved.relative_to(redirect.recorded)
    return Path(folder)


def find_workspace_notice() -> str:
    """The notice about the files of a run that begins here; "": no notice."""
    redirect = _find_redirect()
    return "" if redirect is None else redirect.notice


def _find_redirect() -> WorkspaceRedirect | None:
    """The redirect of the calling code, or else of this process."""
    redirect, text = _current.get(), os.environ.get(WORKSPACE_VARIABLE)
    if redirect is not None or not text:
        return redirect
    recorded, path, notice = json.loads(text)
    return WorkspaceRedirect(Path(recorded), Path(path), notice)
