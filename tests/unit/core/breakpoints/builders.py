"""Points, breakpoints and recorded runs for tests, short to write."""

from __future__ import annotations

import json
from typing import Any

from agentstepper_nb.core.breakpoints import BreakpointEngine, ObservedPoint
from agentstepper_nb.core.breakpoints.condition_variables import ConditionVariables
from agentstepper_nb.core.breakpoints.conditions import ConditionCompiler
from agentstepper_nb.core.breakpoints.evaluation import EvaluationFrame
from agentstepper_nb.core.breakpoints.expression_parser import parse_expression
from agentstepper_nb.core.breakpoints.watches import UsageTotals
from agentstepper_nb.protocol.breakpoint_rules import BreakpointRule
from agentstepper_nb.protocol.data_model import (
    ChangeKind,
    Commit,
    EventKind,
    EventSide,
    FileChange,
    HaltPoint,
    Run,
)
from agentstepper_nb.protocol.records import RunHistory

LLM, TOOL, CUSTOM = EventKind.LLM_QUERY, EventKind.TOOL_INVOCATION, EventKind.CUSTOM
BEGIN, END = EventSide.BEGIN, EventSide.END


def point(
    data: Any = None,
    kind: EventKind = TOOL,
    side: EventSide = BEGIN,
    name: str | None = "read_file",
    **fields: Any,
) -> ObservedPoint:
    return ObservedPoint(kind, side, name, json.dumps(data, allow_nan=True).encode(), **fields)


def call(args: Any = None, name: str = "read_file", **fields: Any) -> ObservedPoint:
    """A tool's begin."""
    return point({"Tool": name, "Argument": args}, name=name, **fields)


def breakpoint(id: str = "s", **fields: Any) -> BreakpointRule:
    return BreakpointRule(id=id, **fields)


def hits(breakpoints: BreakpointEngine, *points: ObservedPoint) -> list[int]:
    """At which of the points any breakpoint hits, from 1."""
    return [number for number, each in enumerate(points, 1) if breakpoints.evaluate(each).hits]


def value(condition: str, at: ObservedPoint | None = None) -> Any:
    """What an expression comes to at a point."""
    compiler = ConditionCompiler(condition)
    code = compiler.code(parse_expression(condition))
    view = ConditionVariables(call() if at is None else at, UsageTotals(), "coder")
    return code(EvaluationFrame(view, compiler.slots))


def commit(seq: int, *paths: str, id: str = "c", **fields: Any) -> Commit:
    changes = tuple(FileChange(path=path, kind=ChangeKind.CHANGED) for path in paths)
    return Commit(id=f"{id}{seq}", run="run", at=1.0, title="T", seq=seq, changes=changes, **fields)


def recorded(seq: int, point: ObservedPoint) -> HaltPoint:
    return HaltPoint(
        id=f"b{seq}",
        run="run",
        event=f"e{seq}",
        seq=seq,
        at=1.0,
        side=point.side,
        kind=point.kind,
        name=point.name,
        data=point.data.decode(),
        depth=point.depth,
        outcome=point.outcome,
        failure=point.failure,
        usage=point.usage,
    )


def history(
    *halt_points: HaltPoint, commits: tuple[Commit, ...] = (), program: str = "coder"
) -> RunHistory:
    run = Run(id="run", name="Run #1", program=program, started_at=1.0)
    return RunHistory(run=run, halt_points=halt_points, commits=commits)
