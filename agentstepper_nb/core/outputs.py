"""The outputs of a transition, which the hub performs, and answers to halt points. Only values."""

from __future__ import annotations

from typing import Final, NamedTuple

from msgspec import UNSET, UnsetType

from ..protocol.breakpoint_rules import BreakpointRule, Price
from ..protocol.data_model import AnswerKind, Commit, Failure, HaltPoint, RunMode
from ..protocol.edit_rules import EditRuleDefinition
from ..protocol.records import Record
from ..protocol.step_targets import StepTarget


class RecordOutput(NamedTuple):
    """A record to store and to tell the UIs, and what it is about, as it then stands."""

    record: Record
    halt_point: HaltPoint | None = None
    commit: Commit | None = None  # of a sentence on one


class AnswerOutput(NamedTuple):
    """An answer for the agent: the halt point, with its edit, and how it is answered."""

    halt_point: HaltPoint
    answer: AnswerKind


class AnswerDecision(NamedTuple):
    """The answer to a halt point, with a person's input."""

    answer: AnswerKind
    reason: str | None = None  # of a denial
    always: bool = False  # of an approval: also from now on
    supplied: str | UnsetType = UNSET  # JSON text of the result in a call's place
    raised: Failure | UnsetType = UNSET  # the exception that the agent's code sees


RESUMED: Final = AnswerDecision(AnswerKind.RESUME)
STOPPED: Final = AnswerDecision(AnswerKind.STOP)


class LeaseGranted(NamedTuple):
    """The lease that a run's agent gets.

    It precedes the replies of the same outputs: an agent that Continue answers must not wait again.
    """

    run: str
    mode: RunMode
    breakpoints: tuple[BreakpointRule, ...]  # the enabled ones for the run's program
    prices: tuple[Price, ...]
    disabled_checks: tuple[str, ...] = ()  # effect checks that are off
    edit_rules: tuple[EditRuleDefinition, ...] = ()  # likewise
    target: StepTarget | None = None  # of a step; None: each halt point


Output = RecordOutput | AnswerOutput | LeaseGranted
