"""The end of a tool call on one line, with the tool."""

from __future__ import annotations

from .data_model import EventKind, EventSide, TimelineRow


def summarize_with_tool(row: TimelineRow) -> str:
    """A row's summary; at the end of a tool call with the tool's name: “search → 3 results”."""
    is_end = row.kind is EventKind.TOOL_INVOCATION and row.side is EventSide.END
    return add_tool_name(row.name, row.summary) if is_end else row.summary


def add_tool_name(name: str | None, result: str) -> str:
    """Add a tool's name to its result.

    Args:
        name: The tool's name, where it is known.
        result: The tool's result, on one line.
    """
    return f"{name} → {result}" if name and not result.startswith(name) else result
