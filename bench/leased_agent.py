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
from .conversation import ConversationV2, EncodedTurn, encode_turns

#: Halt points of one turn: an LLM query has two.
HALT_POINTS_PER_TURN = 2


class LeasedConversation(ConversationV2):
    """Version 2, no halt point waiting."""

    def _halt_point(self, event: str, side: EventSide, data: Raw) -> v2.HaltPointReached:
        return replace(super()._halt_point(event, side, data), waits=False, epoch=1)

    @property
    def sent_count(self) -> int:
        """The number of its last message."""
        return self._sent_count


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
        self.run: str = self._receive("welcome")["run"]

    def prepare(self, halt_points: int) -> list[EncodedTurn]:
        """The next turns, encoded."""
        return list(encode_turns(self._conversation, halt_points // HALT_POINTS_PER_TURN))

    def send_turns(self, prepared: list[EncodedTurn]) -> None:
        """Reach these halt points, and wait until the Core says that it keeps them."""
        for turn in prepared:
            for message in turn:
                self._socket.send(message)
        while self._received < self._conversation.sent_count:
            self._received = self._receive("acknowledged")["received"]

    def _receive(self, type: str) -> dict[str, Any]:
        while (message := json.loads(self._socket.recv()))["type"] != type:
            pass
        body: dict[str, Any] = message["body"]
        return body


class ViewClient:
    """A UI of version 2.

    Args:
        socket: Its connection.
    """

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._sent = 0
        self.request("hello", ui.UiHello(version=VERSION, client="bench"))

    def send(self, id: str, command: Any) -> None:
        """Send a command."""
        self._sent += 1
        self._socket.send(ui.from_ui.encode(command, self._sent, id))

    def request(self, id: str, command: Any) -> str:
        """Send a command: its answer's text."""
        self.send(id, command)
        while f'"id":"{id}"' not in (answer := self.receive())[:60]:
            pass
        return answer

    def receive(self) -> str:
        """The next message."""
        return str(self._socket.recv())


@contextmanager
def open_socket(port: int) -> Iterator[ClientConnection]:
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
