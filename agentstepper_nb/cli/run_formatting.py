"""Runs, rows and commits as lines."""

from __future__ import annotations

from collections.abc import Mapping
from math import floor, log10
from typing import Final

from msgspec import UNSET

from ..breakpoints.breakpoint_syntax import format_breakpoint
from ..protocol.breakpoint_rules import BreakpointRule, Reaction
from ..protocol.data_model import (
    Actor,
    AgentActivity,
    ApprovalPrompt,
    ChangeKind,
    Commit,
    EventKind,
    EventOutcome,
    EventSide,
    FileChange,
    Run,
    RunState,
    TimelineRow,
    Usage,
)
from ..protocol.lanes import find_label
from ..protocol.step_targets import StepKind
from ..protocol.text_escaping import escape_to_one_line
from ..protocol.tool_end_summaries import summarize_with_tool

_NAMES: Final = {Actor.LLM: "LLM"}
_AGENT: Final = {
    AgentActivity.LLM_THINKING: "the LLM is thinking",
    AgentActivity.TOOL_EXECUTING: "a tool is running",
    AgentActivity.HALTING: "halts at its next message",
    AgentActivity.WAITING: "waits for your next message",
}
_EVENTS: Final = {
    EventKind.LLM_QUERY: "LLM query",
    EventKind.TOOL_INVOCATION: "tool call",
    EventKind.CUSTOM: "event",
}
_MARKS: Final = {
    ChangeKind.ADDED: "+",
    ChangeKind.CHANGED: "~",
    ChangeKind.DELETED: "-",
    ChangeKind.RENAMED: ">",
}

#: Characters of a row that are shown however narrow the terminal is.
_MIN_TEXT_CHARS: Final = 20
#: Characters of an agent's name, and its node's, at the begin of a row.
_MAX_AGENT_CHARS: Final = 30
#: The most levels of indentation: deeper rows are indented as much.
_MAX_INDENT_LEVELS: Final = 20


def format_actors(row: TimelineRow) -> str:
    """Format the source and the target of a row."""
    return f"{_name(row.source)} → {_name(row.target)}"


def _name(actor: Actor) -> str:
    return _NAMES.get(actor, actor.value.capitalize())


def format_agent(row: TimelineRow) -> str:
    """Format the agent of a row: "researcher", "researcher at draft"; empty if no agent is known."""
    label = find_label(row)
    if label is None:
        return ""
    parts = [label.name, f"at {label.node}" if label.node else ""]
    agent = escape_to_one_line(" ".join(filter(None, parts)))
    return agent if len(agent) <= _MAX_AGENT_CHARS else f"{agent[: _MAX_AGENT_CHARS - 1]}…"


def format_row(row: TimelineRow, width: int | None = None) -> str:
    """Format a row as one line: its number, source, target, agent, summary, and usage.

    Args:
        row: The row.
        width: The terminal's width in characters, to which the summary is cut; None: don't cut.
    """
    marks = ["edited"] if row.edited else []
    if row.outcome is EventOutcome.ERROR:
        marks.append("failed")
    figures = format_row_usage(row)
    if figures:
        marks.append(figures)
    mark = f"  ({', '.join(marks)})" if marks else ""
    indent = "  " * min(row.depth, _MAX_INDENT_LEVELS)
    agent = format_agent(row)
    head, summary = (
        f"{row.seq:>4}  {format_actors(row):<15} {indent}{agent and f'[{agent}] '}",
        escape_to_one_line(summarize_with_tool(row)),
    )
    room = len(summary) if width is None else max(_MIN_TEXT_CHARS, width - len(head) - len(mark))
    if len(summary) > room:
        summary = f"{summary[: room - 1]}…"
    return escape_to_one_line(f"{head}{summary}{mark}")


def format_run(run: Run) -> str:
    """Format a run as one line: its name and its state."""
    return escape_to_one_line(f"{run.name}: {describe_run_state(run)}")


def describe_run_state(run: Run) -> str:
    """Describe a run's state."""
    if not run.live:
        failure = f" ({run.failure.type}: {run.failure.message})" if run.failure else ""
        figures = format_run_usage(run.usage)
        return f"{run.ending or 'ended'}{failure}{f', {figures}' if figures else ''}"
    waiting = len(run.pending)
    if run.state is RunState.DETACHED:
        wait = {0: "", 1: ", a message waits"}.get(waiting, f", {waiting} messages wait")
        return f"its agent is away{wait}"
    if run.state is RunState.HALTED:
        return "halted" if waiting == 1 else f"halted, {waiting} messages wait"
    return describe_step(run) or _AGENT.get(run.agent_state, "running")


