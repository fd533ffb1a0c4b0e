"""The floor: what any debugger on WebSockets must pay.

A bare echo on the same server library, with the same options and reads of the same size, on an event
loop in a thread of its own. It also sends the message and a small state frame to one connected UI, in
the Core's order. It parses nothing, keeps nothing and decides nothing.
"""

from __future__ import annotations

import asyncio
import threading

from websockets.asyncio.server import Server, ServerConnection, broadcast, serve

from agentstepper_nb.hub.sockets import READ_BYTES
from agentstepper_nb.protocol.envelope import MAX_MESSAGE_BYTES

from .conversation import EVENT_PREFIX

#: What stands for version 1's `update_run_state`, as long as a real one.
STATE_MESSAGE = (
    '{"event":"update_run_state","content":{"run":"019aa8f0-6b6e-7000-8000-000000000000",'
    '"state":"continue","agentState":"LLM thinking...","haltedAt":null}}'
)


class EchoServer:
    """The bare echo, started and stopped as `AgentStepperCore` is."""

    def __init__(self) -> None:
        self.client_port = 0
        self.ui_port = 0
        self._uis: set[ServerConnection] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def start(self) -> None:
        """Start, and return once both ports listen."""
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._start(), self._loop).result()

    def stop(self) -> None:
        """End the loop and with it every connection."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    async def _start(self) -> None:
        options = {"compression": None, "max_size": MAX_MESSAGE_BYTES, "ping_timeout": None}
        agents = await serve(self._on_agent, "127.0.0.1", 0, **options)  # type: ignore[arg-type]
        uis = await serve(self._on_ui, "127.0.0.1", 0, **options)  # type: ignore[arg-type]
        self.client_port, self.ui_port = _port(agents), _port(uis)

    async def _on_agent(self, socket: ServerConnection) -> None:
        _set_core_read_size(socket)
        async for message in socket:
            assert isinstance(message, str)
            if message.startswith(EVENT_PREFIX):
                continue
            broadcast([socket], message)
            broadcast(self._uis, message)
            broadcast(self._uis, STATE_MESSAGE)

    async def _on_ui(self, socket: ServerConnection) -> None:
        _set_core_read_size(socket)
        self._uis.add(socket)
        await socket.wait_closed()
        self._uis.discard(socket)


def _set_core_read_size(socket: ServerConnection) -> None:
    """Else the Core's ratio would be flattered by what it saves on reading."""
    if hasattr(socket.transport, "max_size"):
        socket.transport.max_size = READ_BYTES


def _port(server: Server) -> int:
    return int(next(iter(server.sockets)).getsockname()[1])
