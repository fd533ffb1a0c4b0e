"""On recorded runs whose tools do what they say, hardly anything is marked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from agentstepper_nb.core.effects import EffectChecks, EffectTracker
from agentstepper_nb.protocol.data_model import ChangeKind, EventOutcome, FileChange
from agentstepper_nb.protocol.effects import EffectMark

#: Calls as the coding agent, agents of frameworks and the examples made them under the debugger.
CALLS = Path(__file__).with_name("good_calls.jsonl")


def read_calls() -> list[dict[str, Any]]:
    return [json.loads(line) for line in CALLS.read_text(encoding="utf-8").splitlines()]


def mark_calls(calls: list[dict[str, Any]]) -> list[tuple[str, tuple[EffectMark, ...]]]:
    """The marked calls."""
    trackers: dict[int, EffectTracker] = {}
    marked = []
    for number, call in enumerate(calls, 1):
        tracker = trackers.get(call["run"])
        if tracker is None:
            tracker = trackers[call["run"]] = EffectTracker(EffectChecks(), "/srv/project")
            tracker.record_changes(())
        tracker.begin("e", call["tool"], call["call"].encode())
        if call["changes"]:
            changed = [FileChange(path=each, kind=ChangeKind.CHANGED) for each in call["changes"]]
            tracker.record_changes(tuple(changed))
        outcome = EventOutcome(call["outcome"])
        report = tracker.end("e", number, call["result"].encode(), outcome)
        if report is not None and report.marks:
            marked.append((call["tool"], report.marks))
    return marked


def test_at_most_one_call_in_a_hundred_is_marked() -> None:
    calls = read_calls()
    assert len(calls) > 100
    assert len({call["run"] for call in calls}) > 10
    assert any(call["changes"] for call in calls)
    marked = mark_calls(calls)
    assert len(marked) * 100 <= len(calls), marked


def test_the_measure_can_fail() -> None:
    """Where writing calls lose their changes, they are marked."""
    calls = read_calls()
    writing = [call for call in calls if call["changes"] and call["tool"] == "write_file"]
    assert writing
    lying = [{**call, "changes": []} for call in calls]
    assert len(mark_calls(lying)) >= len(writing)
