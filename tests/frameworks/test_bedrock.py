"""Bedrock by botocore, through the seam that an author writes: its HTTP client is no httpx."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest

from tests.frameworks.stepped_agent import ANSWER, QUERY, SteppedAgent, replace
from tests.frameworks.unsupported_rows import separately_installed

each = pytest.mark.parametrize(
    "process", [separately_installed("botocore")], indirect=True, scope="module"
)


class BedrockHandler(BaseHTTPRequestHandler):
    """A model that is busy once, calls `add`, and then says what it gave."""

    protocol_version = "HTTP/1.1"
    requests: list[Any]

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.requests.append(body)
        if len(self.requests) == 1:
            self._answer(429, {"message": "busy"})
            return
        part: dict[str, Any] = {
            "toolUse": {"toolUseId": "call1", "name": "add", "input": {"a": 2, "b": 3}}
        }
        given = body["messages"][-1]["content"][0].get("toolResult")
        if given is not None:
            part = {"text": f"The tools say: {given['content'][0]['text']}"}
        self._answer(
            200,
            {
                "output": {"message": {"role": "assistant", "content": [part]}},
                "stopReason": "tool_use" if given is None else "end_turn",
                "usage": {"inputTokens": 7, "outputTokens": 3, "totalTokens": 10},
                "metrics": {"latencyMs": 1},
            },
        )

    def _answer(self, status: int, body: Any) -> None:
        answer = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def bedrock() -> Iterator[tuple[str, list[Any]]]:
    requests: list[Any] = []
    handler = type("Handler", (BedrockHandler,), {"requests": requests})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", requests
        server.shutdown()
        thread.join()


@each
def test_a_query_of_bedrock_is_edited_and_its_attempts_are_one(
    stepped_agent: SteppedAgent, bedrock: tuple[str, list[Any]]
) -> None:
    url, requests = bedrock
    stepped_agent.start("sync", url)
    stepped_agent.edit(QUERY, replace("please add", "please, add"))
    stepped_agent.edit(
        ANSWER, lambda body: json.loads(json.dumps(body).replace('"b": 3', '"b": 10'))
    )
    stepped_agent.edit("add's result", replace("12", "1200"))
    stepped_agent.step(QUERY)
    stepped_agent.edit(ANSWER, replace("The tools say: 1200", "Edited."))
    assert stepped_agent.end() == {"output": "Edited."}
    assert [body["messages"][0]["content"][0]["text"] for body in requests] == [
        "please, add",
        "please, add",
        "please add",
    ]
    query = next(row for row in stepped_agent.person.list_rows() if row.usage is not None)
    assert (query.name, query.usage and query.usage.input_tokens) == ("m", 7)


@each
def test_a_denied_query_of_bedrock_is_not_sent(
    stepped_agent: SteppedAgent, bedrock: tuple[str, list[Any]]
) -> None:
    url, requests = bedrock
    stepped_agent.start("sync", url)
    stepped_agent.wait_for_halt(QUERY)
    stepped_agent.person.deny("no")
    assert stepped_agent.end() == {"error": "ToolDeniedError", "message": "no"}
    assert requests == []
