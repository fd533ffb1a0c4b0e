"""A client that is closed as soon as it is open leaves no connection behind."""

from __future__ import annotations

from websockets.protocol import State

from agentstepper_nb import AgentStepperCore, AsyncAgents


async def test_a_client_that_is_closed_at_once_closes_its_connection() -> None:
    with AgentStepperCore("127.0.0.1", client_port=0, ui_port=None) as core:
        agents = await AsyncAgents.connect(f"ws://127.0.0.1:{core.client_port}")
        await agents.close()  # before what keeps it connected has begun
        assert agents._core._connection._first._socket.state is State.CLOSED
