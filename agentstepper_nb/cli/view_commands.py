"""Commands by which a person at a terminal looks at messages, changes and runs."""

from __future__ import annotations

from functools import partial
from typing import Final

from msgspec import Struct

from ..protocol import ui
from ..protocol.data_model import Commit, TimelineRow
from .run_formatting import format_actors, format_change, format_commit, format_run
from .step_session import StepSession
from .terminal_text import format_readable

_STYLES: Final = {"+": "green", "-": "red", "@": "cyan"}


class ViewCommands:
    """Executes `v`, `d` and `r`.

    Args:
        session: The session with the Core.
    """

    def __init__(self, session: StepSession) -> None:
        self._session = session
        self._screen = session.screen

    def show_message(self, number: str) -> None:
        """Show a message whole.

        Args:
            number: The number of its row; "" is the message that the run is halted at.
        """
        halted = self._session.halted
        if not number and halted:
            row = self._session.rows.get(halted.message)
        else:
            row = next((row for row in self._session.rows.values() if str(row.seq) == number), None)
        run = self._session.run
        if row is None and run and number.isdecimal() and 0 < int(number) <= run.rows:
            rows = ui.GetRows(run=run.id, first=int(number), last=int(number))
            self._session.send_command(rows, self._show_page)
        else:
            self._request_message(row)

    def _show_page(self, page: Struct) -> None:
        assert isinstance(page, ui.RowsPage)
        self._request_message(next(iter(page.rows), None))

    def _request_message(self, row: TimelineRow | None) -> None:
        if row is None:
            self._screen.write_line("No message is chosen: v and a number shows one.", "yellow")
            self._session.prompt()
            return
        command = ui.GetMessage(run=self._session.current or "", message=row.id)
        self._session.send_command(command, partial(self._show_body, row))

    def _show_body(self, row: TimelineRow, body: Struct) -> None:
        assert isinstance(body, ui.MessageBody)
        self._screen.write_line(f"{row.seq}, {format_actors(row)}:", "bold")
        self._screen.write_line(format_readable(body.data))
        if body.edit is not None:
            self._screen.write_line("edited to:", "bold")
            self._screen.write_line(format_readable(body.edit))
        self._session.prompt()

    def show_changes(self, number: str) -> None:
        """Show the diffs of a commit.

        Args:
            number: The commit's place in the list; "" shows the list.
        """
        commits = list(self._session.commits.values())
        if number.isdecimal() and 0 < int(number) <= len(commits):
            self._show_diffs(int(number), commits[int(number) - 1])
            return
        for index, commit in enumerate(commits, 1):
            self._screen.write_line(format_commit(index, commit), "cyan")
        self._screen.write_line("d and a number shows its diffs." if commits else "No changes yet.")
        self._session.prompt()

    def _show_diffs(self, number: int, commit: Commit) -> None:
        self._screen.write_line(format_commit(number, commit), "cyan")
        run = self._session.current or ""
        for change in commit.changes:
            command = ui.GetChange(run=run, commit=commit.id, path=change.path)
            self._session.send_command(command, partial(self._show_change, format_change(change)))

    def _show_change(self, line: str, body: Struct) -> None:
        assert isinstance(body, ui.ChangeBody)
        self._screen.write_line(line, "bold")
        if body.body is None:
            self._screen.write_line("    binary, or too large to show")
            return
        for each in body.body.diff.splitlines():
            self._screen.write_line(f"    {each}", _STYLES.get(each[:1], ""))

    def show_runs(self, number: str) -> None:
        """Show another run.

        Args:
            number: The run's place in the list; "" shows the list.
        """
        runs = list(self._session.runs.values())
        if number.isdecimal() and 0 < int(number) <= len(runs):
            self._session.select_run(runs[int(number) - 1])
            return
        for index, run in enumerate(runs, 1):
            mark = "*" if run.id == self._session.current else " "
            self._screen.write_line(f"{index:>4}{mark} {format_run(run)}, {run.rows} messages")
        self._screen.write_line("l and a number shows that run." if runs else "No runs yet.")
        self._session.prompt()
