"""One person's view of a Core, without I/O: events come in, text and commands go out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from msgspec import Struct

from ..protocol import ui
from ..protocol.breakpoint_rules import BreakpointRule
from ..protocol.data_model import Commit, Run, TimelineRow
from ..protocol.records import drop_unchanged_commits
from ..protocol.text_escaping import escape_to_one_line
from .core_connection import (
    ConnectionEvent,
    CoreConnected,
    CoreConnectionLost,
    CoreConnectionRefused,
    CoreMessageReceived,
)
from .run_formatting import (
    describe_approval,
    describe_halt,
    format_actors,
    format_commit,
    format_row,
    format_run,
)
from .screen import Screen
from .terminal_text import fold_text, format_readable

#: The prompt at a halt point.
HALTED_PROMPT: Final = (
    "[s]tep [n]ext [r]eturn [c]ontinue [e]dit [x] stop [v]iew N [d]iff N [q]uit [?] "
)
#: The prompt at a halt point that needs an approval.
APPROVAL_PROMPT: Final = (
    "[a]pprove [a always] [deny WHY] [e]dit [c]ontinue [x] stop [v]iew N [q]uit [?] "
)


class StepSession:
    """The state of the Core, the shown run, and the message at which it is halted.

    Args:
        screen: The screen for output.
        send: Sends a command and returns its id; None while there is no connection.
        run_name: The run to show: its id, its name, or its program's name (of several runs the newest);
            None: the most relevant run.
        discard_input: Drops earlier input, when a question comes that it can't answer.
    """

    def __init__(
        self,
        screen: Screen,
        send: Callable[[Struct], str | None],
        run_name: str | None = None,
        discard_input: Callable[[], None] = lambda: None,
    ) -> None:
        self.screen = screen
        self.runs: dict[str, Run] = {}  # oldest first
        self.current: str | None = None
        self.rows: dict[str, TimelineRow] = {}  # of the current run, by id
        self.commits: dict[str, Commit] = {}  # of the current run, by id
        self.halted: ui.MessageBody | None = None  # the message the person saw last and may answer
        self.editing: str | None = None  # the halt point whose edit is on its way
        self.has_failed = False
        self.is_over = False
        self.has_connected = False  # the Core said hello once
        self._breakpoints: dict[str, BreakpointRule] = {}
        self._fetching: str | None = None  # the message that is being fetched, to be shown
        self._first_known_run: str | None = None  # runs before this one aren't known yet
        self._send = send
        self._discard_input = discard_input
        self._run_name = run_name
        self._answers: dict[str, Callable[[Struct], None]] = {}  # what to do, by command

    # ---- for what the person types ------------------------------------------------------------------

    @property
    def run(self) -> Run | None:
        """The run that is shown."""
        return self.runs.get(self.current or "")

    @property
    def is_waiting(self) -> bool:
        """Whether an answer is on its way that the person should see first."""
        return bool(self._answers)

    def send_command(self, command: Struct, answer: Callable[[Struct], None]) -> None:
        """Send a command.

        Args:
            command: The command.
            answer: Called with its answer, unless that is an error.
        """
        id = self._send(command)
        if id is None:
            self.screen.write_line(
                "The debugger isn't connected right now: try again in a moment.", "yellow"
            )
        else:
            self._answers[id] = answer

    def select_run(self, run: Run) -> None:
        """Look at a run."""
        if self.current not in (None, run.id):
            self.send_command(ui.CloseRun(run=self.current or ""), lambda _: None)
        self.current = run.id
        self.rows, self.commits = {}, {}
        self.halted = self._fetching = None
        self.screen.write_line(f"— {format_run(run)} —", "bold")
        self._open(run)

    def prompt(self) -> None:
        """Show the prompt, if a halt point is pending."""
        if self.halted:
            self.screen.show_prompt(
                HALTED_PROMPT if self.halted.approval is None else APPROVAL_PROMPT
            )

    def show_message(self, message: str) -> None:
        """Fetch a pending message and show it."""
        run = self.run
        if run:
            self._fetching = message
            self.send_command(ui.GetMessage(run=run.id, message=message), self._show)

    def _show_oldest_message(self, run: Run) -> None:
        if run.pending and run.pending[0] != self._fetching:
            self.show_message(run.pending[0])

    # ---- what happens -------------------------------------------------------------------------------

    def handle(self, event: ConnectionEvent) -> None:
        """Handle an event of the connection."""
        match event:
            case CoreConnected(hello=hello):
                self._connected(hello)
            case CoreMessageReceived(message=message, id=id):
                self._received(message, id)
            case CoreConnectionLost(reason=reason, retry_delay_s=delay):
                self._answers.clear()
                self.halted = self.editing = self._fetching = None
                self.screen.write_line(
                    f"Connection lost: {reason}. Next try in {delay:g} s.", "yellow"
                )
            case CoreConnectionRefused(reason=reason):
                self.screen.write_line(f"No debugger can be reached: {reason}", "red")
                self.is_over = self.has_failed = True

    def _connected(self, hello: ui.CoreHello) -> None:
        self.has_connected = True
        self.runs = {run.id: run for run in hello.runs}
        self._breakpoints = {breakpoint.id: breakpoint for breakpoint in hello.breakpoints}
        self._first_known_run = find_first_known_run(hello.runs) if hello.more else None
        self.screen.write_line(f"Connected to {hello.core}.", "dim")
        if not hello.control:
            self.screen.write_line("This login may watch, not control.", "yellow")
        self._list()

    def _list(self) -> None:
        """Get the runs that aren't known yet; then look at one."""
        if self._first_known_run is not None:
            self.send_command(ui.ListRuns(before=self._first_known_run), self._listed)
        elif self.run:
            self._open(self.run)
        else:
            self.current = None
            self._select_default_run()

    def _listed(self, listed: Struct) -> None:
        assert isinstance(listed, ui.RunsListed)
        # What was told meanwhile is newer.
        self.runs = {run.id: run for run in listed.runs} | self.runs
        self._first_known_run = listed.runs[0].id if listed.more else None
        self._list()

    def _select_default_run(self) -> None:
        """Show the requested run, or the most relevant one."""
        live = [run for run in self.runs.values() if run.live]
        if self._run_name:
            found = [run for run in self.runs.values() if self._is_wanted(run)]
            waiting = f"There is no run {self._run_name} yet; it is shown once it begins."
        else:
            found = sorted(live, key=lambda run: bool(run.pending))  # stable: newest last
            waiting = "No agent is running: waiting for one."
        if found:
            self.select_run(found[-1])
        else:
            earlier = f" l lists {len(self.runs)} earlier." if self.runs else ""
            self.screen.write_line(f"{waiting}{earlier} q quits, ? lists the commands.")

    def _is_wanted(self, run: Run) -> bool:
        return self._run_name in (run.id, run.name, run.program)

    def _open(self, run: Run) -> None:
        """Open a run, after its earlier commits are read, which numbers its changes."""
        if run.commits:
            self._get_commits(run.id, None, ())
        else:
            self.send_command(ui.OpenRun(run=run.id), self._opened)

    def _get_commits(self, run: str, before: int | None, later: tuple[Commit, ...]) -> None:
        def handle_page(page: Struct) -> None:
            assert isinstance(page, ui.CommitsPage)
            found = (*page.commits, *later)
            if run != self.current:
                return
            if page.before is not None:
                self._get_commits(run, page.before, found)
                return
            self.commits = {commit.id: commit for commit in drop_unchanged_commits(found)}
            self.send_command(ui.OpenRun(run=run), self._opened)

        self.send_command(ui.GetCommits(run=run, before=before), handle_page)

    def _opened(self, opened: Struct) -> None:
        assert isinstance(opened, ui.RunOpened)
        if opened.run.id != self.current:
            return
        for row in opened.rows:
            self._row(row)
        for commit in drop_unchanged_commits(opened.commits):
            self.commits.setdefault(commit.id, commit)
            self._say_commit(commit)
        self._current_changed(opened.run)

    def _received(self, message: Struct, id: str | None) -> None:
        answer = self._answers.pop(id or "", None)
        match message:
            case ui.UiError():
                self._refused(message)
            case ui.BreakpointChanged(breakpoint=breakpoint):
                self._breakpoints[breakpoint.id] = breakpoint
            case ui.BreakpointGone(breakpoint=breakpoint_id):
                self._breakpoints.pop(breakpoint_id, None)
            case ui.RunChanged() | ui.RunRemoved() | ui.RowChanged() | ui.CommitAdded():
                self._pushed(message)
            case _ if answer:
                answer(message)

    def _pushed(
        self, message: ui.RunChanged | ui.RunRemoved | ui.RowChanged | ui.CommitAdded
    ) -> None:
        match message:
            case ui.RunChanged(run=run):
                self._run_changed(run)
            case ui.RunRemoved(run=run_id):
                self._on_run_removed(run_id)
            case ui.RowChanged(run=run_id, row=row) if run_id == self.current:
                self._row(row)
            case ui.CommitAdded(run=run_id, commit=commit) if run_id == self.current:
                self._commit(commit)

    def _refused(self, error: ui.UiError) -> None:
        """Handle the refusal of a command: the person decides again, on the present state."""
        self.editing = self._fetching = None
        self.screen.write_line(
            escape_to_one_line(f"Refused ({error.code}): {error.message}"), "red"
        )
        run = self.run
        if run:
            self._show_oldest_message(run)
            if not run.pending:
                self.screen.write_line(format_run(run), "dim")

    # ---- runs ---------------------------------------------------------------------------------------

    def _run_changed(self, run: Run) -> None:
        before = self.runs.get(run.id)
        self.runs[run.id] = run
        if run.id == self.current:
            self._current_changed(run)
        elif self._is_awaited(run, before):
            self.select_run(run)
        elif before is None or (run.pending and not before.pending):
            number = list(self.runs).index(run.id) + 1
            self.screen.write_line(f"{format_run(run)}. l {number} shows it.", "dim")

    def _is_awaited(self, run: Run, before: Run | None) -> bool:
        """Whether this is the expected run, or a new one while no other run is live."""
        current = self.run
        if self._run_name and not self._is_wanted(run):
            return False
        if self._run_name and current is None:
            return True
        return before is None and run.live and (current is None or not current.live)

    def _current_changed(self, run: Run) -> None:
        self.runs[run.id] = run
        if not run.live:
            self.halted = None
            self.screen.write_line(f"— {format_run(run)} —", "bold")
        elif self.halted is None or self.halted.message not in run.pending:
            self.halted = None
            self._show_oldest_message(run)

    def _on_run_removed(self, run_id: str) -> None:
        gone = self.runs.pop(run_id, None)
        if gone and run_id == self.current:
            self.current = self.halted = None
            self.screen.write_line(f"{escape_to_one_line(gone.name)} was deleted.", "yellow")
            self._select_default_run()

    # ---- its contents -------------------------------------------------------------------------------

    def _row(self, row: TimelineRow) -> None:
        before = self.rows.get(row.id)
        self.rows[row.id] = row
        if before is None:
            self.screen.write_line(
                format_row(row, self.screen.width), "dim" if row.side is None else ""
            )
        elif before.revision != row.revision and row.id != self.editing:
            self.screen.write_line(f"{row.seq:>4}  was edited elsewhere.", "yellow")
            if row.pending:
                self.show_message(row.id)

    def _commit(self, commit: Commit) -> None:
        if commit.id not in self.commits and drop_unchanged_commits(
            (*self.commits.values(), commit)
        ):
            self.commits[commit.id] = commit
            self._say_commit(commit)

    def _say_commit(self, commit: Commit) -> None:
        number = list(self.commits).index(commit.id) + 1
        self.screen.write_line(format_commit(number, commit), "cyan")

    def _show(self, body: Struct) -> None:
        """Show the message that the run is halted at, unless it went on meanwhile."""
        assert isinstance(body, ui.MessageBody)
        self._fetching = None
        run, row = self.run, self.rows.get(body.message)
        if run is None or row is None or run.id != body.run:
            return
        if body.message not in run.pending:
            self._show_oldest_message(run)
            return
        self.halted = body
        if body.approval is not None:
            self._discard_input()
        for line in (*describe_halt(row, self._breakpoints), *describe_approval(body.approval)):
            self.screen.write_line(line, "yellow")
        edited = "" if body.edit is None else ", edited"
        self.screen.write_line(f"Halted at {row.seq}, {format_actors(row)}{edited}:", "green")
        current = body.data if body.edit is None else body.edit
        self.screen.write_line(fold_text(format_readable(current), f"v {row.seq} shows all"))
        self.prompt()


def find_first_known_run(runs: Sequence[Run]) -> str | None:
    """Find the id before which to list the runs that a Core's hello lacks.

    The hello has the newest runs and all live ones: its first ended run is one of the newest.
    """
    ended = (run for run in runs if not run.live)
    first = next(ended, runs[-1] if runs else None)
    return None if first is None else first.id
