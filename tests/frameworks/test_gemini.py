"""Google's ADK with a Gemini model: its queries pass the seam at httpx, though aiohttp is installed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest

from tests.frameworks.stepped_agent import ANSWER, QUERY, SteppedAgent, replace
from tests.frameworks.unsupported_rows import separately_installed


class GeminiHandler(BaseHTTPRequestHandler):
    """A model that calls `add`, and then says what it gave."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        part: dict[str, Any] = {"functionCall": {"name": "add", "args": {"a": 2, "b": 3}}}
        given = body["contents"][-1]["parts"][0].get("functionResponse")
        if given is not None:
            part = {"text": f"The tools say: {given['response']['result']}"}
        content = {"role": "model", "parts": [part]}
        answer = json.dumps({"candidates": [{"content": content, "finishReason": "STOP"}]}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def gemini() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), GeminiHandler) as server:
        server.daemon_threads = True
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(
    "process", [separately_installed("google-adk")], indirect=True, scope="module"
)
def test_a_gemini_model_halts(stepped_agent: SteppedAgent, gemini: str) -> None:
    stepped_agent.start("gemini", gemini)
    stepped_agent.step(QUERY)
    stepped_agent.step(ANSWER)
    stepped_agent.edit("add", lambda call: {**call, "Argument": {"a": 2, "b": 10}})
    stepped_agent.step("add's result")
    stepped_agent.step(QUERY)
    stepped_agent.edit(ANSWER, replace("The tools say: 12", "Edited."))
    assert stepped_agent.end() == {"output": "Edited."}
