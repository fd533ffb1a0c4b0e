"""The messages of one agent, encoded before the clock runs, in both versions' words.

One *turn* is an LLM query: an event, its begin halt point and its end halt point. The Core answers each
halt point, so that a turn has two round trips.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from itertools import count
from typing import Any, NamedTuple, Protocol
from uuid import uuid4

from msgspec import Raw, Struct
from uuid_utils import uuid7

from agentstepper_nb.protocol import agent as v2
from agentstepper_nb.protocol.data_model import EventKind, EventSide
from agentstepper_nb.protocol.envelope import VERSION

#: Round trips of one turn.
ROUND_TRIPS = 2
#: How version 1's events begin: the floor drops them, as the Core doesn't answer them.
EVENT_PREFIX = '{"message": "event"'

_SENTENCE = "The tests of the cart fail since the discount is taken twice. "


class EncodedTurn(NamedTuple):
    """One query, encoded."""

    event: str
    begin: str
    end: str


class Conversation(Protocol):
    """One agent's side of a run."""

    def opening(self) -> list[str]:
        """What starts the run, up to a first halt point; the Core's last answer to it ends the start."""

    def next_turn(self) -> EncodedTurn:
        """The next query."""


def make_body(size: int, number: int = 0) -> dict[str, Any]:
    """A prompt whose JSON is `size` bytes long; another number is another prompt, new all through."""
    empty = {"model": "scripted", "messages": [{"role": "user", "content": ""}]}
    room = size - len(json.dumps(empty))
    sentence = f"{number}: {_SENTENCE}"
    text = (sentence * (room // len(sentence) + 1))[:room]
    return {"model": "scripted", "messages": [{"role": "user", "content": text}]}


class ConversationV1:
    """Version 1, written as the original's client writes it.

    Args:
        size: Of each prompt and answer, in bytes.
    """

    def __init__(self, size: int) -> None:
        self._bodies = _generate_bodies(size)

    def opening(self) -> list[str]:
        event = str(uuid4())
        return [
            self._event(event, "PROGRAM_STARTED", "bench"),
            self._halt_point(event, "bench", "Agent program started."),
        ]

    def next_turn(self) -> EncodedTurn:
        event = str(uuid4())
        return EncodedTurn(
            self._event(event, "LLM_QUERY", None),
            self._halt_point(event, next(self._bodies), None),
            self._halt_point(event, next(self._bodies), None),
        )

    def _event(self, event: str, kind: str, data: str | None) -> str:
        fields = {
            "uuid": event,
            "type": kind,
            "time": time.time(),
            "data": data,
            "breakpoints": [],
        }
        return json.dumps({"message": "event", "data": fields})

    def _halt_point(self, event: str, data: object, summary: str | None) -> str:
        fields = {
            "uuid": str(uuid4()),
            "agent": "bench",
            "event_id": event,
            "time": time.time(),
            "original_data": data,
            "modified_data": None,
            "summary": summary,
        }
        return json.dumps({"message": "breakpoint", "data": fields})


class ConversationV2:
    """Version 2, every halt point waiting.

    Args:
        size: Of each prompt and answer, in bytes.
    """

    def __init__(self, size: int) -> None:
        self._bodies = _generate_bodies(size)
        self._sent_count = 0

    def opening(self) -> list[str]:
        event = str(uuid7())
        hello = v2.Hello(
            version=VERSION,
            sdk="bench",
            program="bench",
            run=str(uuid7()),
            secret="",
            pid=0,
            host="",
            boot="",
        )
        started = v2.EventBegun(
            id=event, kind=EventKind.PROGRAM_STARTED, at=time.time(), clock=time.monotonic()
        )
        point = self._halt_point(event, EventSide.BEGIN, Raw(b'"bench"'))
        return [self._encode(message) for message in (hello, started, point)]

    def next_turn(self) -> EncodedTurn:
        event = str(uuid7())
        begun = v2.EventBegun(
            id=event, kind=EventKind.LLM_QUERY, at=time.time(), clock=time.monotonic()
        )
        points = [
            self._halt_point(event, side, Raw(json.dumps(data).encode()))
            for side, data in zip((EventSide.BEGIN, EventSide.END), self._bodies, strict=False)
        ]
        return EncodedTurn(*(self._encode(message) for message in (begun, *points)))

    def _halt_point(self, event: str, side: EventSide, data: Raw) -> v2.HaltPointReached:
        return v2.HaltPointReached(
            id=str(uuid7()),
            event=event,
            side=side,
            waits=True,
            at=time.time(),
            clock=time.monotonic(),
            data=data,
        )

    def _encode(self, message: Struct) -> str:
        self._sent_count += 1
        return v2.from_agent.encode(message, self._sent_count)


def _generate_bodies(size: int) -> Iterator[dict[str, Any]]:
    """Prompts without end, no two of them alike: what is kept already would cost the store nothing."""
    return (make_body(size, number) for number in count())


def encode_turns(conversation: Conversation, number: int) -> Iterator[EncodedTurn]:
    """The next turns of a conversation."""
    for _ in range(number):
        yield conversation.next_turn()
