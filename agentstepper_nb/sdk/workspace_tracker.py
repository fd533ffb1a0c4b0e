"""A workspace that is watched, and its commits on their way to the Core."""

from __future__ import annotations

import logging
import threading
from contextlib import suppress
from pathlib import Path

from ..errors import ConnectionLostError, WorkspaceError
from ..protocol.data_model import Commit
from .drivers import run_flow
from .halt_flow import HaltFlow
from .run_link import RunLink
from .workspace import Workspace

log = logging.getLogger("agentstepper_nb.sdk")


class WorkspaceTracker:
    """Scans a workspace and sends the changes, one scan after the other.

    A scan and its sending are one step: the order of scans is the order on the wire, and each change is
    in one snapshot only.

    Args:
        workspace: The workspace.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._lock = threading.Lock()
        self._failing = False

    @property
    def folder(self) -> Path:
        """The folder, with all links resolved."""
        return self._workspace.folder

    @property
    def workspace(self) -> Workspace:
        """The workspace."""
        return self._workspace

    def initial_commit(self) -> Commit:
        """The run's first commit."""
        return self._workspace.initial_commit()

    def close(self) -> None:
        """End the watch."""
        self._workspace.close()

    def commit(self, link: RunLink, flow: HaltFlow, summary: str, description: str) -> bool:
        """Commit the agent's changes since the last commit, and send the commit. Blocks.

        Returns:
            Whether there were changes.

        Raises:
            WorkspaceError: The folder is gone, or git failed.
            ConnectionLostError: The connection is lost.
        """
        with self._lock:
            made = self._workspace.commit(summary, description)
            if made is None:
                return False
            run_flow(link, flow.commit(made))
        return True

    def snapshot(self, link: RunLink, flow: HaltFlow, event: str) -> None:
        """Send the changes since the last scan, as the effect of a tool call. Blocks.

        The agent didn't request the snapshot, so an error is shown to people who watch the run, and the
        event's end reports a lost connection.

        Args:
            link: The run's link.
            flow: The run's flows.
            event: The tool call's event.
        """
        with self._lock, suppress(ConnectionLostError):
            try:
                made = self._workspace.snapshot()
                if made is not None:
                    run_flow(link, flow.snapshot(made, event))
            except ConnectionLostError:
                raise
            except Exception as error:
                self._failed(link, flow, error)
            else:
                self._failing = False

    def _failed(self, link: RunLink, flow: HaltFlow, error: Exception) -> None:
        """Say it, once until it works again.

        In the run too: a step without files would otherwise look like one that changed nothing.
        """
        if self._failing:
            log.debug("The files of another step can't be shown: %s", error)
            return
        self._failing = True
        known = isinstance(error, WorkspaceError)
        # What else failed is the agent's `redact=`, and its error may name what is to be hidden.
        why = str(error) if known else f"{type(error).__name__} (see the agent's log)"
        log.warning(
            "The files that this step changed can't be shown: %s", error, exc_info=not known
        )
        with suppress(Exception):  # a `redact=` that takes no debug message either
            run_flow(
                link,
                flow.post_debug_message(f"The files that this step changed can't be shown: {why}"),
            )
