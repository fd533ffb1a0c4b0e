"""Where sessions are kept: in the data folder, out of the agent's reach."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from ..errors import SessionError
from .log_reader import SessionSummary, summary

_ID: Final = re.compile(r"[0-9a-zA-Z][0-9a-zA-Z_-]{0,99}")


class Folders:
    """The coding agent's files in a data folder.

    Args:
        data_dir: The data folder.
    """

    def __init__(self, data_dir: Path) -> None:
        self._folder = data_dir / "coding"

    @property
    def rules(self) -> Path:
        """What people allowed and denied for good."""
        return self._folder / "rules.json"

    def log(self, id: str) -> Path:
        """A session's log.

        Raises:
            SessionError: No session has such an id.
        """
        if not is_session_id(id):
            raise SessionError(f"{id!r} is no session's id.")
        return self._folder / "sessions" / f"{id}.jsonl"

    def outputs(self, id: str) -> Path:
        """The folder of what was too long for a session's model."""
        return self._folder / "outputs" / id

    @property
    def sandboxes(self) -> Path:
        """The private homes of sessions that are open; see `PrivateHome`."""
        return self._folder / "sandboxes"

    def sessions(self, limit: int | None = None) -> list[SessionSummary]:
        """The sessions that are kept, those that were used last first.

        Args:
            limit: How many at most, so that no other log is read; None: all.
        """
        found = []
        paths = sorted((self._folder / "sessions").glob("*.jsonl"), key=_changed, reverse=True)
        for path in paths[:limit]:
            try:
                found.append(summary(path))
            except OSError:  # deleted meanwhile
                continue
        known = [each for each in found if each is not None]
        return sorted(known, key=lambda each: (each.latest, each.id), reverse=True)

    def summary(self, id: str) -> SessionSummary:
        """What is kept of a session.

        Raises:
            SessionError: There is none of this id, or its log doesn't say what it was about.
        """
        path = self.log(id)
        try:
            found = summary(path)
        except FileNotFoundError:
            raise SessionError(f"There is no session {id}.") from None
        except OSError as error:
            raise SessionError(f"The session's log {path} can't be opened: {error}.") from None
        if found is None:
            raise SessionError(f"The log of session {id} doesn't say what it is about: {path}.")
        return found

    def latest(self, workspace: Path) -> SessionSummary:
        """The session that was used last in a workspace.

        Raises:
            SessionError: There is none.
        """
        root = str(workspace.resolve())
        for each in self.sessions():
            if each.workspace == root:
                return each
        raise SessionError(
            f"There is no session to resume in {root}: leave --resume out to begin one."
        )

    def find(self, beginning: str) -> SessionSummary:
        """The session that a person means.

        Args:
            beginning: How its id alone begins.

        Raises:
            SessionError: There is none, or several.
        """
        meant = [each for each in self.sessions() if each.id.startswith(beginning)]
        if len(meant) == 1:
            return meant[0]
        many = "several sessions' ids begin" if meant else "no session's id begins"
        raise SessionError(
            f"With {beginning!r} {many}: `agentstepper code --list` shows what there is."
        )


def _changed(path: Path) -> float:
    """When a file was last written to, in POSIX seconds; 0 where it was deleted meanwhile."""
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def is_session_id(text: str) -> bool:
    """Whether a session may have such an id: it is a file's name."""
    return _ID.fullmatch(text) is not None
