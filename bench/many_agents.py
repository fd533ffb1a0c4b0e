"""How long a halted agent waits for a Step while 50 others go on, 20 halt points a second each.

`python -m bench.many_agents PORT AGENTS` is one of their processes; it ends with its input.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from contextlib import ExitStack

import msgspec
from websockets.asyncio.client import ClientConnection as AsyncConnection
from websockets.asyncio.client import connect
from websockets.sync.client import ClientConnection
from websockets.typing import Subprotocol

from agentstepper_nb.protocol import ui
from agentstepper_nb.protocol.envelope import MAX_MESSAGE_BYTES, SUBPROTOCOL

from .access import CONTROL
from .conversation import ConversationV2, Turn
from .leased_agent import TURN, LeasedConversation, Person, plugged
from .measured_server import process

#: Agents, their processes, halt points a second of each, and bytes of each content.
AGENTS = 50
PROCESSES = 4
RATE = 20
SIZE = 2_000


def measure(steps: int) -> list[float]:
    """Seconds from each Step until the agent had its answer."""
    with ExitStack() as stack:
        agents, uis = json.loads(stack.enter_context(process("server", "durable")))
        for number in range(PROCESSES):
            share = AGENTS * (number + 1) // PROCESSES - AGENTS * number // PROCESSES
            stack.enter_context(process("many_agents", str(agents), str(share)))
        socket = stack.enter_context(plugged(agents))
        person = Person(stack.enter_context(plugged(uis)))
        halted = Halted(socket, person)
        return [halted.step() for _ in range(steps)]


class Halted:
    """An agent that halts at each halt point, and the person who steps it."""

    def __init__(self, socket: ClientConnection, person: Person) -> None:
        self._socket = socket
        self._person = person
        self._conversation = ConversationV2(SIZE)
        self._steps = 0
        hello, event, point = self._conversation.opening()
        socket.send(hello)
        self._run: str = self._hear("welcome")["run"]
        person.ask("open", ui.OpenRun(run=self._run))
        socket.send(event)
        self._step(point)
        self._left: list[str] = []

    def step(self) -> float:
        """Halt at the next halt point, then step: seconds until the answer is there."""
        if not self._left:
            turn: Turn = self._conversation.turn()
            self._socket.send(turn.event)
            self._left = [turn.begin, turn.end]
        return self._step(self._left.pop(0))

    def _step(self, point: str) -> float:
        self._socket.send(point)
        pending = self._pending()
        self._steps += 1
        begin = time.perf_counter()
        step = ui.StepRun(run=self._run, halt_point=pending, revision=1)
        self._person.say(f"step{self._steps}", step)
        self._hear("answer")
        return time.perf_counter() - begin

    def _pending(self) -> str:
        while True:
            _, told = ui.to_ui.decode(self._person.hear())
            if isinstance(told, ui.RunChanged) and told.run.id == self._run and told.run.pending:
                return told.run.pending[0]

    def _hear(self, type: str) -> dict[str, str]:
        while (message := msgspec.json.decode(self._socket.recv()))["type"] != type:
            pass
        body: dict[str, str] = message["body"]
        return body


# ---- a process of those that go on ------------------------------------------------------------------


async def busy(port: int, agents: int) -> None:
    """Run agents until the input ends."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(_agent(port)) for _ in range(agents)]
        print("started", flush=True)
        await asyncio.to_thread(sys.stdin.read)
        for task in tasks:
            task.cancel()


async def _agent(port: int) -> None:
    async with connect(
        f"ws://127.0.0.1:{port}",
        additional_headers=CONTROL,
        subprotocols=[Subprotocol(SUBPROTOCOL)],
        compression=None,
        max_size=MAX_MESSAGE_BYTES,
        ping_timeout=None,
    ) as socket:
        conversation = LeasedConversation(SIZE)
        for message in conversation.opening():
            await socket.send(message)
        loop = asyncio.get_running_loop()
        due = loop.time()
        while True:
            # On a machine that is too slow for it, they go slower: what is late isn't made up for.
            due = max(due + TURN / RATE, loop.time())
            await asyncio.sleep(due - loop.time())
            for message in conversation.turn():
                await socket.send(message)
            await _kept(socket, conversation.sent)


async def _kept(socket: AsyncConnection, number: int) -> None:
    """Wait until the Core says that it keeps what was sent: more than that is never on its way."""
    while True:
        message = json.loads(await socket.recv())
        if message["type"] == "acknowledged" and message["body"]["received"] >= number:
            return


if __name__ == "__main__":
    asyncio.run(busy(int(sys.argv[1]), int(sys.argv[2])))
