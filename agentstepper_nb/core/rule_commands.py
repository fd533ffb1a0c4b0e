"""Commands that set breakpoints, edit rules and model prices for all runs."""

from __future__ import annotations

from collections.abc import Iterable

from ..errors import CommandError, ProtocolError
from ..protocol.breakpoint_rules import MAX_BREAKPOINTS, BreakpointRule, Price
from ..protocol.edit_rules import MAX_EDIT_RULES, EditRuleDefinition
from ..protocol.records import (
    BreakpointDeleted,
    BreakpointSaved,
    EditRuleDeleted,
    EditRuleSaved,
    PricesSet,
    Record,
)
from .breakpoints import check_breakpoint, check_edit_rule
from .outputs import Output
from .state_table import HaltPolicy
from .transitions import Transitions


class RuleCommands:
    """Sets and deletes rules; agents that run get them at once, by their leases.

    Args:
        transitions: The state of all runs, and its transitions.
        halt_policy: Decides where runs halt by themselves.
    """

    def __init__(self, transitions: Transitions, halt_policy: HaltPolicy) -> None:
        self._transitions = transitions
        self._runs = transitions.runs
        self._halt_policy = halt_policy

    def set_breakpoint(self, breakpoint: BreakpointRule) -> list[Output]:
        """Set a breakpoint, in place of the one with its id.

        Raises:
            ProtocolError: `invalid_stop`: it can't be understood, or there are too many.
        """
        check_breakpoint(breakpoint)
        known = self._runs.breakpoints
        if breakpoint.id not in known and len(known) >= MAX_BREAKPOINTS:
            raise ProtocolError(
                "invalid_stop",
                f"The limit of {MAX_BREAKPOINTS} breakpoints is reached. Delete one of them first.",
            )
        return self._record(BreakpointSaved(breakpoint=breakpoint))

    def delete_breakpoint(self, breakpoint_id: str) -> list[Output]:
        """Delete a breakpoint.

        Raises:
            CommandError: `unknown_stop`.
        """
        if breakpoint_id not in self._runs.breakpoints:
            raise CommandError(
                "unknown_stop",
                f"There is no breakpoint {breakpoint_id[:80]}: it may have been deleted. "
                "Choose another breakpoint from the list.",
            )
        return self._record(BreakpointDeleted(breakpoint=breakpoint_id))

    def set_edit_rule(self, rule: EditRuleDefinition) -> list[Output]:
        """Set an edit rule, in place of the one with its id.

        Raises:
            ProtocolError: `invalid_edit_rule`: it can't be understood, or there are too many.
        """
        check_edit_rule(rule)
        known = self._runs.edit_rules
        if rule.id not in known and len(known) >= MAX_EDIT_RULES:
            raise ProtocolError(
                "invalid_edit_rule",
                f"The limit of {MAX_EDIT_RULES} edit rules is reached. Delete one of them first.",
            )
        return self._record(EditRuleSaved(rule=rule))

    def delete_edit_rule(self, rule_id: str) -> list[Output]:
        """Delete an edit rule.

        Raises:
            CommandError: `unknown_edit_rule`.
        """
        if rule_id not in self._runs.edit_rules:
            raise CommandError(
                "unknown_edit_rule",
                f"There is no edit rule {rule_id[:80]}: it may have been deleted. "
                "Choose another edit rule from the list.",
            )
        return self._record(EditRuleDeleted(rule=rule_id))

    def set_prices(self, prices: Iterable[Price]) -> list[Output]:
        """Set what models cost, in place of all that was set before."""
        return self._record(PricesSet(prices=tuple(prices)))

    def _record(self, record: Record) -> list[Output]:
        """Record a rule, and give the live runs' agents the leases that have changed by it."""
        live = [self._runs.status[run_id].run for run_id in self._runs.live]
        before = [self._transitions.lease(run) for run in live]
        self._transitions.emit(record)
        self._halt_policy.set_rules()
        for run, old in zip(live, before, strict=True):
            if (new := self._transitions.lease(run)) != old:
                self._transitions.outputs.append(new)
        return self._transitions.drain()
