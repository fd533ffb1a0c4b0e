"""A Core on two free ports, and peers that connect to it and hang up in the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from websockets.sync.client import ClientConnection, connect

from agentstepper_nb.hub import AgentStepperCore
from agentstepper_nb.hub.limits import DEFAULT_HUB_LIMITS, HubLimits
from agentstepper_nb.protocol.envelope import SUBPROTOCOL
from tests.hub.socket_agents import AgentV1, AgentV2, SocketAgent
from tests.hub.socket_uis import SocketView, ViewV1, ViewV2


class SocketHarness:
    """A started Core and whoever talks to it."""

    def __init__(self, core: AgentStepperCore, stack: ExitStack) -> None:
        self.core = core
        self._stack = stack

    def socket(
        self, port: int, version: int = 1, path: str = "", **options: Any
    ) -> ClientConnection:
        """Connect, as the original does (no path, no subprotocol) or as version 2.

        The port's token goes along, unless other headers are given.
        """
        tokens = self.core.tokens
        token = tokens.agent if port == self.core.client_port else tokens.control
        options.setdefault("additional_headers", {"Authorization": f"Bearer {token}"})
        protocols = [SUBPROTOCOL] if version == 2 else None
        plain: dict[str, Any] = {"proxy": None, "compression": None, "ping_interval": None}
        # What nobody reads must not keep the socket from closing.
        plain |= {"max_size": None, "max_queue": None} | options
        url = f"ws://127.0.0.1:{port}{path}"
        return self._stack.enter_context(connect(url, subprotocols=protocols, **plain))

    def agent(self, version: int = 2, **options: Any) -> SocketAgent:
        """An agent that has connected and said nothing yet."""
        socket = self.socket(self.core.client_port, version, **options)
        return AgentV1(socket) if version == 1 else AgentV2(socket)

    def started(self, version: int = 2, program: str = "P") -> SocketAgent:
        """An agent whose program has started."""
        agent = self.agent(version)
        agent.start(program)
        return agent

    def ui(self, version: int = 2, **options: Any) -> SocketView:
        """A UI that has its snapshot."""
        socket = self.socket(self.core.ui_port, version, **options)
        ui = ViewV1(socket) if version == 1 else ViewV2(socket)
        ui.connect()
        return ui


def limited_core(limits: HubLimits) -> type[AgentStepperCore]:
    """An `AgentStepperCore` that has these limits."""
    return type("AgentStepperCore", (AgentStepperCore,), {"_limits": limits})


@pytest.fixture
def new_socket_harness() -> Iterator[Callable[..., SocketHarness]]:
    """Start a Core."""
    with ExitStack() as stack:

        def start(limits: HubLimits = DEFAULT_HUB_LIMITS, **options: Any) -> SocketHarness:
            core = limited_core(limits)(**{"client_port": 0, "ui_port": 0} | options)
            stack.enter_context(core)
            # Peers hang up before the Core stops.
            return SocketHarness(core, stack.enter_context(ExitStack()))

        yield start


@pytest.fixture
def socket_harness(new_socket_harness: Callable[..., SocketHarness]) -> SocketHarness:
    return new_socket_harness()


@pytest.fixture
def wire() -> Path:
    """What was recorded of the original."""
    return Path(__file__).parents[1] / "wire"
