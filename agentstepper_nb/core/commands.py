"""What people do, and what becomes of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec.structs import replace

from ..errors import CommandError, NeedsApprovalError, ProtocolError, StaleError
from ..protocol.records import (
    BreakpointEdited,
    NoteSaved,
    PricesSet,
    RunChanged,
    RunDeleted,
    RunHistory,
    RunImported,
    RunRenamed,
    RunTagged,
    SentenceMade,
    StopDeleted,
    StopSaved,
)
from ..protocol.stops import MOST_STOPS, Price, Stop
from ..protocol.values import AgentState, Breakpoint, Commit, Note
from .deciding import Deciding
from .edits import check_edit
from .fold import RunStatus
from .moves import STOPPED, Output, Saved
from .states import Rule, Signal, rules
from .stops import check
from .summaries import named_call


class Commands(Deciding):
    """The people's half of the debugger."""

    def step(
        self,
        run_id: str,
        at: float,
        breakpoint_id: str | None = None,
        revision: int | None = None,
        edit: str | None = None,
    ) -> list[Output]:
        """Answer the named or the oldest pending breakpoint; in CONTINUE: halt at the next.

        A breakpoint that asks for an approval is never answered so.

        Args:
            run_id: The run.
            at: Now, by the Core's clock.
            breakpoint_id: The breakpoint that is meant.
            revision: The revision of it that the person saw.
            edit: JSON text to set as its edit first; needs both of the above.

        Raises:
            CommandError: `unknown_run`, `run_is_over`; `stale` where breakpoint or revision is not
                the current one; `needs_approval` where the named breakpoint, or all that is pending,
                asks for an approval.
            ProtocolError: `invalid_edit`; `invalid_message` for an edit of nothing that is named.
        """
        status, rule = self._consult(run_id, Signal.STEP)
        named = self._named(status, breakpoint_id, revision, edit)
        _check_step(status, named)
        self._edit_named(status, named, edit)
        self._follow(status, rule, at, breakpoint_id)
        return self._drain()

    def resume(
        self,
        run_id: str,
        at: float,
        breakpoint_id: str | None = None,
        revision: int | None = None,
        edit: str | None = None,
    ) -> list[Output]:
        """Continue: answer what is pending in order and halt no more. Arguments as `step`.

        What asks for an approval still waits, also where it is named.
        """
        status, rule = self._consult(run_id, Signal.CONTINUE)
        named = self._named(status, breakpoint_id, revision, edit)
        self._edit_named(status, named, edit)
        self._follow(status, rule, at)
        return self._drain()

    def halt(self, run_id: str) -> list[Output]:
        """Halt at the next breakpoint.

        Raises:
            CommandError: `unknown_run`, `run_is_over`.
        """
        status, rule = self._consult(run_id, Signal.HALT)
        waits = status.pending or status.run.agent_state is AgentState.WAITING
        self._change(status, rule, None if waits else AgentState.HALTING)
        return self._drain()

    def stop(self, run_id: str, at: float) -> list[Output]:
        """Answer `stop` at what is pending, or else at the next breakpoint that waits.

        Raises:
            CommandError: `unknown_run`, `run_is_over`, or `cannot_stop` for agents of version 1.
        """
        status, rule = self._consult(run_id, Signal.STOP)
        if not status.run.can_stop:
            raise CommandError(
                "cannot_stop",
                "This agent speaks version 1 and can't be told to stop: end its process.",
                run_id,
            )
        self._emit(RunChanged(run=replace(status.run, stopping=True)))
        self._follow(status, rule, at, verdict=STOPPED)
        return self._drain()

    def edit(
        self, run_id: str, breakpoint_id: str, edit: str | None, revision: int | None = None
    ) -> list[Output]:
        """Set a pending breakpoint's edit, or take it back with None, without answering.

        Raises:
            CommandError: `unknown_run`; `not_pending` where no revision is given, else `stale`.
            ProtocolError: `invalid_edit`.
        """
        status = self._status(run_id)
        self._edit(status, self._editable(status, breakpoint_id, revision), edit)
        return self._drain()

    def is_new_edit(
        self, run_id: str, breakpoint_id: str, edit: str, revision: int | None = None
    ) -> bool:
        """Whether an edit that could be set now is another than stands there. Raises as `edit`."""
        current = self._editable(self._status(run_id), breakpoint_id, revision)
        check_edit(edit, current)
        return edit not in (current.data, current.edit)

    def _editable(self, status: RunStatus, breakpoint_id: str, revision: int | None) -> Breakpoint:
        if revision is None and breakpoint_id not in status.pending:
            raise CommandError(
                "not_pending",
                "This message isn't waiting at a breakpoint: only what a run is halted at can be "
                "edited.",
                status.run.id,
            )
        return self._current(status, breakpoint_id, revision)

    def rename(self, run_id: str, name: str) -> list[Output]:
        """Give a run another name.

        Raises:
            CommandError: `unknown_run`.
            ProtocolError: `invalid_message`: the name is empty.
        """
        status = self._status(run_id)
        if not name.strip():
            raise ProtocolError("invalid_message", "A run's name can't be empty: type one.")
        self._emit(RunRenamed(run=replace(status.run, name=name)))
        return self._drain()

    def tag(self, run_id: str, tags: Iterable[str]) -> list[Output]:
        """Give a run these tags in place of those it has; the same twice counts once.

        Raises:
            CommandError: `unknown_run`.
            ProtocolError: `invalid_message`: a tag is empty.
        """
        status = self._status(run_id)
        cleaned = tuple(dict.fromkeys(" ".join(tag.split()) for tag in tags))
        if "" in cleaned:
            raise ProtocolError("invalid_message", "A tag can't be empty: type a word.")
        self._emit(RunTagged(run=replace(status.run, tags=cleaned)))
        return self._drain()

    def write_note(self, note: Note) -> list[Output]:
        """Write beside a row, in place of what stands there; without text it is taken away.

        Args:
            note: It names a row of the run: that is its writer's to see to.

        Raises:
            CommandError: `unknown_run`.
        """
        self._status(note.run)
        self._emit(NoteSaved(note=note if note.text.strip() else replace(note, text="")))
        return self._drain()

    def set_stop(self, stop: Stop) -> list[Output]:
        """Set a stop, in place of the one with its id.

        Raises:
            ProtocolError: `invalid_stop`: it can't be understood, or there are too many.
        """
        check(stop)
        if stop.id not in self._runs.stops and len(self._runs.stops) >= MOST_STOPS:
            raise ProtocolError(
                "invalid_stop", f"There are {MOST_STOPS} stops already: delete one of them first."
            )
        return self._rule(StopSaved(stop=stop))

    def delete_stop(self, stop_id: str) -> list[Output]:
        """Delete a stop.

        Raises:
            CommandError: `unknown_stop`.
        """
        if stop_id not in self._runs.stops:
            raise CommandError(
                "unknown_stop",
                f"There is no stop {stop_id[:80]}: it may have been deleted. Choose one of the list.",
            )
        return self._rule(StopDeleted(stop=stop_id))

    def set_prices(self, prices: Iterable[Price]) -> list[Output]:
        """Set what models cost, in place of all that was set before."""
        return self._rule(PricesSet(prices=tuple(prices)))

    def _rule(self, record: StopSaved | StopDeleted | PricesSet) -> list[Output]:
        before = self._leases()
        self._emit(record)
        return self._relet(before)

    def put_sentence(self, made: SentenceMade, about: Breakpoint | Commit) -> list[Output]:
        """A model put something into one sentence.

        Args:
            made: The sentence.
            about: The breakpoint or commit, as the store has it.

        Raises:
            CommandError: `unknown_run`.
        """
        self._status(made.run)
        pending = self._runs.apply(made)
        if isinstance(about, Commit):
            self._outputs.append(Saved(made, commit=replace(about, sentence=made.text)))
        else:
            told = pending or replace(about, sentence=made.text)
            self._outputs.append(Saved(made, breakpoint=told))
        return self._drain()

    def delete(self, run_id: str) -> list[Output]:
        """Delete a run that has ended.

        Raises:
            CommandError: `unknown_run`, or `run_is_live`.
        """
        if self._status(run_id).run.live:
            raise CommandError(
                "run_is_live",
                "A run can't be deleted while its agent runs: stop the agent, or wait for its end.",
                run_id,
            )
        self._emit(RunDeleted(run=run_id))
        return self._drain()

    def import_run(self, history: RunHistory) -> list[Output]:
        """Take in a run that has ended, whole."""
        self._emit(RunImported(history=history))
        return self._drain()

    def _consult(self, run_id: str, signal: Signal) -> tuple[RunStatus, Rule]:
        status = self._status(run_id)
        rule = rules(status.run).get(signal)
        if rule is None:
            raise CommandError(
                "run_is_over", "This run has ended: start the agent again to step it.", run_id
            )
        return status, rule

    def _named(
        self, status: RunStatus, breakpoint_id: str | None, revision: int | None, edit: str | None
    ) -> Breakpoint | None:
        """The breakpoint a command names, which is current."""
        if edit is not None and (breakpoint_id is None or revision is None):
            raise ProtocolError(
                "invalid_message", "An edit needs the breakpoint and the revision it belongs to."
            )
        if breakpoint_id is None:
            return None
        return self._current(status, breakpoint_id, revision)

    def _edit_named(self, status: RunStatus, named: Breakpoint | None, edit: str | None) -> None:
        """Set the edit that a command brings."""
        if named is not None and edit is not None:
            self._edit(status, named, edit)

    def _current(self, status: RunStatus, breakpoint_id: str, revision: int | None) -> Breakpoint:
        current = status.pending.get(breakpoint_id)
        if current is None:
            what = "This breakpoint isn't waiting any more"
        elif revision is not None and revision != current.revision:
            what = "This message was edited meanwhile"
        else:
            return current
        raise StaleError(
            f"{what}: look at the new state and decide again.", status.run.id, breakpoint_id
        )

    def _edit(
        self,
        status: RunStatus,
        current: Breakpoint,
        edit: str | None,
        check: Callable[[str, Breakpoint], object] = check_edit,
    ) -> None:
        if edit == current.data:
            edit = None
        if edit is not None:
            check(edit, current)
        record = BreakpointEdited(
            run=status.run.id, breakpoint=current.id, revision=current.revision + 1, edit=edit
        )
        self._emit(record)


def _check_step(status: RunStatus, named: Breakpoint | None) -> None:
    """Refuse a step that could only approve."""
    meant = list(status.pending.values()) if named is None else [named]
    if meant and all(point.approval is not None for point in meant):
        raise NeedsApprovalError(named_call(meant[0]), status.run.id, meant[0].id)
