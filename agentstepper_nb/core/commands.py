"""The commands of people, and their effects.

A call that asks for an approval may be decided by a person in a view, or by people of the agent
(`AnswerCommands.decide`): the first answer counts, is recorded, and goes to the agent.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from ..errors import CommandError, NeedsApprovalError, ProtocolError
from ..protocol.data_model import (
    AgentActivity,
    AnswerKind,
    Commit,
    HaltPoint,
    RowNote,
    Usage,
)
from ..protocol.records import (
    ImportedRunSaved,
    NoteSaved,
    RunDeleted,
    RunHeaderSaved,
    RunHistory,
    RunRenamed,
    RunTagged,
    SummarySaved,
)
from ..protocol.step_targets import StepTarget
from .answer_commands import AnswerCommands
from .input_checks import (
    check_approval,
    check_denial,
    check_edit,
    check_edit_target,
    check_sticky_edit,
    find_current,
)
from .outputs import STOPPED, AnswerDecision, Output, RecordOutput
from .rule_commands import RuleCommands
from .run_usage import add_sample
from .state_table import HaltPolicy, RunSignal
from .summaries import describe_call
from .transitions import Transitions


class DebuggerCommands:
    """The debugger's methods for commands of people.

    Args:
        transitions: The state of all runs, and its transitions.
        halt_policy: Decides where runs halt by themselves.
    """

    def __init__(self, transitions: Transitions, halt_policy: HaltPolicy) -> None:
        self._transitions = transitions
        self._runs = transitions.runs
        self._halt_policy = halt_policy
        self._consult = transitions.consult
        #: The rules that people set for all runs.
        self.rules = RuleCommands(transitions, halt_policy)
        #: Answers beyond going on, and guides.
        self.answers = AnswerCommands(transitions)

    def step(
        self,
        run_id: str,
        at: float,
        halt_point_id: str | None = None,
        revision: int | None = None,
        edit: str | None = None,
        target: StepTarget | None = None,
    ) -> list[Output]:
        """Answer the named or the oldest pending halt point; in CONTINUE: halt at the next.

        A halt point that asks for an approval is never answered this way.

        Args:
            run_id: The run.
            at: Now, by the Core's clock.
            halt_point_id: The halt point to answer.
            revision: The revision of the halt point that the person saw.
            edit: JSON text to set as the halt point's edit first; needs both of the above.
            target: The step's target; None: the next halt point of any scope.

        Raises:
            CommandError: `unknown_run`, `run_is_over`; `stale` where halt point or revision is not
                the current one; `needs_approval` where the named halt point, or all that is pending,
                asks for an approval.
            ProtocolError: `invalid_edit`; `invalid_message` for an edit without a named halt point.
        """
        status, rule = self._consult(run_id, RunSignal.STEP)
        if edit is not None:
            check_edit_target(halt_point_id, revision)
        named = None if halt_point_id is None else find_current(status, halt_point_id, revision)
        meant = list(status.pending.values()) if named is None else [named]
        if meant and all(point.approval is not None for point in meant):
            raise NeedsApprovalError(describe_call(meant[0]), run_id, meant[0].id)
        if named is not None and edit is not None:
            self._transitions.edit(status, named, edit)
        if target is not None:
            target = self._halt_policy.make_target(status, target, meant)
        self._transitions.apply_rule(status, rule, at, halt_point_id, target=target)
        return self._transitions.drain()

    def resume(
        self,
        run_id: str,
        at: float,
        halt_point_id: str | None = None,
        revision: int | None = None,
        edit: str | None = None,
    ) -> list[Output]:
        """Continue: answer the pending halt points in order and halt no more. Arguments as `step`.

        A halt point that asks for an approval still waits, even if it is named.
        """
        status, rule = self._consult(run_id, RunSignal.CONTINUE)
        if edit is not None:
            check_edit_target(halt_point_id, revision)
        named = None if halt_point_id is None else find_current(status, halt_point_id, revision)
        if named is not None and edit is not None:
            self._transitions.edit(status, named, edit)
        self._transitions.apply_rule(status, rule, at, target=None)
        return self._transitions.drain()

    def approve(
        self,
        run_id: str,
        at: float,
        halt_point_id: str,
        revision: int,
        edit: str | None = None,
        *,
        always: bool = False,
        confirmed: bool = False,
    ) -> list[Output]:
        """Record a person's approval of the call at a pending halt point. The mode stays.

        Args:
            run_id: The run.
            at: Now, by the Core's clock.
            halt_point_id: The halt point.
            revision: The revision of the halt point that the person saw.
            edit: JSON text to set as the halt point's edit first.
            always: Whether similar calls need no approval from now on.
            confirmed: Whether the person confirmed the approval by a second, different gesture.

        Raises:
            CommandError: `unknown_run`, `run_is_over`, `cannot_approve`: no approval is asked for;
                `stale`; `needs_confirmation`: the call is of high risk, and not confirmed.
            ProtocolError: `invalid_edit`.
        """
        status, rule = self._consult(run_id, RunSignal.APPROVE)
        current = find_current(status, halt_point_id, revision)
        check_approval(current, confirmed=confirmed)
        if edit is not None:
            self._transitions.edit(status, current, edit)
        decision = AnswerDecision(AnswerKind.RESUME, always=always)
        self._transitions.apply_rule(status, rule, at, halt_point_id, decision)
        return self._transitions.drain()

    def deny(
        self, run_id: str, at: float, halt_point_id: str, revision: int, reason: str
    ) -> list[Output]:
        """Record a person's denial of the call that a pending halt point begins. The mode stays.

        Args:
            run_id: The run.
            at: Now, by the Core's clock.
            halt_point_id: The halt point.
            revision: The revision of the halt point that the person saw.
            reason: The reason that the agent gets.

        Raises:
            CommandError: `unknown_run`, `run_is_over`, `cannot_deny`: no event begins there, or the
                run's agent speaks version 1; `stale`.
        """
        status, rule = self._consult(run_id, RunSignal.DENY)
        check_denial(status, find_current(status, halt_point_id, revision))
        self._transitions.apply_rule(
            status, rule, at, halt_point_id, AnswerDecision(AnswerKind.DENY, reason)
        )
        return self._transitions.drain()

    def count_sample(self, run_id: str, usage: Usage | None) -> list[Output]:
        """Add the cost of a resampled query to its run.

        Args:
            run_id: The run, which may have ended meanwhile.
            usage: The answer's usage; None: unknown.

        Raises:
            CommandError: `unknown_run`.
        """
        run = self._transitions.status(run_id).run
        self._transitions.emit(RunHeaderSaved(run=add_sample(run, usage)))
        return self._transitions.drain()

    def halt(self, run_id: str) -> list[Output]:
        """Halt at the next halt point.

        Raises:
            CommandError: `unknown_run`, `run_is_over`.
        """
        status, rule = self._consult(run_id, RunSignal.HALT)
        waits = status.pending or status.run.agent_state is AgentActivity.WAITING
        state = None if waits else AgentActivity.HALTING
        self._transitions.update_header(status, rule, state, target=None)
        return self._transitions.drain()

    def stop(self, run_id: str, at: float) -> list[Output]:
        """Answer `stop` at the pending halt points, or else at the next halt point that waits.

        Raises:
            CommandError: `unknown_run`, `run_is_over`, or `cannot_stop` for agents of version 1.
        """
        status, rule = self._consult(run_id, RunSignal.STOP)
        if not status.run.can_stop:
            raise CommandError(
                "cannot_stop",
                "This agent speaks protocol version 1, which has no stop request. End "
                "the agent's process.",
                run_id,
            )
        before = self._transitions.lease(status.run)
        self._transitions.emit(RunHeaderSaved(run=replace(status.run, stopping=True)))
        if (lease := self._transitions.lease(status.run)) != before:
            self._transitions.outputs.append(lease)
        self._transitions.apply_rule(status, rule, at, decision=STOPPED)
        return self._transitions.drain()

    def edit(
        self,
        run_id: str,
        halt_point_id: str,
        edit: str | None,
        revision: int | None = None,
        *,
        sticky: bool = False,
    ) -> list[Output]:
        """Set a pending halt point's edit, or take it back with None, without answering.

        Raises:
            CommandError: `unknown_run`, `cannot_stick`; `not_pending` without a revision, or `stale`.
            ProtocolError: `invalid_edit`.
        """
        status = self._transitions.status(run_id)
        current = find_current(status, halt_point_id, revision, is_edit=True)
        if sticky:
            check_sticky_edit(status, current)
        self._transitions.edit(status, current, edit, sticky=sticky)
        return self._transitions.drain()

    def is_new_edit(
        self, run_id: str, halt_point_id: str, edit: str, revision: int | None = None
    ) -> bool:
        """Whether an edit that could be set now is another than stands there. Raises as `edit`."""
        status = self._transitions.status(run_id)
        current = find_current(status, halt_point_id, revision, is_edit=True)
        check_edit(edit, current)
        return edit not in (current.data, current.edit)

    def rename(self, run_id: str, name: str) -> list[Output]:
        """Give a run another name.

        Raises:
            CommandError: `unknown_run`.
            ProtocolError: `invalid_message`: the name is empty.
        """
        status = self._transitions.status(run_id)
        if not name.strip():
            raise ProtocolError("invalid_message", "A run's name can't be empty. Type a name.")
        self._transitions.emit(RunRenamed(run=replace(status.run, name=name)))
        return self._transitions.drain()

    def tag(self, run_id: str, tags: Iterable[str]) -> list[Output]:
        """Give a run these tags in place of those it has; the same twice counts once.

        Raises:
            CommandError: `unknown_run`.
            ProtocolError: `invalid_message`: a tag is empty.
        """
        status = self._transitions.status(run_id)
        cleaned = tuple(dict.fromkeys(" ".join(tag.split()) for tag in tags))
        if "" in cleaned:
            raise ProtocolError("invalid_message", "A tag can't be empty. Type a word.")
        self._transitions.emit(RunTagged(run=replace(status.run, tags=cleaned)))
        return self._transitions.drain()

    def write_note(self, note: RowNote) -> list[Output]:
        """Write a note beside a row, in place of an earlier note; without text the note is removed.

        Args:
            note: The note; the caller must check that its row exists in the run.

        Raises:
            CommandError: `unknown_run`.
        """
        self._transitions.status(note.run)
        self._transitions.emit(
            NoteSaved(note=note if note.text.strip() else replace(note, text=""))
        )
        return self._transitions.drain()

    def record_summary(self, summary: SummarySaved, subject: HaltPoint | Commit) -> list[Output]:
        """A model put something into one sentence.

        Args:
            summary: The sentence.
            subject: The halt point or commit, as the store has it.

        Raises:
            CommandError: `unknown_run`.
        """
        self._transitions.status(summary.run)
        pending = self._runs.apply(summary)
        if isinstance(subject, Commit):
            self._transitions.outputs.append(
                RecordOutput(summary, commit=replace(subject, model_summary=summary.text))
            )
        else:
            summarized = pending or replace(subject, model_summary=summary.text)
            self._transitions.outputs.append(RecordOutput(summary, halt_point=summarized))
        return self._transitions.drain()

    def delete(self, run_id: str) -> list[Output]:
        """Delete a run that has ended.

        Raises:
            CommandError: `unknown_run`, or `run_is_live`.
        """
        if self._transitions.status(run_id).run.live:
            raise CommandError(
                "run_is_live",
                "A run can't be deleted while its agent runs. Stop the agent, or wait "
                "until it ends.",
                run_id,
            )
        self._transitions.emit(RunDeleted(run=run_id))
        return self._transitions.drain()

    def import_run(self, history: RunHistory) -> list[Output]:
        """Take in a run that has ended, whole."""
        self._transitions.emit(ImportedRunSaved(history=history))
        return self._transitions.drain()
