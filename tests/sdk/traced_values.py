"""Values that JSON hasn't, and what a traced call's halt points carried."""

from __future__ import annotations

import json
from typing import Any

from agentstepper_nb.protocol.data_model import EventKind, TimelineRow
from tests.sdk.person import LiveView
from tests.sdk.scripted_core import STEP, AgentPeer, ScriptedAnswers, ScriptedCore, make_edit_answer


class FrameworkObject:
    """Nothing that JSON has."""

    def __repr__(self) -> str:
        return "<a thing>"


def make_opaque_mark(
    text: str, number: int, why: str = "its type, FrameworkObject, has no fields"
) -> dict[str, Any]:
    """What a value without fields is shown as."""
    return {"$repr": text, "$ref": number, "$why": why}


def read_halt_point_data(peer: AgentPeer) -> list[Any]:
    """What the halt points after the start carried, once the agent is gone."""
    peer.wait_until_gone()
    return [json.loads(bytes(point.data)) for point in peer.halt_points[1:]]


def answer_with_edits(core: ScriptedCore, *texts: str | None) -> None:
    core.policy = ScriptedAnswers(
        *[STEP if text is None else make_edit_answer(text) for text in texts]
    )


def rows_of(person: LiveView, kind: EventKind, number: int) -> list[TimelineRow]:
    """The rows of one kind, once there are so many."""
    while True:
        rows = [row for row in person.list_rows() if row.kind is kind]
        if len(rows) >= number:
            return rows
        person.wait_change()
