"""`python -m bench.viewer PORT [SUBPROTOCOL]`: one UI in a process of its own.

It reads whatever comes, and at a halt opens the run and presses Continue. It says when it is connected,
and ends with its input.
"""

from __future__ import annotations

import asyncio
import sys

import msgspec
from websockets.asyncio.client import ClientConnection, connect
from websockets.typing import Subprotocol

from agentstepper_nb.protocol import ui as v2
from agentstepper_nb.protocol.envelope import MAX_MESSAGE_BYTES, SUBPROTOCOL, VERSION

from .access import CONTROL

#: The word both versions have for it stands within the first characters of a message.
_HALTED_WORD, _HEAD_CHARS = '"halted"', 600


async def run_view(port: int, subprotocol: str | None) -> None:
    async with connect(
        f"ws://127.0.0.1:{port}",
        additional_headers=CONTROL,
        subprotocols=[Subprotocol(subprotocol)] if subprotocol else None,
        compression=None,
        max_size=MAX_MESSAGE_BYTES,
        ping_timeout=None,
    ) as socket:
        if subprotocol:
            await socket.send(v2.from_ui.encode(v2.UiHello(version=VERSION, client="bench"), 1))
        print("connected", flush=True)
        reading = asyncio.create_task(_resume_halted_runs(socket, subprotocol == SUBPROTOCOL))
        await asyncio.to_thread(sys.stdin.read)
        reading.cancel()


async def _resume_halted_runs(socket: ClientConnection, is_v2: bool) -> None:
    async for message in socket:
        assert isinstance(message, str)
        if _HALTED_WORD in message[:_HEAD_CHARS]:
            for command in _continue_v2(message) if is_v2 else _continue_v1(message):
                await socket.send(command)


def _continue_v1(message: str) -> list[str]:
    run = msgspec.json.decode(message)["content"]["run"]
    return [msgspec.json.encode({"event": "continue", "content": {"run": run}}).decode()]


def _continue_v2(message: str) -> list[str]:
    _, changed = v2.to_ui.decode(message)
    if not isinstance(changed, v2.RunChanged):
        return []
    run = changed.run.id
    return [
        v2.from_ui.encode(v2.OpenRun(run=run), 2, "open"),
        v2.from_ui.encode(v2.ContinueRun(run=run), 3, "continue"),
    ]


if __name__ == "__main__":
    asyncio.run(run_view(int(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else None))
