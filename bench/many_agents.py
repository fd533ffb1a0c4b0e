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
from .conversation import ConversationV2, EncodedTurn
from .leased_agent import HALT_POINTS_PER_TURN, LeasedConversation, ViewClient, open_socket
from .measured_server import start_process

#: Agents, their processes, halt points a second of each, and bytes of each content.
AGENTS = 50
PROCESSES = 4
RATE = 20
BODY_BYTES = 2_000


def measure(steps: int, agent_count: int = AGENTS) -> list[float]:
    """Seconds from each Step until the agent had its answer.

    Args:
        steps: How often the halted agent is stepped.
        agent_count: How many agents run beside it.
    """
    with ExitStack() as stack:
        agents, uis = json.loads(stack.enter_context(start_process("server", "durable")))
        for number in range(PROCESSES):
            before, after = (agent_count * each // PROCESSES for each in (number, number + 1))
            stack.enter_context(start_process("many_agents", str(agents), str(after - before)))
        socket = stack.enter_context(open_socket(agents))
        view = ViewClient(stack.enter_context(open_socket(uis)))
        halted = HaltedAgent(socket, view)
        return [halted.time_step() for _ in range(steps)]


class HaltedAgent:
    """An agent that halts at each halt point, and the person who steps it."""

    def __init__(self, socket: ClientConnection, view: ViewClient) -> None:
        self._socket = socket
        self._view = view
        self._conversation = ConversationV2(BODY_BYTES)
        self._steps = 0
        hello, event, point = self._conversation.opening()
        socket.send(hello)
        self._run: str = self._receive("welcome")["run"]
        view.request("open", ui.OpenRun(run=self._run))
        socket.send(event)
        self._time_step_at(point)
        self._unsent: list[str] = []

    def time_step(self) -> float:
        """Halt at the next halt point, then step: seconds until the answer is there."""
        if not self._unsent:
            turn: EncodedTurn = self._conversation.next_turn()
            self._socket.send(turn.event)
            self._unsent = [turn.begin, turn.end]
        return self._time_step_at(self._unsent.pop(0))

    def _time_step_at(self, point: str) -> float:
        self._socket.send(point)
        pending = self._wait_for_halt_point()
        self._steps += 1
        begin = time.perf_counter()
        step = ui.StepRun(run=self._run, halt_point=pending, revision=1)
        self._view.send(f"step{self._steps}", step)
        self._receive("answer")
        return time.perf_counter() - begin

    def _wait_for_halt_point(self) -> str:
        while True:
            _, message = ui.to_ui.decode(self._view.receive())
            run = message.run if isinstance(message, ui.RunChanged) else None
            if run is not None and run.id == self._run and run.pending:
                return run.pending[0]

    def _receive(self, type: str) -> dict[str, str]:
        while (message := msgspec.json.decode(self._socket.recv()))["type"] != type:
            pass
        body: dict[str, str] = message["body"]
        return body


# ---- a process of those that go on ------------------------------------------------------------------


async def run_agents(port: int, agents: int) -> None:
    """Run agents until the input ends."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(_run_agent(port)) for _ in range(agents)]
        print("started", flush=True)
        await asyncio.to_thread(sys.stdin.read)
        for task in tasks:
            task.cancel()


async def _run_agent(port: int) -> None:
    async with connect(
        f"ws://127.0.0.1:{port}",
        additional_headers=CONTROL,
        subprotocols=[Subprotocol(SUBPROTOCOL)],
        compression=None,
        max_size=MAX_MESSAGE_BYTES,
        ping_timeout=None,
    ) as socket:
        conversation = LeasedConversation(BODY_BYTES)
        for message in conversation.opening():
            await socket.send(message)
        loop = asyncio.get_running_loop()
        due = loop.time()
        while True:
            # On a machine that is too slow for it, they go slower: what is late isn't made up for.
            due = max(due + HALT_POINTS_PER_TURN / RATE, loop.time())
            await asyncio.sleep(due - loop.time())
            for message in conversation.next_turn():
                await socket.send(message)
            await _wait_until_acknowledged(socket, conversation.sent_count)


async def _wait_until_acknowledged(socket: AsyncConnection, number: int) -> None:
    """Wait until the Core says that it keeps what was sent: more than that is never on its way."""
    while True:
        message = json.loads(await socket.recv())
        if message["type"] == "acknowledged" and message["body"]["received"] >= number:
            return


if __name__ == "__main__":
    asyncio.run(run_agents(int(sys.argv[1]), int(sys.argv[2])))
