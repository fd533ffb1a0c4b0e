"""Trying breakpoints and edit rules on runs that are recorded."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from fnmatch import fnmatchcase
from functools import partial
from typing import Final, Generic, NamedTuple, TypeVar

from ..core.breakpoints import check_breakpoint, check_edit_rule
from ..core.breakpoints import dry_run as core_dry_run
from ..core.breakpoints import dry_run_edit_rule as core_dry_run_edit_rule
from ..errors import CommandError, ProtocolError, StoreError
from ..protocol.breakpoint_rules import (
    BreakpointRule,
    DryRunAnswer,
    DryRunBreakpoint,
    DryRunOutcome,
)
from ..protocol.data_model import Run
from ..protocol.edit_rules import (
    DryRunEditRule,
    EditRuleDefinition,
    EditRuleDryRun,
    EditRuleOutcome,
)
from ..protocol.records import RunHistory
from .run_service import RunService

#: On so many runs a breakpoint is tried where none is named.
MAX_RUNS: Final = 20
#: The part of a rule whose evaluation may be slow, by the error code.
_SLOW_PARTS: Final = {"invalid_stop": "condition", "invalid_edit_rule": "pattern"}


OutcomeT = TypeVar("OutcomeT")


class RunDryRun(NamedTuple, Generic[OutcomeT]):
    """A run, and the rule's outcome in it."""

    run: Run
    outcome: OutcomeT


class _RuleEvaluation(NamedTuple, Generic[OutcomeT]):
    """A rule's evaluation on past runs: for which programs, and the code and noun of its errors."""

    program: str
    evaluate: Callable[[RunHistory, Callable[[], None]], OutcomeT]
    code: str
    noun: str


async def answer(
    hub: RunService, command: DryRunBreakpoint | DryRunEditRule, is_wanted: Callable[[], bool]
) -> DryRunAnswer | EditRuleDryRun:
    """Answer a view's command. Arguments and errors as of `dry_run`."""
    if isinstance(command, DryRunBreakpoint):
        tried = await dry_run(hub, command.breakpoint, command.run, is_wanted)
        return DryRunAnswer(outcomes=tuple(each.outcome for each in tried))
    edited = await dry_run_edit_rule(hub, command.rule, command.run, is_wanted)
    return EditRuleDryRun(outcomes=tuple(each.outcome for each in edited))


async def dry_run_edit_rule(
    hub: RunService,
    rule: EditRuleDefinition,
    run: str | None = None,
    is_wanted: Callable[[], bool] = lambda: True,
) -> list[RunDryRun[EditRuleOutcome]]:
    """Find the edits that an edit rule, set or not, would have made. Arguments and errors as `dry_run`.

    Raises:
        ProtocolError: `invalid_edit_rule`; also where the evaluation takes too long.
    """
    check_edit_rule(rule)
    evaluate = partial(core_dry_run_edit_rule, rule)
    evaluation = _RuleEvaluation(rule.program, evaluate, "invalid_edit_rule", "edit rule")
    return await _evaluate_runs(hub, evaluation, run, is_wanted)


async def dry_run(
    hub: RunService,
    breakpoint: BreakpointRule,
    run: str | None = None,
    is_wanted: Callable[[], bool] = lambda: True,
) -> list[RunDryRun[DryRunOutcome]]:
    """Find the rows at which a breakpoint, set or not, would have hit.

    Args:
        hub: The Core's service.
        breakpoint: The breakpoint.
        run: The run's id; None: the last runs of agents that the breakpoint applies to, newest
            first, without those that can't be read.
        is_wanted: Whether the caller still waits for the answer.

    Raises:
        ProtocolError: `invalid_stop`; also where the evaluation takes too long.
        CommandError: `unknown_run`; `superseded`: the answer isn't wanted any more.
        StoreError: The stored run is damaged, or can't be read now.
    """
    check_breakpoint(breakpoint)
    evaluate = partial(core_dry_run, breakpoint)
    evaluation = _RuleEvaluation(breakpoint.program, evaluate, "invalid_stop", "breakpoint")
    return await _evaluate_runs(hub, evaluation, run, is_wanted)


async def _evaluate_runs(
    hub: RunService,
    evaluation: _RuleEvaluation[OutcomeT],
    run: str | None,
    is_wanted: Callable[[], bool],
) -> list[RunDryRun[OutcomeT]]:
    if run is not None:
        return [await _evaluate_run(hub, evaluation, run, is_wanted)]
    outcomes = []
    fitting = (
        each.id for each in reversed(hub.runs()) if fnmatchcase(each.program, evaluation.program)
    )
    for _, id in zip(range(MAX_RUNS), fitting, strict=False):
        try:
            outcomes.append(await _evaluate_run(hub, evaluation, id, is_wanted))
        except CommandError as error:
            if error.code != "unknown_run":  # deleted meanwhile
                raise
        except StoreError as error:
            hub.log.warning("%s", error)
    return outcomes


def _raise_if_superseded(is_wanted: Callable[[], bool]) -> None:
    if not is_wanted():
        raise CommandError(
            "superseded", "A newer dry run replaced this one. Wait for the answer to the newer one."
        )


class _DryRunLimit:
    """Stops a dry run's thread between two rows: a thread can't be cancelled.

    Args:
        is_wanted: Whether the caller still waits for the answer.
        timeout_s: The longest time of the dry run, in seconds.
        code: The error code of a time-out.
        noun: The kind of rule, for the error message.
    """

    def __init__(
        self, is_wanted: Callable[[], bool], timeout_s: float, code: str, noun: str
    ) -> None:
        self._code, self._noun = code, noun
        self._timeout_s = timeout_s
        self.is_cancelled = False
        self._is_wanted = is_wanted
        self._deadline = time.monotonic() + timeout_s

    def check(self) -> None:
        """Raise where the dry run is to end. Called on its thread."""
        _raise_if_superseded(lambda: not self.is_cancelled and self._is_wanted())
        if time.monotonic() > self._deadline:
            raise ProtocolError(
                self._code,
                f"A dry run of this {self._noun} takes longer than {self._timeout_s:.0f} "
                f"seconds on one run. Simplify the {self._noun}'s {_SLOW_PARTS[self._code]}.",
            )


async def _evaluate_run(
    hub: RunService, evaluation: _RuleEvaluation[OutcomeT], run: str, is_wanted: Callable[[], bool]
) -> RunDryRun[OutcomeT]:
    # One after the other: each has a whole run in memory, and a thread busy.
    async with hub.dry_run_lock:
        _raise_if_superseded(is_wanted)
        history = await hub.history(run)
        limit = _DryRunLimit(
            is_wanted, hub.limits.dry_run_timeout_s, evaluation.code, evaluation.noun
        )
        try:
            # On a thread: a long run takes seconds, in which agents and people would wait.
            result = await asyncio.to_thread(evaluation.evaluate, history, limit.check)
        finally:
            limit.is_cancelled = True
        return RunDryRun(history.run, result)


def find_run_id(hub: RunService, name: str) -> str:
    """Find the id of a run by its id, its name, or its program's name (of several runs the newest).

    Raises:
        CommandError: `unknown_run`.
    """
    if hub.find(name) is not None:
        return name
    runs = list(reversed(hub.runs()))
    for run in (*(each for each in runs if each.name == name), *runs):
        if name in (run.name, run.program):
            return run.id
    return hub.run(name).id
