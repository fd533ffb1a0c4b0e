"""A live Jupyter server with the extension, which lets nobody in unasked."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from jupyter_server.auth.authorizer import Authorizer
from tornado.httpclient import HTTPRequest
from tornado.websocket import WebSocketClientConnection, websocket_connect
from traitlets import Set
from traitlets.config import Config

from agentstepper_nb.protocol.envelope import SUBPROTOCOL
from agentstepper_nb.server_ext import AgentStepperExtension
from agentstepper_nb.static_files import STATIC_FOLDER
from tests.helpers.scripted_coding_sessions import ScriptedSessionOpener
from tests.server.agents import ManualSessions, RuntimeApi
from tests.server.coding import CodingApi
from tests.server.coding_worker import SocketWorker
from tests.server.peers import SocketAgent, SocketView

pytest_plugins = ["pytest_jupyter.jupyter_server"]

AGENT_TOKEN = "the-agents-own"
CONTROL_TOKEN = "the-persons-own"

Connect = Callable[..., Awaitable[WebSocketClientConnection]]


class GrantingAuthorizer(Authorizer):
    """Allows the actions it was given on our resource, and all on the others."""

    actions = Set({"read", "execute"}).tag(config=True)

    def is_authorized(self, handler: Any, user: Any, action: str, resource: str) -> bool:
        return resource != "agentstepper" or action in self.actions


@pytest.fixture
def granted() -> set[str]:
    """What a login may do; tests parametrise it."""
    return {"read", "execute"}


@pytest.fixture
def max_message_bytes() -> int:
    """Tests of the limit lower it."""
    return 64 * 1024 * 1024


@pytest.fixture
def coding_traits() -> dict[str, Any]:
    """What the server's config says of coding sessions; tests parametrise it."""
    return {}


@pytest.fixture
def static_folder() -> Path:
    """Where the built files lie; tests of the page have a folder of their own."""
    return STATIC_FOLDER


@pytest.fixture
def jp_server_config(
    tmp_path: Any,
    granted: set[str],
    max_message_bytes: int,
    coding_traits: dict[str, Any],
    static_folder: Path,
) -> Config:
    return Config(
        {
            "ServerApp": {
                "jpserver_extensions": {"agentstepper_nb.server_ext": True},
                "allow_unauthenticated_access": False,
                "authorizer_class": GrantingAuthorizer,
            },
            "GrantingAuthorizer": {"actions": granted},
            "AgentStepperExtension": {
                "data_dir": str(tmp_path / "kept"),
                "agent_token": AGENT_TOKEN,
                "control_token": CONTROL_TOKEN,
                "max_message_bytes": max_message_bytes,
                "static_paths": [str(static_folder)],
                **coding_traits,
            },
        }
    )


@pytest.fixture
def extension(jp_serverapp: Any) -> AgentStepperExtension:
    app = jp_serverapp.extension_manager.extension_points["agentstepper"].app
    assert isinstance(app, AgentStepperExtension)
    return app


@pytest.fixture
def connect(jp_serverapp: Any, http_server_client: Any, jp_base_url: str) -> Iterator[Connect]:
    """Open a WebSocket with exactly the headers given: no login unless it is among them."""
    opened = []

    async def connect(
        path: str, headers: dict[str, str] | None = None, version: int = 2
    ) -> WebSocketClientConnection:
        port = http_server_client.get_http_port()
        url = f"ws://127.0.0.1:{port}{jp_base_url}agentstepper/{path}"
        socket = await websocket_connect(
            HTTPRequest(url, headers=headers or {}),
            subprotocols=[SUBPROTOCOL] if version == 2 else None,
            max_message_size=256 * 1024 * 1024,
        )
        opened.append(socket)
        return socket

    yield connect
    for socket in opened:
        socket.close()


@pytest.fixture
def new_agent(connect: Connect) -> Callable[[], Awaitable[SocketAgent]]:
    """Connect an agent that has said hello."""

    async def new_agent() -> SocketAgent:
        agent = SocketAgent(await connect("agent", {"Authorization": f"Bearer {AGENT_TOKEN}"}))
        await agent.exchange_hello()
        return agent

    return new_agent


@pytest.fixture
def new_ui(connect: Connect, jp_auth_header: dict[str, str]) -> Callable[[], Awaitable[SocketView]]:
    """Connect a view that has not said hello yet."""

    async def new_ui() -> SocketView:
        return SocketView(await connect("ui", dict(jp_auth_header)))

    return new_ui


@pytest.fixture
def agents(
    extension: AgentStepperExtension, http_server_client: Any, jp_base_url: str, jp_auth_header: Any
) -> RuntimeApi:
    """The endpoints of agents, for somebody who is logged in."""
    return RuntimeApi(http_server_client.fetch, jp_base_url, dict(jp_auth_header))


@pytest.fixture
def manual_sessions(extension: AgentStepperExtension) -> ManualSessions:
    """A worker's hand; no worker is started beside it."""
    extension.host.runtime.on_worker_needed = lambda: None
    return ManualSessions(extension.host.runtime, now=1000.0)


# ---- coding sessions -------------------------------------------------------------------------------


@pytest.fixture
def opener() -> ScriptedSessionOpener:
    return ScriptedSessionOpener()


@pytest.fixture
def worker(
    extension: Any,
    connect: Any,
    opener: ScriptedSessionOpener,
    jp_asyncio_loop: asyncio.AbstractEventLoop,
) -> Iterator[SocketWorker]:
    async def connected() -> SocketWorker:
        token = {"Authorization": f"Bearer {extension.tokens.worker}"}
        worker = SocketWorker(await connect("worker", token), opener, Path(extension.data_dir))
        await worker.serve()
        return worker

    worker = jp_asyncio_loop.run_until_complete(connected())
    yield worker
    jp_asyncio_loop.run_until_complete(worker.die())


@pytest.fixture
def api(
    extension: Any, jp_fetch: Any, http_server_client: Any, jp_base_url: str, jp_auth_header: Any
) -> CodingApi:
    return CodingApi(
        jp_fetch, http_server_client.get_http_port(), jp_base_url, dict(jp_auth_header)
    )


@pytest.fixture
def root(jp_root_dir: Path) -> Path:
    (jp_root_dir / "repo").mkdir()
    return jp_root_dir


@pytest.fixture
def how(root: Path) -> dict[str, Any]:
    return {"workspacePath": str(root / "repo"), "provider": "scripted", "model": "jokes"}
