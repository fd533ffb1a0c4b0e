"""Version 2 between a view and the Core.

Contents travel as JSON *text* inside JSON: a browser would lose large integers and `1.0` by parsing
them, so that it parses a copy to show and sends back text only where the person edited.
"""

from __future__ import annotations

from msgspec import Struct

from .frame import Table
from .values import Commit, FileBody, Row, Run

# ---- view to Core: commands, each answered by `ok` or `error` with the command's id -----------------


class UiHello(Struct, frozen=True, kw_only=True):
    """Opens a connection; answered by the Core's hello."""

    version: int
    client: str  # the view's name and version


class OpenRun(Struct, frozen=True, kw_only=True):
    """Answered by `RunOpened`; from then on the run's rows and commits are pushed."""

    run: str


class CloseRun(Struct, frozen=True, kw_only=True):
    """Ends what `OpenRun` began."""

    run: str


class GetMessage(Struct, frozen=True, kw_only=True):
    """Answered by `MessageBody`."""

    run: str
    message: str  # a row's id


class GetChange(Struct, frozen=True, kw_only=True):
    """Answered by `ChangeBody`."""

    run: str
    commit: str
    path: str


class Step(Struct, frozen=True, kw_only=True):
    """Answer the named breakpoint, or the oldest pending one; in CONTINUE: halt at the next.

    With `breakpoint` and `revision`, the command is refused as stale where they aren't current.
    """

    run: str
    breakpoint: str | None = None
    revision: int | None = None
    edit: str | None = None  # JSON text to set as the edit first; needs breakpoint and revision


class Continue(Struct, frozen=True, kw_only=True):
    """Answer all pending breakpoints in order and go on without halting. Fields as in `Step`."""

    run: str
    breakpoint: str | None = None
    revision: int | None = None
    edit: str | None = None


class Halt(Struct, frozen=True, kw_only=True):
    """Halt at the next breakpoint."""

    run: str


class StopRun(Struct, frozen=True, kw_only=True):
    """Answer `stop` at the pending, or else at the next waiting breakpoint."""

    run: str


class Edit(Struct, frozen=True, kw_only=True):
    """Set a pending breakpoint's edit, or take it back (`edit` null), without answering."""

    run: str
    breakpoint: str
    revision: int
    edit: str | None


class RenameRun(Struct, frozen=True, kw_only=True):
    """Give a run another name."""

    run: str
    name: str


class DeleteRun(Struct, frozen=True, kw_only=True):
    """Delete a run that has ended."""

    run: str


class ExportRun(Struct, frozen=True, kw_only=True):
    """Answered by `RunExported`."""

    run: str


class ImportRun(Struct, frozen=True, kw_only=True):
    """Take a `.run` file in; answered by `RunImported`."""

    data: str  # the file: base64(zlib(JSON))


from_ui = Table(
    "unknown_command",
    hello=UiHello,
    open_run=OpenRun,
    close_run=CloseRun,
    get_message=GetMessage,
    get_change=GetChange,
    step=Step,
    **{"continue": Continue},
    halt=Halt,
    stop=StopRun,
    edit=Edit,
    rename_run=RenameRun,
    delete_run=DeleteRun,
    export_run=ExportRun,
    import_run=ImportRun,
)

# ---- Core to view -----------------------------------------------------------------------------------


class CoreHello(Struct, frozen=True, kw_only=True):
    """Answers hello with a snapshot."""

    version: int
    core: str  # the Core's name and version
    control: bool  # whether this login may step and edit
    runs: tuple[Run, ...]  # oldest first


class RunChanged(Struct, frozen=True, kw_only=True):
    """A run is new or its header changed: it replaces the one before."""

    run: Run


class RunGone(Struct, frozen=True, kw_only=True):
    """A run was deleted."""

    run: str


class RowChanged(Struct, frozen=True, kw_only=True):
    """A row of an opened run is new or changed: it replaces the one of the same id."""

    run: str
    row: Row


class CommitAdded(Struct, frozen=True, kw_only=True):
    """A commit of an opened run; its changes without contents."""

    run: str
    commit: Commit


class Done(Struct, frozen=True, kw_only=True):
    """The command was carried out."""


class RunOpened(Struct, frozen=True, kw_only=True):
    """Answers `OpenRun`."""

    run: Run
    rows: tuple[Row, ...]  # by seq
    commits: tuple[Commit, ...]  # changes without contents


class MessageBody(Struct, frozen=True, kw_only=True):
    """Answers `GetMessage`."""

    run: str
    message: str
    revision: int
    data: str  # JSON text as the agent sent it
    edit: str | None  # JSON text; null where there is no edit
    strict: bool  # false: the text is not strict JSON (NaN, from version 1)


class ChangeBody(Struct, frozen=True, kw_only=True):
    """Answers `GetChange`."""

    run: str
    commit: str
    path: str
    body: FileBody | None  # null: binary or too large


class RunExported(Struct, frozen=True, kw_only=True):
    """Answers `ExportRun`."""

    name: str
    data: str  # base64(zlib(JSON))


class RunImported(Struct, frozen=True, kw_only=True):
    """Answers `ImportRun`."""

    run: Run


class UiError(Struct, frozen=True, kw_only=True):
    """A command was refused; the frame's id says which."""

    code: str
    message: str
    run: str | None = None


CoreToUi = (
    CoreHello
    | RunChanged
    | RunGone
    | RowChanged
    | CommitAdded
    | Done
    | RunOpened
    | MessageBody
    | ChangeBody
    | RunExported
    | RunImported
    | UiError
)
to_ui = Table(
    hello=CoreHello,
    run=RunChanged,
    run_gone=RunGone,
    row=RowChanged,
    commit=CommitAdded,
    ok=Done,
    run_opened=RunOpened,
    message=MessageBody,
    change=ChangeBody,
    run_exported=RunExported,
    run_imported=RunImported,
    error=UiError,
)
