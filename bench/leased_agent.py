"""An agent whose halt points don't wait, as the SDK sends them under a lease that lets it go on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from msgspec import Raw
from msgspec.structs import replace
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Subprotocol

from agentstepper_nb.protocol import agent as v2
from agentstepper_nb.protocol import ui
from agentstepper_nb.protocol.data_model import EventSide
from agentstepper_nb.protocol.envelope import MAX_MESSAGE_BYTES, SUBPROTOCOL, VERSION

from .access import CONTROL
from .conversation import ConversationV2, Turn, turns

#: Halt points of one turn: an LLM query has two.
TURN = 2


class LeasedConversation(ConversationV2):
    """Version 2, no halt point waiting."""

    def _halt_point(self, event: str, side: EventSide, data: Raw) -> v2.HaltPointReached:
        return replace(super()._halt_point(event, side, data), waits=False, epoch=1)

    @property
    def sent(self) -> int:
        """The number of its last message."""
        return self._sent


class LeasedAgent:
    """A connected agent whose run goes on without waiting.

    Args:
        socket: Its connection.
        size: Of each prompt and answer, in bytes.
    """

    def __init__(self, socket: ClientConnection, size: int) -> None:
        self._socket = socket
        self._conversation = LeasedConversation(size)
        self._received = 0
        for message in self._conversation.opening():
            socket.send(message)
        self.run: str = self._hear("welcome")["run"]

    def prepare(self, halt_points: int) -> list[Turn]:
        """The next turns, encoded."""
        return list(turns(self._conversation, halt_points // TURN))

    def go(self, prepared: list[Turn]) -> None:
        """Reach these halt points, and wait until the Core says that it keeps them."""
        for turn in prepared:
            for message in turn:
                self._socket.send(message)
        while self._received < self._conversation.sent:
            self._received = self._hear("acknowledged")["received"]

    def _hear(self, type: str) -> dict[str, Any]:
        while (message := json.loads(self._socket.recv()))["type"] != type:
            pass
        body: dict[str, Any] = message["body"]
        return body


class Person:
    """A UI of version 2.

    Args:
        socket: Its connection.
    """

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._sent = 0
        self.ask("hello", ui.UiHello(version=VERSION, client="bench"))

    def say(self, id: str, command: Any) -> None:
        """Send a command."""
        self._sent += 1
        self._socket.send(ui.from_ui.encode(command, self._sent, id))

    def ask(self, id: str, command: Any) -> str:
        """Send a command: its answer's text."""
        self.say(id, command)
        while f'"id":"{id}"' not in (answer := self.hear())[:60]:
            pass
        return answer

    def hear(self) -> str:
        """The next message."""
        return str(self._socket.recv())


@contextmanager
def plugged(port: int) -> Iterator[ClientConnection]:
    """A connection of version 2 to a Core on this machine."""
    with connect(
        f"ws://127.0.0.1:{port}",
        additional_headers=CONTROL,
        subprotocols=[Subprotocol(SUBPROTOCOL)],
        compression=None,
        max_size=MAX_MESSAGE_BYTES,
        proxy=None,
        ping_timeout=None,
    ) as socket:
        yield socket
