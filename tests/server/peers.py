"""An agent and a view that speak version 2 over a live socket."""

from __future__ import annotations

import os
import uuid
from typing import Any

import msgspec
from msgspec import Raw, Struct
from tornado.websocket import WebSocketClientConnection

from agentstepper_nb.protocol import agent as agent_wire
from agentstepper_nb.protocol import ui as ui_wire
from agentstepper_nb.protocol.data_model import EventKind, EventSide, RunEnding
from agentstepper_nb.protocol.delta_decoding import decode_contents
from agentstepper_nb.protocol.delta_encoding import DeltaDecoder
from agentstepper_nb.protocol.envelope import VERSION, MessageTable


class SocketClosed(Exception):
    """The server closed the socket."""

    def __init__(self, code: int | None, reason: str | None) -> None:
        super().__init__(f"{code} {reason}")
        self.code = code
        self.reason = reason


class SocketPeer:
    """One end of a socket of version 2."""

    def __init__(
        self, socket: WebSocketClientConnection, out: MessageTable, back: MessageTable
    ) -> None:
        self.socket = socket
        self._out = out
        self._back = back
        self._decoder = DeltaDecoder()
        self._sent = 0

    async def send(self, message: Struct, id: str | None = None) -> None:
        self._sent += 1
        await self.socket.write_message(self._out.encode(message, self._sent, id))

    async def receive_text(self) -> str:
        """The next message as it came."""
        message = await self.socket.read_message()
        if message is None:
            raise SocketClosed(self.socket.close_code, self.socket.close_reason)
        assert isinstance(message, str)
        return message

    async def receive(self) -> Any:
        _, message = self._back.decode(await self.receive_text())
        return decode_contents(message, self._decoder)

    async def expect(self, kind: type) -> Any:
        """The next message of a kind; those before it are passed over."""
        while True:
            message = await self.receive()
            if isinstance(message, kind):
                return message


class SocketAgent(SocketPeer):
    """A program with one event."""

    def __init__(self, socket: WebSocketClientConnection) -> None:
        super().__init__(socket, agent_wire.from_agent, agent_wire.to_agent)
        self.run = str(uuid.uuid4())

    async def exchange_hello(self, program: str = "test") -> None:
        await self.send(
            agent_wire.Hello(
                version=VERSION,
                sdk="test",
                program=program,
                run=self.run,
                secret="s",
                pid=os.getpid(),
                host="here",
                boot="",
            )
        )
        await self.expect(agent_wire.Welcome)

    async def begin_query(self, prompt: object = "Hi") -> str:
        """Begin an LLM query and reach its halt point, which waits."""
        event, halt_point = str(uuid.uuid4()), str(uuid.uuid4())
        await self.send(
            agent_wire.EventBegun(id=event, kind=EventKind.LLM_QUERY, at=0.0, clock=0.0)
        )
        await self.send(
            agent_wire.HaltPointReached(
                id=halt_point,
                event=event,
                side=EventSide.BEGIN,
                waits=True,
                at=0.0,
                clock=0.0,
                data=Raw(msgspec.json.encode(prompt)),
            )
        )
        return halt_point

    async def send_bye(self) -> None:
        await self.send(agent_wire.Bye(ending=RunEnding.FINISHED))


class SocketView(SocketPeer):
    """A view."""

    def __init__(self, socket: WebSocketClientConnection) -> None:
        super().__init__(socket, ui_wire.from_ui, ui_wire.to_ui)

    async def exchange_hello(self) -> ui_wire.CoreHello:
        await self.send(ui_wire.UiHello(version=VERSION, client="test"))
        return await self.expect(ui_wire.CoreHello)

    async def wait_until_pending(self, halt_point: str) -> None:
        """Wait until the Core says that this halt point waits."""
        while halt_point not in (await self.expect(ui_wire.RunChanged)).run.pending:
            pass
