"""A Jupyter server of its own with coding sessions, whose model does what it is told."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from tornado.httpclient import AsyncHTTPClient, HTTPResponse
from tornado.websocket import websocket_connect

from tests.e2e.jupyter import BASE_URL, Server
from tests.server.coding import CodingApi
from tests.server.peers import SocketView

#: A model that does what it is told.
SCRIPT = """
from agentstepper_nb.models.scripted import ScriptedCall, PauseFault, ScriptRule, Script, say, where


def starts_with(word):
    def starts(request):
        newest = request.messages[-1]
        return newest.role == "user" and newest.text.startswith(word)

    return where(word, starts)


def command(request):
    return say("I run it.", ScriptedCall("run_command", {"command": request.messages[-1].text[4:]}))


def report(request):
    return say("It said: " + request.messages[-1].text)


script = Script(
    "obedient",
    [
        ScriptRule(where("answered", lambda request: request.messages[-1].role == "tool"), report),
        ScriptRule(starts_with("run "), command),
        ScriptRule(starts_with("count"), lambda request: say(f"{len(request.messages)} messages.")),
        ScriptRule(starts_with("hang"), say("I begin to think."), PauseFault("never", pieces_sent=2)),
        ScriptRule(starts_with("hello"), say("Hello to you.")),
    ],
)
"""


class LiveServer:
    """A server and what a person knows of it."""

    def __init__(self, home: Path) -> None:
        (home / "scripts").mkdir()
        (home / "scripts" / "obedient.py").write_text(SCRIPT)
        self.server = Server(home, lab=False)
        jupyter = self.jupyter = self.server.jupyter
        (jupyter.folder / "repo").mkdir()
        self.create_options = {"workspacePath": "repo", "provider": "scripted", "model": "obedient"}
        self.headers = {"Authorization": f"token {jupyter.token}"}
        port = urlsplit(jupyter.url).port
        assert port is not None
        self.api = CodingApi(self.fetch, port, BASE_URL, self.headers)

    async def fetch(self, *path: str, **sent: Any) -> HTTPResponse:
        url = self.jupyter.url + "/".join(quote(part, safe="") for part in path)
        client = AsyncHTTPClient(force_instance=True)
        try:
            return await client.fetch(url, headers=self.headers, request_timeout=60, **sent)
        finally:
            client.close()

    async def create(self, **changed: Any) -> str:
        response = await self.api("POST", **self.create_options, **changed)
        assert response.code == 201
        return str(json.loads(response.body)["id"])

    async def view(self) -> SocketView:
        address = f"{self.jupyter.url.replace('http', 'ws', 1)}agentstepper/ui"
        socket = await websocket_connect(
            f"{address}?token={self.jupyter.token}", subprotocols=["agentstepper.v2"]
        )
        view = SocketView(socket)
        await view.exchange_hello()
        return view

    async def run_of(self, session: str) -> str:
        """A session's run in the debugger."""
        listed = json.loads((await self.api("GET")).body)["sessions"]
        (run,) = [each["run"] for each in listed if each["id"] == session]
        return str(run)

    def workers(self) -> list[int]:
        """The process of each worker that was started, oldest first."""
        found = re.findall(r"the worker is started, process (\d+)", self.jupyter.log.read_text())
        return [int(pid) for pid in found]

    def kill_worker(self) -> int:
        """Kill the one that runs; gives its process."""
        worker = self.workers()[-1]
        os.kill(worker, signal.SIGKILL)
        return worker

    def close_session(self, session: str) -> None:
        """Close a session, from outside of a loop."""
        asyncio.run(self.api("DELETE", session))

    def log(self, session: str) -> Path:
        """A session's log."""
        return self.jupyter.data / "agentstepper" / "coding" / "sessions" / f"{session}.jsonl"


async def close_and_wait(view: SocketView) -> None:
    """Close a view, and wait until its socket is closed."""
    view.socket.close()
    while await view.socket.read_message() is not None:
        pass
