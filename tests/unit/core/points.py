"""Halt points of each kind, for what is made of them."""

from __future__ import annotations

from typing import Any

from agentstepper_nb.protocol.data_model import EventKind, EventSide, HaltPoint

ASK = (EventKind.LLM_QUERY, EventSide.BEGIN)
ANSWER = (EventKind.LLM_QUERY, EventSide.END)
CALL = (EventKind.TOOL_INVOCATION, EventSide.BEGIN)
RESULT = (EventKind.TOOL_INVOCATION, EventSide.END)
Where = tuple[EventKind, EventSide]


def point(where: Where, data: str, **fields: Any) -> HaltPoint:
    kind, side = where
    return HaltPoint(
        id="b", run="r", event="e", seq=1, side=side, kind=kind, at=0.0, data=data, **fields
    )
