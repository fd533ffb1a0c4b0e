"""What the agents' journals say, held against what the store kept."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentstepper_nb.protocol.data_model import (
    AnswerKind,
    EventKind,
    EventSide,
    HaltPoint,
    RunEnding,
)
from agentstepper_nb.protocol.records import RunHistory

from .person import AcknowledgedCommands

#: What an agent's journal calls each halt point of a call.
WORDS = {
    (EventKind.LLM_QUERY, EventSide.BEGIN): "prompt",
    (EventKind.LLM_QUERY, EventSide.END): "response",
    (EventKind.TOOL_INVOCATION, EventSide.BEGIN): "args",
    (EventKind.TOOL_INVOCATION, EventSide.END): "result",
}


@dataclass
class AgentJournal:
    """One agent's file."""

    run: str
    passed: list[tuple[int, str, Any]]
    ended: bool

    @classmethod
    def read(cls, path: Path) -> AgentJournal:
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        assert lines[0][0] == "run"
        ended = lines[-1] == ["end"]
        passed = lines[1:-1] if ended else lines[1:]
        return cls(lines[0][1], [tuple(line) for line in passed], ended)


def check_journal(
    journal: AgentJournal,
    history: RunHistory,
    promises: AcknowledgedCommands,
    *,
    relaxed: bool = False,
) -> None:
    """Nothing lost, nothing doubled, and every edit where it belongs.

    Args:
        journal: The agent's.
        history: The store's.
        promises: The person's.
        relaxed: Whether answers were given before they were recorded, so that some may be lost.
    """
    assert journal.ended
    words = ["prompt", "response", "args", "result"]
    calls = len(journal.passed) // len(words)
    expected = [(number, word) for number in range(calls) for word in words]
    assert [(number, word) for number, word, _ in journal.passed] == expected
    assert history.run.ending is RunEnding.FINISHED, history.run
    points = history.halt_points
    assert [point.seq for point in points] == list(range(1, len(points) + 1))
    assert len({point.id for point in points}) == len(points)
    assert len({event.id for event in history.events}) == len(history.events)
    kinds = [point.kind for point in points]
    assert (kinds[0], kinds[-1]) == (EventKind.PROGRAM_STARTED, EventKind.PROGRAM_FINISHED)
    asked = points[1:-1]
    assert [WORDS[point.kind, point.side] for point in asked] == [word for _, word in expected]
    for (number, word, got), point in zip(journal.passed, asked, strict=True):
        if relaxed and (point.answer is AnswerKind.WITHDRAWN or _current_data(point) != got):
            continue  # the answer was lost with the Core; the agent had it
        assert point.answer is AnswerKind.RESUME, point
        assert _current_data(point) == got, (number, word, point)
        _check_acknowledged(point, promises)


def check_killed_journal(journal: AgentJournal, history: RunHistory, *, waited: bool) -> None:
    """What an agent wrote down before it was killed is kept, and its end is told.

    Args:
        journal: The agent's.
        history: The store's.
        waited: Whether it waited at each halt point: then all of it. One that went on by itself may have
            had the last of it still to send.
    """
    run = history.run
    assert run.ending is RunEnding.CRASHED, run
    assert run.failure is not None
    points = [point for point in history.halt_points if (point.kind, point.side) in WORDS]
    assert len({point.id for point in points}) == len(points)
    for (_, word, got), point in zip(journal.passed, points, strict=False):
        assert (WORDS[point.kind, point.side], _current_data(point)) == (word, got), point
    assert len(points) <= len(journal.passed) + 2
    if waited:
        assert len(points) >= len(journal.passed)
    assert run.last_event is not None or not points


def _current_data(point: HaltPoint) -> Any:
    value = json.loads(point.current)
    is_call = (point.kind, point.side) == (EventKind.TOOL_INVOCATION, EventSide.BEGIN)
    return value["Argument"] if is_call else value


def _check_acknowledged(point: HaltPoint, promises: AcknowledgedCommands) -> None:
    """An edit that was promised is there; one that is there was asked for."""
    promised = promises.edits.get(point.id)
    if promised is not None:
        assert point.edit == promised, point
    elif point.edit is not None:
        assert point.edit in promises.perhaps.get(point.id, set()), point
