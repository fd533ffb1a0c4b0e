"""What a call asks a person before it is made, and who may decide: a person here, or its agent's own.

Whoever is first is heard: the answer is recorded here, and the agent acts on what is recorded.
"""

from __future__ import annotations

from ..errors import CommandError, ProtocolError
from ..protocol.values import PAIRED, AnswerKind, Breakpoint, Risk, Side
from .commands import Commands
from .edits import check_form
from .fold import RunStatus
from .inputs import AgentInputs
from .moves import Output, Verdict
from .states import Signal, rules
from .summaries import named_call

_NOT_ASKED = "This message doesn't ask for an approval: step, to go on from it."


class Approvals(AgentInputs, Commands):
    """Both halves of the debugger, and the decisions that either may bring."""

    def approve(
        self,
        run_id: str,
        at: float,
        breakpoint_id: str,
        revision: int,
        edit: str | None = None,
        *,
        always: bool = False,
        confirmed: bool = False,
    ) -> list[Output]:
        """A person approves what a pending breakpoint asks. The mode stays.

        Args:
            run_id: The run.
            at: Now, by the Core's clock.
            breakpoint_id: The breakpoint.
            revision: The revision of it that the person saw.
            edit: JSON text to set as its edit first.
            always: Whether the agent needn't ask the like again.
            confirmed: Whether the person said so twice, by two different gestures.

        Raises:
            CommandError: `unknown_run`, `run_is_over`, `cannot_approve`: it doesn't ask; `stale`;
                `needs_confirmation`: it is of high risk, and not confirmed.
            ProtocolError: `invalid_edit`.
        """
        status, rule = self._consult(run_id, Signal.APPROVE)
        current = self._current(status, breakpoint_id, revision)
        if current.approval is None:
            raise CommandError("cannot_approve", _NOT_ASKED, run_id)
        if current.approval.risk is Risk.HIGH and not confirmed:
            raise CommandError("needs_confirmation", _unconfirmed(current), run_id)
        if edit is not None:
            self._edit(status, current, edit)
        verdict = Verdict(AnswerKind.RESUME, always=always)
        self._follow(status, rule, at, breakpoint_id, verdict)
        return self._drain()

    def deny(
        self, run_id: str, at: float, breakpoint_id: str, revision: int, reason: str
    ) -> list[Output]:
        """A person doesn't let the call happen that a pending breakpoint begins. The mode stays.

        Args:
            run_id: The run.
            at: Now, by the Core's clock.
            breakpoint_id: The breakpoint.
            revision: The revision of it that the person saw.
            reason: What the agent is told.

        Raises:
            CommandError: `unknown_run`, `run_is_over`, `cannot_deny`: nothing begins there, or its
                agent speaks version 1; `stale`.
        """
        status, rule = self._consult(run_id, Signal.DENY)
        _check_denial(status, self._current(status, breakpoint_id, revision))
        self._follow(status, rule, at, breakpoint_id, Verdict(AnswerKind.DENY, reason))
        return self._drain()

    def decide(
        self, run_id: str, at: float, breakpoint_id: str, verdict: Verdict, edit: str | None = None
    ) -> list[Output]:
        """The agent's own people approved or denied what one of its breakpoints asks.

        One that was answered meanwhile is no error: messages cross.

        Args:
            run_id: The run.
            at: Now, by the Core's clock.
            breakpoint_id: The breakpoint.
            verdict: A resume, which approves, or a denial.
            edit: What is approved, as JSON text; None is what the agent sent. They saw no edit that
                somebody set here, so that it doesn't stay.

        Raises:
            ProtocolError: `run_ended`; `cannot_approve`, `cannot_deny`, `invalid_edit`.
        """
        status = self._living(run_id)
        current = status.pending.get(breakpoint_id)
        if current is None:
            return []
        if verdict.answer is AnswerKind.DENY:
            _check_denial(status, current)
            verdict = verdict._replace(always=False)  # which is said of approvals
            rule = rules(status.run)[Signal.DENY]
        else:
            if current.approval is None:
                raise ProtocolError("cannot_approve", _NOT_ASKED)
            seen = None if edit == current.data else edit
            if seen != current.edit:
                self._edit(status, current, seen, check_form)
            rule = rules(status.run)[Signal.APPROVE]
        self._follow(status, rule, at, breakpoint_id, verdict)
        return self._drain()


def _unconfirmed(current: Breakpoint) -> str:
    return (
        f"The call {named_call(current)} was not approved: it is of high risk, and the person hasn't "
        "confirmed the approval. Confirm it where you approve, deny the call, or upgrade a view that "
        "can't confirm."
    )


def _check_denial(status: RunStatus, current: Breakpoint) -> None:
    if current.side is not Side.BEGIN or current.kind not in PAIRED:
        message = "There is no call to deny here: edit what stands there, or step."
    elif not status.run.can_stop:
        message = (
            "This agent speaks version 1 and can't be told of a denial: edit its call instead."
        )
    else:
        return
    raise CommandError("cannot_deny", message, status.run.id)
