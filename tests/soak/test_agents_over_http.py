"""The real thing: a Jupyter server, the worker it starts, and an agent, over HTTP."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from tornado.httpclient import AsyncHTTPClient

from agentstepper_nb.runtime.client import AsyncAgents
from tests.docs.pages import GUIDE, write_files
from tests.e2e.jupyter import running
from tests.server.agents import Api
from tests.server.live import Live

JOKES = {"subject": "otters", "interval_s": 0.05}


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    live = Live(tmp_path_factory.mktemp("jupyter"))
    with running(live.server):
        yield live


def test_an_agents_life(live: Live) -> None:
    """It is created, guided, loses its worker, comes back, and is ended; each step stands once."""

    async def test() -> None:
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
        token = (live.jupyter.data / "agentstepper" / "control-token").read_text().strip()
        websocket = live.jupyter.url.replace("http", "ws", 1)
        async with AsyncAgents.connect(f"{websocket}agentstepper/agent", token) as agents:
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

    asyncio.run(test())


def test_the_pages_line_with_a_login(live: Live, tmp_path: Any) -> None:
    """The page's program in another language, here in Python."""
    write_files(GUIDE / "background-agents.md", tmp_path)
    url = f"{live.jupyter.url.replace('http', 'ws', 1)}agentstepper/runtime"
    for token, expected in ((live.jupyter.token, 0), ("wrong", 1)):
        command = [sys.executable, "line.py", f"{url}?token={token}", "conversations", "1"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == expected, done.stderr
        assert ("begin" in done.stdout) == (expected == 0)


def over_http(live: Live) -> Api:
    address = urlsplit(live.jupyter.url)

    async def fetch(path: str, **sent: Any) -> Any:
        client = AsyncHTTPClient(force_instance=True)
        try:
            return await client.fetch(f"{address.scheme}://{address.netloc}{path}", **sent)
        finally:
            client.close()

    return Api(fetch, address.path, live.headers)
