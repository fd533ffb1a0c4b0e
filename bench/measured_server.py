"""An arm: one server, one UI and one agent, each in a process or thread of its own, ready to measure."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from websockets.sync.client import ClientConnection, connect
from websockets.typing import Subprotocol

from agentstepper_nb.protocol.envelope import MAX_MESSAGE_BYTES, SUBPROTOCOL

from .access import CONTROL
from .conversation import (
    ROUND_TRIPS,
    Conversation,
    ConversationV1,
    ConversationV2,
    EncodedTurn,
    encode_turns,
)


@dataclass(frozen=True)
class Setup:
    """What an arm measures."""

    name: str
    store: str  # how bench.server keeps runs; "" for the floor, which keeps nothing
    subprotocol: str | None
    conversation: Callable[[int], Conversation]


FLOOR = Setup("floor", "", None, ConversationV1)
STORES = ("memory", "relaxed", "durable")
VERSION_1 = tuple(Setup(f"version 1, {store}", store, None, ConversationV1) for store in STORES)
VERSION_2 = tuple(
    Setup(f"version 2, {store}", store, SUBPROTOCOL, ConversationV2) for store in STORES
)
#: What comes to an agent of version 2 by itself, and answers nothing.
_UNSOLICITED = re.compile(r'"type":"(acknowledged|lease)"')


class MeasuredAgent:
    """A connected agent whose run continues, at one size of body."""

    def __init__(self, socket: ClientConnection, conversation: Conversation) -> None:
        self._socket = socket
        self._conversation = conversation

    def measure_block(self, count: int) -> list[float]:
        """Seconds a round trip, of `count` turns."""
        prepared = list(encode_turns(self._conversation, count))
        return [self._time_turn(turn) for turn in prepared]

    def _time_turn(self, turn: EncodedTurn) -> float:
        send = self._socket.send
        begin = time.perf_counter()
        send(turn.event)
        send(turn.begin)
        self._receive_answer()
        send(turn.end)
        self._receive_answer()
        return (time.perf_counter() - begin) / ROUND_TRIPS

    def _receive_answer(self) -> None:
        while _UNSOLICITED.search(str(self._socket.recv()[:40])):
            pass


@contextmanager
def start_agent(kind: Setup, size: int) -> Iterator[MeasuredAgent]:
    """Start an arm's processes, connect its agent and let its run continue.

    Args:
        kind: What is measured.
        size: Of each body, in bytes.
    """
    with ExitStack() as stack:
        client_port, ui_port = json.loads(stack.enter_context(start_process("server", kind.store)))
        more = [kind.subprotocol] if kind.subprotocol else []
        stack.enter_context(start_process("viewer", str(ui_port), *more))
        socket = stack.enter_context(_connect(client_port, kind.subprotocol))
        conversation = kind.conversation(size)
        _send_opening(socket, conversation)
        yield MeasuredAgent(socket, conversation)


def _connect(port: int, subprotocol: str | None) -> ClientConnection:
    return connect(
        f"ws://127.0.0.1:{port}",
        additional_headers=CONTROL,
        subprotocols=[Subprotocol(subprotocol)] if subprotocol else None,
        compression=None,
        max_size=MAX_MESSAGE_BYTES,
        proxy=None,
        ping_timeout=None,
    )


def _send_opening(socket: ClientConnection, conversation: Conversation) -> None:
    """Send the opening; hello's answer is passed over, the halt point's ends it."""
    for message in conversation.opening():
        socket.send(message)
    while "breakpoint" not in socket.recv()[:80]:
        pass


@contextmanager
def start_process(module: str, *arguments: str, python: str = sys.executable) -> Iterator[str]:
    """A module of the bench in a process of its own, and its first line; it ends with its input."""
    command = [python, "-m", f"bench.{module}", *arguments]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    with process:
        assert process.stdout
        yield process.stdout.readline()
