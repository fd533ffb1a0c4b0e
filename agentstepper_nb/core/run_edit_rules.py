"""Edit rules where the Core makes the edits: at the halt points of agents that have no lease."""

from __future__ import annotations

from msgspec.structs import replace

from ..errors import ProtocolError
from ..protocol.data_model import HaltPoint, Run
from .breakpoints import EditRuleEngine, can_be_edited, make_rule_point
from .input_checks import check_edit
from .run_state import RunStates


class RunEditRules:
    """The edit rules of runs whose agents have no lease.

    Args:
        runs: The state of all runs.
    """

    def __init__(self, runs: RunStates) -> None:
        self._runs = runs
        self._engines: dict[str, EditRuleEngine] = {}

    def set(self) -> None:
        """The edit rules are others now."""
        for engine in self._engines.values():
            engine.set(self._runs.edit_rules.values())

    def end(self, run_id: str) -> None:
        """A run has ended."""
        self._engines.pop(run_id, None)

    def apply(self, run: Run, halt_point: HaltPoint) -> HaltPoint:
        """A halt point with the edit that rules make of it.

        An edit reaches the agent with its answer, so that what doesn't wait isn't edited.

        Args:
            run: The run.
            halt_point: The halt point, which was just reached.
        """
        if not (self._runs.edit_rules and halt_point.waits and can_be_edited(halt_point)):
            return halt_point
        engine = self._engines.get(run.id)
        if engine is None:
            rules = self._runs.edit_rules.values()
            engine = self._engines[run.id] = EditRuleEngine(run.program, rules)

        def find_problem(edit: str) -> str | None:
            try:
                check_edit(edit, halt_point)
            except ProtocolError as error:
                return error.message
            return None

        made = engine.apply(make_rule_point(halt_point), halt_point.data, find_problem)
        error = halt_point.breakpoint_error or made.error
        if made.edit is None:
            return replace(halt_point, breakpoint_error=error) if made.error else halt_point
        return replace(halt_point, edit=made.edit, edit_rules=made.rules, breakpoint_error=error)
