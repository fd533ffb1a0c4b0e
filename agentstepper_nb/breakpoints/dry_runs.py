"""Dry runs: where a breakpoint would have hit in recorded runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from ..protocol import breakpoint_rules as protocol
from ..protocol.breakpoint_rules import DryRunOutcome
from ..protocol.data_model import Run
from ..protocol.program_requests import DryRunResponse
from ..protocol.text_escaping import escape_to_one_line
from .breakpoint import Breakpoint
from .core_request import send_request
from .text_tables import Cells, format_html_table, format_text_table

_HEAD: Final = ("run", "rows", "hits", "at rows")
#: As many places are shown in a table.
_MAX_SHOWN_ROWS: Final = 10


class DryRunResult(NamedTuple):
    """A recorded run, and where a breakpoint would have hit in it."""

    run: Run
    result: DryRunOutcome

    @property
    def hits(self) -> tuple[int, ...]:
        """The numbers of the rows at which the breakpoint would have hit; the first 1,000."""
        return self.result.hits


class DryRunResults(list[DryRunResult]):
    """The results of a dry run, the newest run first; shown as a table."""

    @property
    def total(self) -> int:
        """How often the breakpoint would have hit in all these runs."""
        return sum(outcome.result.total for outcome in self)

    def __repr__(self) -> str:
        return "\n".join([self._format_outcome, *self._table(format_text_table), *self._errors()])

    def _repr_html_(self) -> str:
        # An error is a row of its own, so that all that comes from a run is escaped in one place.
        errors = [format_html_table((), [(text,)]) for text in self._errors()]
        return "".join([f"<p>{self._format_outcome}</p>", *self._table(format_html_table), *errors])

    @property
    def _format_outcome(self) -> str:
        if not self:
            return "These agents have no recorded run yet."
        times = "once" if self.total == 1 else f"{self.total:,} times"
        runs = "this run" if len(self) == 1 else f"these {len(self)} runs"
        return f"It would have hit {times} in {runs}." if self.total else f"No hit in {runs}."

    def _table(self, table: Callable[[Cells, Sequence[Cells]], str]) -> list[str]:
        return [table(_HEAD, [_row(outcome) for outcome in self])] if self else []

    def _errors(self) -> list[str]:
        return [
            escape_to_one_line(f"{run.name}: {result.error}")
            for run, result in self
            if result.error
        ]


def _row(outcome: DryRunResult) -> tuple[str, ...]:
    result = outcome.result
    places = [str(seq) for seq in result.hits[:_MAX_SHOWN_ROWS]]
    if result.total > len(places):
        places.append("…")
    return (
        escape_to_one_line(outcome.run.name),
        str(result.rows),
        str(result.total),
        ", ".join(places),
    )


def dry_run(breakpoint: Breakpoint | str, run: str | None = None) -> DryRunResults:
    """Find where a breakpoint would have hit in recorded runs, whether it is set or not.

    Args:
        breakpoint: The breakpoint, or its text.
        run: A run's id, its name, or its program's name (of several runs the newest). None: the
            last runs of the agents that the breakpoint is for.

    Raises:
        ProtocolError: `invalid_stop`: the text is no breakpoint, or its condition is invalid.
        CommandError: `unknown_run`; `watch_only`: the Core asks for its control token.
        ConnectionError: No Core can be reached.
    """
    made = breakpoint if isinstance(breakpoint, Breakpoint) else Breakpoint(breakpoint)
    answer = send_request(protocol.DryRunBreakpoint(breakpoint=made.value, run=run), DryRunResponse)
    runs = {each.id: each for each in answer.runs}
    return DryRunResults(DryRunResult(runs[each.run], each) for each in answer.outcomes)
