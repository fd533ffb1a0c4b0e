"""What the original's agents hear of a Core that ends their connection.

Its client reads in a thread, which ends at a message that is no halt point, and takes a connection that
is closed with 1000 or 1001 for the usual end: in both cases the agent waits for its answer for ever.
"""

from __future__ import annotations

import json
import threading

import pytest
from websockets.exceptions import ConnectionClosedError
from websockets.sync.client import ClientConnection

from agentstepper_nb.protocol.store_info import StoreInfo
from agentstepper_nb.store import MemoryStore
from tests.hub.conftest import SocketHarness
from tests.hub.harness import FakeConnection, open_hub
from tests.hub.socket_agents import AgentV1, Json


class OriginalReader(threading.Thread):
    """Reads as the original's client does."""

    def __init__(self, socket: ClientConnection) -> None:
        super().__init__(daemon=True)
        self.error: ConnectionClosedError | None = None
        self._socket = socket
        self.start()

    def run(self) -> None:
        try:
            for message in self._socket:
                assert json.loads(message)["message"] == "breakpoint"
        except ConnectionClosedError as error:
            self.error = error

    def wait_until_lost(self) -> tuple[int, str]:
        """The code and the reason that the connection was lost with."""
        self.join(30)
        assert self.error is not None, "the client goes on waiting"
        assert self.error.rcvd is not None
        return self.error.rcvd.code, self.error.rcvd.reason


def an_agent(socket_harness: SocketHarness) -> AgentV1:
    agent = socket_harness.agent(1)
    assert isinstance(agent, AgentV1)
    return agent


def test_a_core_that_stops_is_a_lost_connection(socket_harness: SocketHarness) -> None:
    halted, silent = an_agent(socket_harness), an_agent(socket_harness)
    readers = [OriginalReader(halted.socket), OriginalReader(silent.socket)]
    halted.start()
    ui = socket_harness.ui(1)
    ui.wait_until_halted(ui.find_run("P"), halted.begin_query())
    socket_harness.core.stop()
    assert [reader.wait_until_lost() for reader in readers] == [(1011, "The Core is stopping.")] * 2


async def test_an_agent_that_connects_while_the_core_stops_is_let_go() -> None:
    hub, line = await open_hub(), FakeConnection()
    await hub.close()
    hub.connect_agent(line, 1)
    assert line.closed_with == (1011, "The Core is stopping.")


#: As `AgentStepper(42, …)` sends them: the name stands in each halt point but the first.
NAMED_42 = {"uuid": "b", "agent": 42, "event_id": "e", "time": 1.0, "original_data": "hi"}
OF_NO_EVENT = NAMED_42 | {"agent": "A", "event_id": "none"}


@pytest.mark.parametrize(
    ("halt_point", "code"), [(NAMED_42, "invalid_message"), (OF_NO_EVENT, "unknown_event")]
)
def test_a_refused_breakpoint_is_a_lost_connection(
    socket_harness: SocketHarness, halt_point: Json, code: str
) -> None:
    agent, ui = an_agent(socket_harness), socket_harness.ui(2)
    agent.start()
    reader = OriginalReader(agent.socket)
    run = ui.find_run("P")
    agent.begin(uuid="e")
    agent.send_message("breakpoint", halt_point)
    assert reader.wait_until_lost()[0] == 1011
    assert reader.wait_until_lost()[1].startswith(f"{code}: ")
    ended = ui.wait_for_state(run, "idle")
    assert (ended["ending"], ended["failure"]["type"]) == ("lost", "MessageRefused")


class FullStore(MemoryStore):
    """A store on a full disk."""

    is_write_blocked = True


async def test_a_program_that_starts_on_a_full_disk_is_let_go() -> None:
    hub, line = await open_hub(FullStore()), FakeConnection()
    hub.store.on_write_trouble(StoreInfo(kind="sqlite", trouble="the disk is full."))
    agent = hub.connect_agent(line, 1)
    started = '{"uuid": "e", "type": "PROGRAM_STARTED", "time": 1.0, "data": "P"}'
    agent.receive(f'{{"message": "event", "data": {started}}}')
    assert line.closed_with is not None
    code, reason = line.closed_with
    assert code == 1011
    assert reason.startswith("store_failed: ")
    assert line.sent == []
    agent.receive(f'{{"message": "event", "data": {started}}}')  # it was on its way
    assert hub.runs() == []
    await hub.close()
