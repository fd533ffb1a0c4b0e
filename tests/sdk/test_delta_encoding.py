"""Prompts that repeat those before them: kept once, written as what is new, and told anew where lost."""

from __future__ import annotations

import json
import logging
from bisect import bisect_left
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any, cast

import hypothesis.strategies as st
import pytest
from hypothesis import given
from msgspec import UNSET, Raw
from websockets.exceptions import ConnectionClosedError

from agentstepper_nb import AgentStepperCore
from agentstepper_nb.discover import CoreEndpoint
from agentstepper_nb.errors import ProtocolError
from agentstepper_nb.hub import agents_v2
from agentstepper_nb.protocol.agent import (
    HaltPointReached,
    MessagesAcknowledged,
    Welcome,
    from_agent,
    to_agent,
)
from agentstepper_nb.protocol.data_model import EventKind, EventSide
from agentstepper_nb.protocol.delta_decoding import decode_contents
from agentstepper_nb.protocol.delta_encoding import DeltaDecoder, EncodedContent
from agentstepper_nb.sdk.agent_protocol import AgentProtocol
from agentstepper_nb.sdk.connection_state import DEFAULT_LINK_LIMITS, LinkLimits
from agentstepper_nb.sdk.delta_messages import DeltaMessage, split_message
from agentstepper_nb.sdk.send_queue import MessageBatch, PendingFutures, ResendBuffer
from agentstepper_nb.sdk.wire_versions import WireVersion1, WireVersion2
from tests.sdk.both_steppers import both, run
from tests.sdk.person import LiveView
from tests.sdk.run_protocols import make_run_protocol
from tests.sdk.scripted_core import TIMEOUT_S, ScriptedCore

SAID = 600


