"""Cells that run agents, and a spy that tells from inside the kernel what it is doing."""

from __future__ import annotations

import json
import urllib.request
from pathlib import Path
from typing import Any

#: Prepares the sample project in a folder, its model, and a gate that holds the tool `run_tests`.
#: The spy answers on a thread of its own: it sees the main thread's stack while that is blocked.
SETUP = """
import http.server, json, sys, threading, traceback
from pathlib import Path
import fix_tests as agent
from openai import OpenAI
from agentstepper_nb.models.scripted import ScriptedServer, load_script

folder = agent.prepare(Path({folder!r}))
model = ScriptedServer(load_script("fix_tests")).start()
client = OpenAI(base_url=model.base_url, api_key="offline")
ran, gate, enough = [], threading.Event(), threading.Event()
gate.set()

run_tests = agent.TOOLS["run_tests"]
def gated(folder):
    gate.wait()
    return run_tests(folder)
gated.__name__, gated.__doc__ = "run_tests", run_tests.__doc__
agent.TOOLS["run_tests"] = gated

class Spy(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        acts = {{"/open": gate.set, "/close": gate.clear, "/enough": enough.set}}
        acts.get(self.path, lambda: None)()
        frame = sys._current_frames()[threading.main_thread().ident]
        stack = [f"{{each.filename}}:{{each.name}}" for each in traceback.extract_stack(frame)]
        body = json.dumps({{"stack": stack, "ran": ran}}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_): pass

spy = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Spy)
threading.Thread(target=spy.serve_forever, daemon=True).start()
Path({port!r}).write_text(str(spy.server_address[1]))
%load_ext agentstepper_nb
"""

#: Says that a cell ran which was queued behind the agent's.
QUEUED = "ran.append('queued')"


def setup(folder: str, port: str) -> str:
    """The cell that prepares.

    Args:
        folder: Where the project is copied to, from the notebook's folder.
        port: The file that tells the spy's port.
    """
    return SETUP.format(folder=folder, port=port)


def step(folder: str, *options: str) -> str:
    """The cell that runs the agent."""
    line = " ".join(["%%step fix-tests", *options, "--workspace", folder])
    return f'{line}\nagent.fix_tests(dbg, folder, client, "scripted")'


class KernelProbe:
    """Asks the spy in the kernel.

    Args:
        port: The file that tells its port.
    """

    def __init__(self, port: Path) -> None:
        self._url = f"http://127.0.0.1:{port.read_text()}"

    def read_state(self) -> dict[str, Any]:
        """The main thread's stack, and which queued cells ran."""
        return self._get("/")

    def expect_queued(self) -> None:
        """No queued cell has run: the agent has the main thread."""
        assert self.read_state()["ran"] == []

    def expect_blocked(self) -> None:
        """The main thread waits in the SDK, and no queued cell has run."""
        self.expect_queued()
        seen = self.read_state()
        assert any("agentstepper_nb/sdk/" in frame for frame in seen["stack"]), seen["stack"]

    def open_gate(self) -> None:
        """Let the tool `run_tests` go on."""
        self._get("/open")

    def close_gate(self) -> None:
        """Hold the tool `run_tests` at its next call."""
        self._get("/close")

    def end_waiting_agent(self) -> None:
        """Let the agent that waits again and again come to its end."""
        self._get("/enough")

    def _get(self, path: str) -> dict[str, Any]:
        with urllib.request.urlopen(self._url + path, timeout=10) as response:
            answer: dict[str, Any] = json.load(response)
            return answer
