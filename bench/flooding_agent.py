"""How long a halted agent waits for a Step while another agent sends as fast as it can.

`python -m bench.flooding_agent PORT` is that other one; it ends with its input.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from contextlib import ExitStack, suppress

from msgspec import Raw
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection

from agentstepper_nb.protocol import agent as v2
from agentstepper_nb.protocol.data_model import EventKind

from .leased_agent import LeasedConversation, ViewClient, open_socket
from .many_agents import BODY_BYTES, HaltedAgent
from .measured_server import start_process


def measure(steps: int) -> list[float]:
    """Seconds from each Step until the agent had its answer."""
    with ExitStack() as stack:
        agents, uis = json.loads(stack.enter_context(start_process("server", "durable")))
        stack.enter_context(start_process("flooding_agent", str(agents)))
        view = ViewClient(stack.enter_context(open_socket(uis)))
        halted = HaltedAgent(stack.enter_context(open_socket(agents)), view)
        return [halted.time_step() for _ in range(steps)]


def flood(port: int) -> None:
    """Post debug messages until the input ends."""
    with suppress(ConnectionClosed), open_socket(port) as socket:
        conversation = LeasedConversation(BODY_BYTES)
        for message in conversation.opening():
            socket.send(message)
        threading.Thread(target=_discard_messages, args=(socket,), daemon=True).start()
        threading.Thread(target=_end_with_input, daemon=True).start()
        print("started", flush=True)
        number = conversation.sent_count
        while True:
            number += 1
            event = v2.EventBegun(
                id=f"e{number}",
                kind=EventKind.DEBUG_MESSAGE,
                at=1.0,
                clock=1.0,
                data=Raw(b'"look"'),
            )
            socket.send(v2.from_agent.encode(event, number))


def _discard_messages(socket: ClientConnection) -> None:
    with suppress(ConnectionClosed):
        while True:
            socket.recv()


def _end_with_input() -> None:
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    flood(int(sys.argv[1]))
