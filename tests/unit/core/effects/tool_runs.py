"""A run of tool calls with the files that they change, short to write."""

from __future__ import annotations

import json
from typing import Any

from agentstepper_nb.core.effects import EffectChecks, EffectTracker
from agentstepper_nb.protocol.data_model import ChangeKind, EventOutcome, FileBody, FileChange
from agentstepper_nb.protocol.effects import EffectMark, EffectReport

ADDED, CHANGED, DELETED = ChangeKind.ADDED, ChangeKind.CHANGED, ChangeKind.DELETED


def changed(path: str, kind: ChangeKind = CHANGED, content: str | None = None) -> FileChange:
    body = None if content is None else FileBody(content=content)
    return FileChange(path=path, kind=kind, body=body)


class ToolRun:
    """One run: each call is a begin, what changed, and an end."""

    def __init__(
        self, *added: Any, disabled: tuple[str, ...] = (), workspace: str = "/srv/shop"
    ) -> None:
        self.failed_checks: list[str] = []
        checks = EffectChecks(added, lambda: disabled, self.failed_checks.append)
        self.tracker = EffectTracker(checks, workspace)
        self.tracker.record_changes(())  # the workspace before the run
        self.seq = 0
        self.report: EffectReport | None = None

    def call(
        self,
        tool: str,
        arguments: Any = None,
        result: Any = "",
        *changes: FileChange,
        outcome: EventOutcome = EventOutcome.OK,
    ) -> tuple[EffectMark, ...]:
        """Its marks."""
        self.seq += 2
        event = f"e{self.seq}"
        data = json.dumps({"Tool": tool, "Argument": arguments}).encode()
        self.tracker.begin(event, tool, data)
        if changes:
            self.tracker.record_changes(changes)
        self.report = self.tracker.end(event, self.seq, json.dumps(result).encode(), outcome)
        return () if self.report is None else self.report.marks

    def names(self, *args: Any, **fields: Any) -> list[str]:
        """The names of the checks that mark a call."""
        return [mark.check for mark in self.call(*args, **fields)]