def prompt(count: int) -> list[str]:
    """A conversation after so many messages."""
    return [f"{number} " * (SAID // 3) for number in range(100, 100 + count)]


def reached(data: Any, id: str = "b") -> HaltPointReached:
    raw = UNSET if data is None else Raw(json.dumps(data).encode())
    return HaltPointReached(
        id=id, event="e", side=EventSide.BEGIN, waits=False, at=1.0, clock=1.0, data=raw
    )


# ---- what is kept ------------------------------------------------------------------------------------


def test_a_message_is_kept_without_its_contents() -> None:
    whole = reached(prompt(4))
    parted = split_message(whole, Raw(json.dumps(prompt(4)).encode()))
    assert parted.message == reached(None)
    assert parted.size == len(bytes(cast(Raw, whole.data)))
    assert b"".join(parted.parts) == bytes(cast(Raw, whole.data))


@pytest.mark.parametrize("data", [None, "short", {"a": 1}], ids=str)
def test_what_is_short_travels_as_it_is(data: Any) -> None:
    message = reached(data)
    assert WireVersion2().encode(message, 2) == from_agent.encode(message, 2).encode()


def test_version_1_has_no_pieces() -> None:
    assert isinstance(WireVersion1("P").encode(reached(prompt(4)), 2), bytes)


def test_what_waits_is_known_though_it_is_in_pieces() -> None:
    dialect = WireVersion2()
    waiting = HaltPointReached(
        id="w",
        event="e",
        side=EventSide.BEGIN,
        waits=True,
        at=1,
        clock=1,
        data=reached(prompt(4)).data,
    )
    assert isinstance(dialect.encode(waiting, 7), DeltaMessage)
    assert not dialect.is_waiting("w", 6)
    assert dialect.is_waiting("w", 7)


def add_encoded(buffer: ResendBuffer, data: Any) -> DeltaMessage:
    parted = WireVersion2().encode(reached(data), 2)
    assert isinstance(parted, DeltaMessage)
    buffer.add(parted)
    return parted


def unacknowledged_bytes(buffer: ResendBuffer, written: int) -> int:
    """Bytes of the window that messages up to a number take; more is there to be written."""
    windows = range(1, 10_000_000)
    return bisect_left(
        windows, True, key=lambda window: buffer.next_after(written, window) is not None
    )


def test_what_messages_have_in_common_is_held_once() -> None:
    buffer = ResendBuffer()
    for count in range(10, 60):
        add_encoded(buffer, prompt(count))
    assert buffer.size < 3 * len(json.dumps(prompt(60)))
    buffer.add(b"more")
    assert unacknowledged_bytes(buffer, buffer.last - 1) > 20 * len(json.dumps(prompt(60)))


@given(st.lists(st.integers(2, 9), max_size=20), st.integers(1, 21))
def test_what_nobody_needs_is_let_go(counts: list[int], until: int) -> None:
    buffer, fresh = ResendBuffer(), ResendBuffer()
    for count in counts:
        add_encoded(buffer, prompt(count))
    buffer.acknowledge(until)
    for count in counts[until - 1 :]:
        add_encoded(fresh, prompt(count))
    assert buffer.size == fresh.size
    written, written_fresh = buffer.last, fresh.last
    buffer.add(b"more")
    fresh.add(b"more")
    assert unacknowledged_bytes(buffer, written) == unacknowledged_bytes(fresh, written_fresh)
    assert unacknowledged_bytes(buffer, min(until, written)) == 0
    buffer.clear()
    assert buffer.size == 0
    buffer.add(b"next")
    buffer.add(b"more")
    assert unacknowledged_bytes(buffer, buffer.last - 1) == 4


# ---- what is written ---------------------------------------------------------------------------------


class WrittenRun:
    """A run that a Core takes, and what is written of it on its connection."""

    def __init__(self, limits: LinkLimits = DEFAULT_LINK_LIMITS) -> None:
        self.run = make_run_protocol(PendingFutures(), limits=limits)
        self.protocol = AgentProtocol(CoreEndpoint("ws://core"), lambda: None)
        self.protocol.add(self.run)
        self.connect(received=1)

    def connect(self, received: int) -> None:
        self.written: list[bytes] = []
        self.protocol.connection_opened(
            self.run, Welcome(version=2, core="", run="r", received=received), 0.0
        )

    def write(self, *messages: HaltPointReached) -> None:
        self.protocol.accept_items(
            self.run, [MessageBatch((message,), 0) for message in messages], 0.0
        )
        while (text := self.protocol.data_to_send(0.0)) is not None:
            self.written.append(text)

    def acknowledge(self, number: int) -> None:
        text = to_agent.encode(MessagesAcknowledged(received=number), 2)
        self.protocol.receive_data(text, 0.0)

    def receive(self) -> list[Any]:
        """What arrives of it."""
        decoder = DeltaDecoder()
        return [decode_contents(from_agent.decode(text)[1], decoder) for text in self.written]


def test_each_connection_is_told_from_the_start() -> None:
    out = WrittenRun()
    messages = [reached(prompt(count), f"b{count}") for count in range(3, 10)]
    out.write(*messages)
    assert out.receive() == messages
    assert sum(map(len, out.written)) < len(json.dumps(prompt(10))) + len(messages) * 400
    out.acknowledge(3)
    out.protocol.connection_lost(ConnectionClosedError(None, None), 0.0)
    out.connect(received=4)
    out.write()
    assert out.receive() == messages[3:]


def test_few_bytes_that_tell_much_wait_for_the_core() -> None:
    text = len(json.dumps(prompt(10)))
    out = WrittenRun(LinkLimits(window_bytes=3 * text - 1))
    messages = [reached(prompt(10), f"b{number}") for number in range(5)]
    out.write(*messages)
    assert out.receive() == messages[:3]
    out.acknowledge(2)
    out.write()
    assert out.receive() == messages[:4]
    out.acknowledge(5)
    out.write()
    assert out.receive() == messages


def test_what_the_core_keeps_counts_as_delivered_while_the_rest_is_written() -> None:
    out = WrittenRun()
    messages = [reached(prompt(10), f"b{number}") for number in range(4)]
    out.protocol.accept_items(out.run, [MessageBatch((message,), 0) for message in messages], 0.0)
    left: list[int] = []
    while out.protocol.data_to_send(0.0) is not None:
        left.append(out.run.undelivered_count)
        out.acknowledge(len(left) + 1)
    assert left == [4, 3, 2, 1]
    assert out.run.undelivered_count == 0


@both
def test_prompts_arrive_as_they_were(stepper_kind: str, core: ScriptedCore) -> None:
    async def scenario(dbg: Any) -> None:
        for count in range(3, 30):
            async with dbg.llm(prompt(count)) as query:
                query.response = {"role": "assistant", "content": "é" * 700}

    run(stepper_kind, core, scenario)
    peer = core.wait_for_peer()
    asked = [event.id for event in peer.events if event.kind is EventKind.LLM_QUERY]
    points = [point for point in peer.halt_points if point.event in asked]
    begun = [point for point in points if point.side is EventSide.BEGIN]
    assert [json.loads(bytes(cast(Raw, each.data))) for each in begun] == [
        prompt(count) for count in range(3, 30)
    ]
    pieces = b"".join(peer.decoder._memory.pieces.values())
    assert len(pieces) < 2 * len(json.dumps(prompt(30)))


# ---- a Core that forgot ------------------------------------------------------------------------------


class Forgetful(DeltaDecoder):
    """Forgets all at the sixth content of the first connection."""

    forgot = False
    made = 0

    def __init__(self, **limits: int) -> None:
        super().__init__(**limits)
        Forgetful.made += 1
        self._decoded = 0

    def decode(self, encoded: EncodedContent) -> bytes:
        self._decoded += 1
        if self._decoded == 6 and not Forgetful.forgot:
            Forgetful.forgot = True
            self._memory = DeltaDecoder()._memory
            with pytest.raises(ProtocolError, match="has no content"):
                super().decode(encoded)
        return super().decode(encoded)


@pytest.fixture
def forgetful(monkeypatch: pytest.MonkeyPatch) -> type[Forgetful]:
    monkeypatch.setattr(agents_v2, "DeltaDecoder", Forgetful)
    monkeypatch.setattr(Forgetful, "forgot", False)
    monkeypatch.setattr(Forgetful, "made", 0)
    return Forgetful


@both
@pytest.mark.parametrize("steps", [True, False], ids=["stepped", "continued"])
def test_a_core_that_forgot_is_told_again(
    stepper_kind: str,
    steps: bool,
    forgetful: type[Forgetful],
    live: AgentStepperCore,
    person: LiveView,
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def scenario(dbg: Any) -> list[Any]:
        answers = []
        for count in range(3, 13):
            async with dbg.llm(prompt(count)) as query:
                query.response = prompt(count)[-1]
            answers.append(query.prompt)
        return answers

    caplog.set_level(logging.WARNING)
    with ThreadPoolExecutor(1) as pool:
        core = cast(ScriptedCore, SimpleNamespace(port=live.client_port))
        working = pool.submit(run, stepper_kind, core, scenario)
        for _ in range(21 if steps else 0):
            person.step()
        if not steps:
            person.wait_until_halted()
            person.resume()
        assert working.result(TIMEOUT_S) == [prompt(count) for count in range(3, 13)]
    assert (forgetful.forgot, forgetful.made) == (True, 2)
    assert "an agent's connection is closed: This connection has no content" in caplog.text
    person.wait_until_ended()
    rows = person.list_rows()
    assert [row.seq for row in rows] == list(range(1, 23))
    asked = [row for row in rows if (row.kind, row.side) == (EventKind.LLM_QUERY, EventSide.BEGIN)]
    assert [person.get_data(row) for row in asked] == [prompt(count) for count in range(3, 13)]
