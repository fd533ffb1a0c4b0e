"""A model behind an OpenAI-compatible endpoint, asked for text over real HTTP."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest
from openai.resources.chat.completions import AsyncCompletions

from agentstepper_nb.errors import ModelError
from agentstepper_nb.models.openai import OpenAITextModel
from agentstepper_nb.models.provider import TextModel, find_text_model
from agentstepper_nb.models.scripted import (
    DisconnectFault,
    ErrorFault,
    Fault,
    PauseFault,
    Script,
    ScriptedCall,
    ScriptedReply,
    ScriptedServer,
    ScriptRule,
    always,
    say,
)


def serving(reply: ScriptedReply | ScriptedCall, fault: Fault | None = None) -> ScriptedServer:
    return ScriptedServer(Script("s", [ScriptRule(always, reply, fault)]))


def query_text(url: str, timeout: float = 30.0) -> str:
    """What a model there says, its client opened and closed."""

    async def ask() -> str:
        model: TextModel = OpenAITextModel("some-model", url, "key", timeout=timeout)
        try:
            return await model.text("Be brief.", "What is it?", 40)
        finally:
            await model.close()

    return asyncio.run(ask())


def test_a_text() -> None:
    with serving(say("It   is fine.\n")) as server:
        assert query_text(server.base_url) == "It   is fine.\n"
        (exchange,) = server.exchanges
    assert exchange.json == {
        "model": "some-model",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "What is it?"},
        ],
        "max_tokens": 40,
    }


def test_it_isnt_what_an_agent_has_traced(monkeypatch: pytest.MonkeyPatch) -> None:
    async def traced(*args: object, **kwargs: object) -> None:
        raise AssertionError("this is the agent's")

    monkeypatch.setattr(AsyncCompletions, "create", traced)
    with serving(say("Fine.")) as server:
        assert query_text(server.base_url) == "Fine."


def test_a_busy_endpoint_is_asked_again_once() -> None:
    with serving(say("Fine."), ErrorFault(503, times=1)) as server:
        assert query_text(server.base_url) == "Fine."
        assert [exchange.status for exchange in server.exchanges] == [503, 200]


@pytest.mark.parametrize(
    ("reply", "fault", "kind", "why"),
    [
        (say("x"), ErrorFault(401, times=None), "refused", "answered 401: "),
        (say("x"), ErrorFault(429, times=None), "overloaded", "answered 429: "),
        (say("x"), ErrorFault(500, times=None), "overloaded", "answered 500: "),
        (say("x"), DisconnectFault(), "unreachable", "can't be reached: "),
        (say(None), None, "empty", "answered without a text"),
        (say(" \n"), None, "empty", "answered without a text"),
        (ScriptedCall("tool"), None, "empty", "answered without a text"),
    ],
)
def test_an_endpoint_that_fails(reply: ScriptedReply, fault: Fault, kind: str, why: str) -> None:
    with serving(reply, fault) as server, pytest.raises(ModelError, match=why) as caught:
        query_text(server.base_url)
    assert caught.value.kind == kind
    assert str(caught.value).startswith("The model some-model at http://127.0.0.1:")


def test_an_endpoint_that_takes_too_long() -> None:
    with serving(say("x"), PauseFault("forever")) as server:
        with pytest.raises(ModelError, match="didn't answer in time") as caught:
            query_text(server.base_url, timeout=0.05)
    assert caught.value.kind == "timeout"


def test_nobody_there() -> None:
    with serving(say("x")) as server:
        url = server.base_url
    with pytest.raises(ModelError, match="can't be reached") as caught:
        query_text(url)
    assert caught.value.kind == "unreachable"


class RawBytesHandler(BaseHTTPRequestHandler):
    """Answers with what the server was given."""

    def do_POST(self) -> None:
        kind, body = self.server.rubbish  # type: ignore[attr-defined]
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture(scope="module")
def rubbish() -> Iterator[ThreadingHTTPServer]:
    with ThreadingHTTPServer(("127.0.0.1", 0), RawBytesHandler) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def choice(content: object) -> bytes:
    return json.dumps({"choices": [{"message": {"content": content}}]}).encode()


RUBBISH = (
    *(b"", b"{", b"null", b"[]", b"7", b"\xff\xfe", b"{}", b'{"choices":null}'),
    *(b'{"choices":[]}', b'{"choices":[{}]}', b'{"choices":[null]}', b'{"choices":{"a":1}}'),
    *(b'{"choices":[{"message":7}]}', choice(7), choice(["x"]), choice({"text": "x"})),
)


@pytest.mark.parametrize("kind", ["application/json", "text/html"])
async def test_rubbish(rubbish: ThreadingHTTPServer, kind: str) -> None:
    model = OpenAITextModel("some-model", f"http://127.0.0.1:{rubbish.server_port}/v1", "key")
    found = {}
    for body in RUBBISH:
        rubbish.rubbish = (kind, body)  # type: ignore[attr-defined]
        with pytest.raises(ModelError) as caught:
            await model.text("Be brief.", "What is it?", 40)
        found[body] = caught.value.kind
    await model.close()
    assert found == dict.fromkeys(RUBBISH, "invalid")


@pytest.mark.parametrize("url", ["nowhere", "ftp://127.0.0.1/v1"])
def test_an_address_that_cannot_be(url: str) -> None:
    with pytest.raises(ModelError):
        query_text(url)


def test_an_address_that_no_client_takes() -> None:
    with pytest.raises(
        ModelError, match="The request to the model m can't be sent: Invalid port"
    ) as caught:
        find_text_model("m", {"OPENAI_BASE_URL": "http://127.0.0.1:many/v1"})
    assert caught.value.kind == "invalid"


# ---- which model the environment means -------------------------------------------------------------


@pytest.mark.parametrize(
    ("environ", "url", "key"),
    [
        ({"OPENAI_API_KEY": "k"}, "https://api.openai.com/v1/", "k"),
        ({"OPENAI_BASE_URL": "http://a/v1"}, "http://a/v1/", "none"),
        ({"OPENAI_BASE_URL": "http://a/v1", "OPENAI_API_KEY": "k"}, "http://a/v1/", "k"),
        ({"AGENTSTEPPER_BASE_URL": "http://b/v1", "OPENAI_API_KEY": "k"}, "http://b/v1/", "none"),
        ({"AGENTSTEPPER_API_KEY": "o", "OPENAI_API_KEY": "k"}, "https://api.openai.com/v1/", "o"),
        (
            {
                "AGENTSTEPPER_BASE_URL": "http://b/v1",
                "AGENTSTEPPER_API_KEY": "ours",
                "OPENAI_BASE_URL": "http://a/v1",
                "OPENAI_API_KEY": "k",
            },
            "http://b/v1/",
            "ours",
        ),
    ],
)
def test_the_endpoint_that_is_set(
    environ: dict[str, str], url: str, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    model = find_text_model("m", environ)
    assert isinstance(model, OpenAITextModel)
    assert model.name == "m"
    assert str(model._client.base_url) == url
    assert model._client.api_key == key
    asyncio.run(model.close())


@pytest.mark.parametrize("model", ["m", "", None])
def test_nothing_is_set(model: str | None) -> None:
    assert find_text_model(model, {"OPENAI_API_KEY": "", "OPENAI_BASE_URL": ""}) is None
    assert find_text_model(None, {"OPENAI_API_KEY": "k"}) is None


INERT = """
import os, sys
from agentstepper_nb.hub import AgentStepperCore
with AgentStepperCore("127.0.0.1", 0, 0, model="m") as core:
    assert core.hub.listeners == [], "without an endpoint"
os.environ["OPENAI_API_KEY"] = "k"
with AgentStepperCore("127.0.0.1", 0, 0) as core:
    assert core.hub.listeners == [], "without a name"
assert "openai" not in sys.modules
"""


@pytest.mark.slow
def test_without_a_name_or_an_endpoint_no_client_is_even_imported() -> None:
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("OPENAI_", "AGENTSTEPPER_"))}
    subprocess.run([sys.executable, "-c", INERT], env=clean, check=True, timeout=60)


def test_openais_own_takes_the_limit_by_its_newer_name(monkeypatch: pytest.MonkeyPatch) -> None:
    model = OpenAITextModel("m", "https://api.openai.com/v1", "k")
    sent: dict[str, object] = {}

    async def post(path: str, body: dict[str, object], **options: object) -> object:
        sent.update({key: value for key, value in body.items() if isinstance(value, int)})
        raise TypeError("enough is seen")

    async def ask() -> None:
        monkeypatch.setattr(model._client, "post", post)
        with pytest.raises(ModelError):
            await model.text("s", "p", 40)
        await model.close()

    asyncio.run(ask())
    assert sent == {"max_completion_tokens": 40}