def describe_step(run: Run) -> str:
    """Describe a run's step: "stepping over run_tests"; empty if it halts at its next message."""
    if run.step is UNSET:
        return ""
    step = run.step
    kind = "message" if step.event_kind is None else _EVENTS.get(step.event_kind, "message")
    what = step.name or kind
    match step.kind:
        case StepKind.OVER if step.event is not None:
            return escape_to_one_line(f"stepping over {what}")
        case StepKind.OUT:
            goal = f"of {what}" if step.event is not None else "to the end"
            return escape_to_one_line(f"stepping out {goal}")
        case StepKind.TO:
            side = "end of the next" if step.side is EventSide.END else "next"
            return escape_to_one_line(f"running to the {side} {what}")
    return ""


def format_commit(number: int, commit: Commit) -> str:
    """A commit as one line: its number, its title, how much it changed."""
    added = sum(change.added for change in commit.changes)
    removed = sum(change.removed for change in commit.changes)
    files = len(commit.changes)
    size = f"{files} file{'' if files == 1 else 's'}, +{added} -{removed}" if files else "no files"
    return escape_to_one_line(f"      changes {number}: {commit.title} ({size})")


def format_change(change: FileChange) -> str:
    """A changed file as one line."""
    path = change.path
    if change.previous_path:
        path = f"{change.previous_path} → {path}"
    return escape_to_one_line(f"  {_MARKS[change.kind]} {path}  +{change.added} -{change.removed}")


def describe_halt(row: TimelineRow, breakpoints: Mapping[str, BreakpointRule]) -> list[str]:
    """Describe why a run is halted at a row, unless a step halted it.

    Args:
        row: The row.
        breakpoints: The breakpoints that are set, by their ids.
    """
    hit = [breakpoints[id] for id in row.breakpoints if id in breakpoints]
    lines = [
        f"Halted by breakpoint {format_breakpoint(breakpoint)}."
        for breakpoint in hit
        if breakpoint.reaction is Reaction.HALT
    ]
    if row.breakpoint_error is not None:
        lines.append(f"Halted because a breakpoint failed here. {row.breakpoint_error}")
    return list(map(escape_to_one_line, lines))


def describe_approval(approval: ApprovalPrompt | None) -> list[str]:
    """Describe the requested approval, if there is one."""
    if approval is None:
        return []
    lines = [f"Asks for approval, {approval.risk} risk: {approval.why}"]
    if approval.rule is not None:
        lines.append(f"“a always” allows such calls from now on: {approval.rule}")
    return list(map(escape_to_one_line, lines))


def format_row_usage(row: TimelineRow) -> str:
    """Format a row's usage: "1,204 → 96 tokens, $0.0021, 1.84 s"; empty if nothing is known."""
    told = [*_usage(row.usage), *([] if row.duration is None else [format_duration(row.duration)])]
    return ", ".join(told)


def format_run_usage(usage: Usage | None) -> str:
    """Format a run's usage: "9,812 → 400 tokens, ≈$0.02"; empty if nothing is known."""
    return ", ".join(_usage(usage))


def _usage(usage: Usage | None) -> list[str]:
    if usage is None:
        return []
    told = [usage.input_tokens, usage.output_tokens]
    counts = " → ".join("?" if count is None else f"{count:,}" for count in told)
    tokens = [] if told == [None, None] else [f"{counts} tokens"]
    if usage.cost is None:
        return tokens
    return [*tokens, f"{'≈' if usage.estimated else ''}{format_dollars(usage.cost)}"]


def format_dollars(cost: float) -> str:
    """Format US dollars: "$1.24", or with two significant digits: "$0.018"."""
    if cost == 0:
        return "$0"
    if cost >= 0.995:
        return f"${cost:,.2f}"
    if cost < 1e-6:
        return "<$0.000001"
    return f"${cost:.{1 - floor(log10(cost))}f}"


def format_duration(duration: float) -> str:
    """A duration: "4 ms", "1.84 s", "12.3 s", "187 s"."""
    if duration < 0.9995:
        return f"{duration * 1000:.0f} ms"
    digits = 2 if duration < 9.995 else 1 if duration < 99.95 else 0
    return f"{duration:.{digits}f} s"
