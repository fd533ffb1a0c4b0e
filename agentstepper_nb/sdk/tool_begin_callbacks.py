"""Callbacks for each tool call of a run that begins, through whatever seam."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

#: Called with a tool's name and its call as JSON, `{"Tool", "Argument"}`, when the call's event begins.
OnToolBegun = Callable[[str, Any], None]

_watchers: dict[str, OnToolBegun] = {}


def watch_tools(run: str, on_begun: OnToolBegun) -> None:
    """Call `on_begun` for each tool call of a run that begins from now on, on the agent's thread."""
    _watchers[run] = on_begun


def unwatch_tools(run: str) -> None:
    """Stop the calls for a run's tool calls."""
    _watchers.pop(run, None)


def notify_tool_begun(run: str, name: str | None, call: Any) -> None:
    """Call the callback of the run whose tool invocation begins."""
    on_begun = _watchers.get(run)
    if on_begun is not None:
        on_begun(name or "", call)
