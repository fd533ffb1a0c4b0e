"""The real thing: a Jupyter server, the worker it starts, and an agent, over HTTP."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from tornado.httpclient import AsyncHTTPClient

from agentstepper_nb import discover
from agentstepper_nb.runtime.client import AsyncAgents
from tests.docs.pages import GUIDE, write_files
from tests.e2e.jupyter import running
from tests.server.agents import RuntimeApi
from tests.server.live import LiveServer

JOKES = {"subject": "otters", "interval_s": 0.05}


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    live = LiveServer(tmp_path_factory.mktemp("jupyter"))
    with running(live.server):
        yield live


async def test_an_agents_life(live: LiveServer) -> None:
    """It is created, guided, loses its worker, comes back, and is ended; each step stands once."""

    api = over_http(live)
    stage = await api("POST", "conversations", body={"title": "Stage"})
    talk = stage["conversation_id"]
    created = await api.fetch(
        "POST",
        "actions",
        body={
            "kind": "agent_create",
            "agent_id": "a1",
            "session_id": "s1",
            "payload": {"moniker": "joke", "config": JOKES, "conversation_id": talk},
        },
    )
    assert created.code == 201
    websocket = live.jupyter.url.replace("http", "ws", 1)
    async with AsyncAgents.connect(f"{websocket}agentstepper/agent", control_token(live)) as agents:
        await agents.wait_for("s1", iteration=2)
        post = {"text": "foxes", "user_id": "zoë"}
        await api("POST", "conversations", talk, "messages", body=post)
        guided = await agents.wait_for("s1", lambda state: "foxes" in str(state.state))
        live.kill_worker()
        await agents.wait_for("s1", iteration=guided.iteration + 2)
        assert len(live.workers()) == 2
        destroy = {"kind": "agent_destroy", "session_id": "s1"}
        await api("POST", "actions", body=destroy)
        ended = await agents.wait_for("s1", status="stopped")

    steps = (await api("GET", "agent-steps", session_id="s1", limit=1000))["steps"]
    assert [each["iteration"] for each in steps] == list(range(ended.iteration))
    assert [each["guidance"] for each in steps if each["guidance"]] == ["foxes"]
    said = await api("GET", "conversations", talk, "messages", limit=1000)
    jokes = [each["text"] for each in said["messages"] if each["event_type"] == "step"]
    assert jokes == [each["text"] for each in steps]
    actions = (await api("GET", "actions", session_id="s1"))["actions"]
    assert {each["status"] for each in actions} == {"done"}
    (session,) = (await api("GET", "agents", "a1", "sessions"))["sessions"]
    assert (session["status"], session["iteration"]) == ("stopped", ended.iteration)


def test_the_pages_line(live: LiveServer, tmp_path: Path) -> None:
    """The page's program in another language, here in Python, by either token."""
    write_files(GUIDE / "background-agents.md", tmp_path)
    url = f"{live.jupyter.url.replace('http', 'ws', 1)}agentstepper/runtime"
    command = [sys.executable, "line.py", url, "conversations", "1"]

    def listen(token: str) -> subprocess.CompletedProcess[str]:
        environment = os.environ | {discover.CONTROL_TOKEN_VARIABLE: token}
        return subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True
        )

    for token in (control_token(live), live.jupyter.token):
        done = listen(token)
        assert (done.returncode, done.stdout.split()[1:]) == (0, ["begin"]), done.stderr
    refused = listen("wrong")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "InvalidStatus" in refused.stderr


def control_token(live: LiveServer) -> str:
    return (live.jupyter.data / "agentstepper" / discover.CONTROL_TOKEN_FILE).read_text().strip()


def over_http(live: LiveServer) -> RuntimeApi:
    address = urlsplit(live.jupyter.url)

    async def fetch(path: str, **sent: Any) -> Any:
        client = AsyncHTTPClient(force_instance=True)
        try:
            return await client.fetch(f"{address.scheme}://{address.netloc}{path}", **sent)
        finally:
            client.close()

    return RuntimeApi(fetch, address.path, live.headers)
