"""The origin of a fork's files, and the files that were written, deleted or omitted."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from ..protocol.start_methods import WorkspaceMode as WorkspaceMode
from ..sdk.argument_checks import MAX_NOTICE_CHARS
from ..sdk.workspace.git_names import escape_line_breaks

#: Files of a report that its text names; the others are counted.
_MAX_NAMED: Final = 10


class LeftOutFile(NamedTuple):
    """A file that differs from the snapshot, or an ignored file or folder."""

    path: str  # below the folder; invalid UTF-8 as escapes
    reason: str  # for a person


@dataclass(frozen=True)
class WorkspaceReport:
    """A report of the files that were written to a folder from a snapshot.

    Args:
        folder: The folder.
        commit: The snapshot, by git's hash.
        written: The paths of the files that were written.
        deleted: The paths of the files that were deleted.
        left_out: The files that differ from the snapshot, and in a new folder the ignored files of
            the recorded one.
        previous_commit: The commit with the folder's state before; None for a new folder.
    """

    folder: Path
    commit: str
    written: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()
    left_out: tuple[LeftOutFile, ...] = ()
    previous_commit: str | None = None

    def __str__(self) -> str:
        counts = f"{_count(len(self.written))} written"
        if self.deleted:
            counts += f", {_count(len(self.deleted))} deleted"
        text = f"{counts}, from snapshot {self.commit[:10]}, in {self.folder}."
        if self.left_out:
            text += f"\nLeft out: {len(self.left_out):,}."
            text += "".join(_list_left_out(self.left_out))
        return text


def describe_files(report: WorkspaceReport) -> str:
    """Format the report of a fork, with how to undo the fork."""
    if report.previous_commit is None:
        return str(report)
    return f"{report}\nTo undo this: {_make_command(report)}"


def make_notice(report: WorkspaceReport) -> str:
    """Make the notice of a fork's run that describes the fork's files; "": no notice is needed."""
    parts = []
    if report.previous_commit is not None:
        parts.append(f"Files restored in place: to undo it, run {_make_command(report)}.")
    if report.left_out:
        files = "; ".join(f"{_show(file.path)}: {file.reason}" for file in report.left_out)
        parts.append(f"Files left out: {files}.")
    text = " ".join(parts)
    return text if len(text) <= MAX_NOTICE_CHARS else f"{text[: MAX_NOTICE_CHARS - 2]} …"


def _make_command(report: WorkspaceReport) -> str:
    return f"agentstepper put-back {shlex.quote(str(report.folder))}"


def _count(number: int) -> str:
    return "1 file" if number == 1 else f"{number:,} files"


def _show(path: str) -> str:
    return escape_line_breaks(path)


def _list_left_out(files: tuple[LeftOutFile, ...]) -> Iterable[str]:
    for file in files[:_MAX_NAMED]:
        yield f"\n- {_show(file.path)}: {file.reason}"
    if len(files) > _MAX_NAMED:
        yield f"\n- and {len(files) - _MAX_NAMED:,} more"
