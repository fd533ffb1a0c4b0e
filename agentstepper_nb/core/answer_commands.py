"""Answers of people other than resume: a result or an exception in a call's place, guides, and
decisions by people of the agent.
"""

from __future__ import annotations

from msgspec import UNSET, UnsetType

from ..errors import ProtocolError
from ..protocol.data_model import AnswerKind, Failure
from .guides import check_guide
from .input_checks import (
    NO_APPROVAL_PENDING,
    check_denial,
    check_raise,
    check_skip,
    find_current,
)
from .outputs import AnswerDecision, Output
from .state_table import RunSignal, list_transition_rules
from .transitions import Transitions

#: The exception that an agent's code sees where the person names none.
DEFAULT_ERROR_TYPE = "InjectedError"


class AnswerCommands:
    """Answers one pending halt point each; the run's mode stays, as with a denial.

    Args:
        transitions: The state of all runs, and its transitions.
    """

    def __init__(self, transitions: Transitions) -> None:
        self._transitions = transitions

    def skip(
        self, run_id: str, at: float, halt_point_id: str, revision: int, result: str
    ) -> list[Output]:
        """Supply a person's result for a call, which isn't made; also for one that asks for an approval.

        Args:
            run_id: The run.
            at: Now, by the Core's clock.
            halt_point_id: The halt point.
            revision: The revision of the halt point that the person saw.
            result: JSON text.

        Raises:
            CommandError: `unknown_run`, `run_is_over`, `stale`; `cannot_skip`: no event begins there, or
                the run's agent speaks version 1.
            ProtocolError: `invalid_edit`: the result isn't JSON.
        """
        status, rule = self._transitions.consult(run_id, RunSignal.DENY)
        check_skip(status, find_current(status, halt_point_id, revision), result)
        decision = AnswerDecision(AnswerKind.SKIP, supplied=result)
        self._transitions.apply_rule(status, rule, at, halt_point_id, decision)
        return self._transitions.drain()

    def raise_error(
        self,
        run_id: str,
        at: float,
        halt_point_id: str,
        revision: int,
        message: str,
        type: str | UnsetType = UNSET,
    ) -> list[Output]:
        """A person lets the agent's code see an exception, in the place of a call or of its result.

        Args:
            run_id: The run.
            at: Now, by the Core's clock.
            halt_point_id: The halt point.
            revision: The revision of it that the person saw.
            message: The exception's.
            type: The exception's class, as `RaiseAnswer.type`.

        Raises:
            CommandError: `unknown_run`, `run_is_over`, `stale`; `cannot_raise`: it is of no call, or its
                agent speaks version 1.
        """
        status, rule = self._transitions.consult(run_id, RunSignal.DENY)
        check_raise(status, find_current(status, halt_point_id, revision))
        raised = Failure(type=DEFAULT_ERROR_TYPE if type is UNSET else type, message=message)
        decision = AnswerDecision(AnswerKind.RAISE, raised=raised)
        self._transitions.apply_rule(status, rule, at, halt_point_id, decision)
        return self._transitions.drain()

    def make_guided_edit(
        self, run_id: str, halt_point_id: str, revision: int, text: str, edit: str | None = None
    ) -> str:
        """The edit that a guide would be, as JSON text. Raises as `guide`."""
        status = self._transitions.status(run_id)
        current = find_current(status, halt_point_id, revision)
        return check_guide(current, current.current if edit is None else edit, text)

    def guide(
        self,
        run_id: str,
        halt_point_id: str,
        revision: int,
        text: str,
        edit: str | None = None,
    ) -> list[Output]:
        """A person adds a message to a pending prompt, without answering.

        Args:
            run_id: The run.
            halt_point_id: The halt point.
            revision: The revision of it that the person saw.
            text: The message.
            edit: JSON text to set as the edit first.

        Raises:
            CommandError: `unknown_run`, `stale`; `cannot_guide`: no query begins there, or its prompt
                has no place for a message.
            ProtocolError: `invalid_edit`.
        """
        made = self.make_guided_edit(run_id, halt_point_id, revision, text, edit)
        status = self._transitions.status(run_id)
        current = find_current(status, halt_point_id, revision)
        sticky = current.sticky is True
        self._transitions.edit(status, current, made, sticky=sticky, guide=text)
        return self._transitions.drain()

    def decide(
        self,
        run_id: str,
        at: float,
        halt_point_id: str,
        decision: AnswerDecision,
        edit: str | None = None,
    ) -> list[Output]:
        """Record an approval or a denial by people of the agent, at one of the run's halt points.

        A halt point that was answered meanwhile is no error: messages cross.

        Args:
            run_id: The run.
            at: Now, by the Core's clock.
            halt_point_id: The halt point.
            decision: A resume, which approves, or a denial.
            edit: The approved call, as JSON text; None: the agent's own. These people saw no edit of a
                view, so that such an edit is dropped.

        Raises:
            ProtocolError: `run_ended`; `cannot_approve`, `cannot_deny`, `invalid_edit`.
        """
        status = self._transitions.live_status(run_id)
        current = status.pending.get(halt_point_id)
        if current is None:
            return []
        if decision.answer is AnswerKind.DENY:
            check_denial(status, current)
            decision = decision._replace(always=False)  # which is said of approvals
            rule = list_transition_rules(status.run)[RunSignal.DENY]
        else:
            if current.approval is None:
                raise ProtocolError("cannot_approve", NO_APPROVAL_PENDING)
            seen = None if edit == current.data else edit
            if seen != current.edit:
                self._transitions.edit(status, current, seen, is_agents=True)
            rule = list_transition_rules(status.run)[RunSignal.APPROVE]
        self._transitions.apply_rule(status, rule, at, halt_point_id, decision)
        return self._transitions.drain()
