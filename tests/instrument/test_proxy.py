"""Programs that aren't Python, or that nothing is attached to, through the proxy."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from threading import Event, Thread
from typing import Any

import httpx2
import openai
import pytest
import tornado.web
from openai import OpenAI
from tornado.httpserver import HTTPServer
from tornado.netutil import bind_sockets

from agentstepper_nb import AgentStepperCore
from agentstepper_nb.instrument.proxy import HeartbeatTimes, ModelProxy
from agentstepper_nb.models.scripted import (
    ErrorFault,
    Script,
    ScriptedServer,
    ScriptRule,
    always,
    say,
)
from agentstepper_nb.own_queries import mark_own_query
from agentstepper_nb.protocol.data_model import EventKind, EventOutcome, EventSide, RunEnding
from tests.helpers.core_announcement import announce_core
from tests.instrument.conftest import Run, Serve
from tests.instrument.queries import (
    MESSAGES,
    TEXT,
    halted_body,
    replace_text,
    wait_for_queries,
)
from tests.sdk.person import LiveView
from tests.sdk.scripted_core import TIMEOUT_S

NODE = Path(__file__).parents[2] / ".make" / "frameworks" / "node"
ASK_BY_NODE = """
const OpenAI = require("openai").default;
async function main() {
    const client = new OpenAI({ apiKey: "any" });
    const messages = [{ role: "user", content: "hello" }];
    const options = { timeout: 2000, maxRetries: 0 };
    const whole = await client.chat.completions.create({ model: "m", messages }, options);
    let streamed = "";
    const stream = await client.chat.completions.create({ model: "m", messages, stream: true }, options);
    for await (const chunk of stream) streamed += chunk.choices[0]?.delta?.content ?? "";
    console.log(JSON.stringify([whole.choices[0].message.content, streamed]));
}
main();
"""
ASK_BY_CURL = """
curl --silent --max-time 30 "$OPENAI_BASE_URL/chat/completions" -H 'content-type: application/json' \
    -d '{"model": "m", "messages": [{"role": "user", "content": "hello"}]}'
"""


def edit_text(person: LiveView, old: str, new: str) -> None:
    pending = person.wait_until_halted()
    row = next(row for row in person.list_rows() if row.id == pending)
    text = json.dumps(person.get_data(row))
    assert old in text
    person.step(json.loads(text.replace(old, new)))


def ask_unseen(client: OpenAI) -> Any:
    """Ask as a program of another process does, at which this process's seams see nothing."""
    with mark_own_query():
        return client.chat.completions.create(model="m", messages=MESSAGES)


# ---- the command -------------------------------------------------------------------------------------


def run_through_proxy(
    run: Run, server: ScriptedServer, *program: str, **environment: str
) -> Future[subprocess.CompletedProcess[str]]:
    command = ["agentstepper", "proxy", "--beat-after", "0.3", "--beat-every", "0.3", "--"]
    return run(*command, *program, OPENAI_BASE_URL=server.base_url, **environment)


@pytest.mark.slow
def test_nodes_sdk_is_edited_and_waits_longer_than_its_timeout(
    live: AgentStepperCore, server: ScriptedServer, person: LiveView, run: Run
) -> None:
    assert (NODE / ".installed").exists(), "Node's SDK isn't installed: run `make setup`."
    announce_core(live)
    modules = str(NODE / "node_modules")
    program = run_through_proxy(run, server, "node", "-e", ASK_BY_NODE, NODE_PATH=modules)
    edit_text(person, "hello", "good day")
    pause = Event()
    person.wait_until_halted()
    pause.wait(2.5)  # the client's own timeout is 2 s: the pause is what is tested
    edit_text(person, TEXT, "edited")
    person.step()
    edit_text(person, TEXT, "streamed")
    ended = program.result(TIMEOUT_S)
    assert (json.loads(ended.stdout), ended.stderr) == (["edited", "streamed"], "")
    assert server.exchanges[0].json["messages"][0]["content"] == "good day"
    assert person.wait_until_ended().ending is RunEnding.FINISHED
    assert person.run.program == "node"


def test_curl_is_edited(
    live: AgentStepperCore, server: ScriptedServer, person: LiveView, run: Run
) -> None:
    if shutil.which("curl") is None:
        pytest.skip("curl isn't installed")
    announce_core(live)
    program = run_through_proxy(run, server, "sh", "-c", ASK_BY_CURL)
    person.step()
    edit_text(person, TEXT, "edited")
    out = program.result(TIMEOUT_S).stdout
    assert json.loads(out)["choices"][0]["message"]["content"] == "edited"


def test_the_programs_exit_code_is_its_own(
    live: AgentStepperCore, server: ScriptedServer, run: Run
) -> None:
    announce_core(live)
    program = run_through_proxy(run, server, "sh", "-c", "exit 7")
    assert program.result(TIMEOUT_S).returncode == 7


def test_no_such_program(live: AgentStepperCore, server: ScriptedServer, run: Run) -> None:
    announce_core(live)
    ended = run_through_proxy(run, server, "no-such-program").result(TIMEOUT_S)
    assert ended.returncode == 127
    assert "no-such-program can't be run" in ended.stderr


def test_what_is_no_program(
    live: AgentStepperCore, server: ScriptedServer, run: Run, tmp_path: Path
) -> None:
    announce_core(live)
    (tmp_path / "notes").write_text("no program")
    ended = run_through_proxy(run, server, str(tmp_path / "notes")).result(TIMEOUT_S)
    assert ended.returncode == 126


# ---- the proxy itself --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "status", "words"),
    [
        ({"headers": {"Origin": "https://example.com"}}, 403, "Web pages may not"),
        ({"headers": {"Host": "example.com"}}, 403, "by its own address"),
        ({"token": "guessed"}, 404, "No program has this address"),
        ({"service": "elsewhere"}, 404, "forwards to openai only"),
    ],
)
def test_who_is_not_the_program_is_refused(
    change: dict[str, Any], status: int, words: str, serve: Serve, server: ScriptedServer
) -> None:
    with serve(server.base_url) as proxy, httpx2.Client() as client:
        url = proxy.make_url(change.get("service", "openai"))
        url = url.replace(proxy.token, change.get("token", proxy.token))
        body = {"model": "m", "messages": MESSAGES}
        refused = client.post(f"{url}/models", json=body, headers=change.get("headers", {}))
    assert refused.status_code == status
    assert words in refused.json()["error"]["message"]
    assert server.exchanges == []


def test_what_is_no_query_passes(serve: Serve, server: ScriptedServer) -> None:
    with (
        serve(server.base_url) as proxy,
        OpenAI(base_url=proxy.make_url("openai"), api_key="any") as client,
    ):
        assert [model.id for model in client.models.list()]


def test_the_key_is_the_programs_and_none_is_added(serve: Serve) -> None:
    sent: list[dict[str, str]] = []

    class Handler(tornado.web.RequestHandler):
        def get(self) -> None:
            sent.append(dict(self.request.headers))

    (listening,) = bind_sockets(0, "127.0.0.1")
    port = listening.getsockname()[1]

    async def receive() -> HTTPServer:
        server = HTTPServer(tornado.web.Application([(r"/models", Handler)]))
        server.add_sockets([listening])
        return server

    async def end() -> None:
        server.stop()
        await server.close_all_connections()

    loop = asyncio.new_event_loop()
    server = loop.run_until_complete(receive())
    thread = Thread(target=loop.run_forever)
    thread.start()
    try:
        with serve(f"http://127.0.0.1:{port}") as proxy, httpx2.Client() as client:
            url = f"{proxy.make_url('openai')}/models"
            client.get(url)
            client.get(url, headers={"authorization": "Bearer the-programs"})
    finally:
        asyncio.run_coroutine_threadsafe(end(), loop).result(TIMEOUT_S)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
    assert [headers.get("Authorization") for headers in sent] == [None, "Bearer the-programs"]


@pytest.mark.slow
def test_a_python_client_waits_and_keeps_the_services_status(
    serve: Serve, person: LiveView, pool: Any
) -> None:
    rule = ScriptRule(always, say(TEXT), ErrorFault(429, times=None))
    with (
        ScriptedServer(Script("busy", [rule])) as server,
        serve(server.base_url, HeartbeatTimes(0.2, 0.2)) as proxy,
        OpenAI(
            base_url=proxy.make_url("openai"), api_key="any", timeout=2.0, max_retries=0
        ) as client,
    ):
        asking = pool.submit(ask_unseen, client)
        person.step()
        person.wait_until_halted()
        Event().wait(2.5)  # longer than the client's timeout
        person.step()
        with pytest.raises(openai.RateLimitError):
            asking.result(TIMEOUT_S)


def test_a_stopped_run_refuses_what_the_program_asks(
    serve: Serve, server: ScriptedServer, person: LiveView, pool: Any
) -> None:
    with (
        serve(server.base_url) as proxy,
        OpenAI(base_url=proxy.make_url("openai"), api_key="any") as client,
    ):
        asking = pool.submit(ask_unseen, client)
        person.wait_until_halted()
        person.stop()
        with pytest.raises(openai.PermissionDeniedError, match="The person pressed Stop"):
            asking.result(TIMEOUT_S)
    assert server.exchanges == []


def test_a_service_that_is_away_is_said(serve: Serve, person: LiveView, pool: Any) -> None:
    with (
        serve("http://127.0.0.1:9/v1") as proxy,
        OpenAI(base_url=proxy.make_url("openai"), api_key="any", max_retries=0) as client,
    ):
        asking = pool.submit(ask_unseen, client)
        person.step()
        person.step()
        with pytest.raises(openai.InternalServerError, match="can't be asked"):
            asking.result(TIMEOUT_S)
    kinds = [row.kind for row in person.list_rows()]
    assert kinds.count(EventKind.LLM_QUERY) == 2


# ---- attempts of one query ---------------------------------------------------------------------------


@pytest.fixture
def busy() -> Iterator[ScriptedServer]:
    """A model that is too busy twice."""
    rule = ScriptRule(always, say(TEXT), ErrorFault(429, times=2))
    with ScriptedServer(Script("busy", [rule])) as server:
        yield server


def ask_again(proxy: ModelProxy) -> str:
    with OpenAI(base_url=proxy.make_url("openai"), api_key="any", max_retries=2) as client:
        return str(ask_unseen(client).choices[0].message.content)


def test_attempts_are_one_query_where_the_run_goes_on(
    serve: Serve, busy: ScriptedServer, person: LiveView, pool: Any
) -> None:
    with serve(busy.base_url) as proxy:
        asking = pool.submit(ask_again, proxy)
        edited = replace_text(halted_body(person), "hello", "good day")
        person.edit(edited)
        person.resume()
        assert asking.result(TIMEOUT_S) == TEXT
    assert ["good day" in str(exchange.json) for exchange in busy.exchanges] == [True] * 3
    begin, end = wait_for_queries(person, 2)
    assert (begin.event, end.outcome) == (end.event, EventOutcome.OK)


def test_attempts_at_which_the_run_halts_keep_the_edit(
    serve: Serve, busy: ScriptedServer, person: LiveView, pool: Any
) -> None:
    with serve(busy.base_url) as proxy:
        asking = pool.submit(ask_again, proxy)
        edit_text(person, "hello", "good day")
        person.step()  # the failure, which the person lets pass
        assert "good day" in str(halted_body(person))
        person.resume()
        assert asking.result(TIMEOUT_S) == TEXT
    assert ["good day" in str(exchange.json) for exchange in busy.exchanges] == [True] * 3
    assert len(wait_for_queries(person, 4)) == 4


def test_an_attempt_that_nothing_repeats_has_failed(
    serve: Serve, busy: ScriptedServer, person: LiveView, pool: Any
) -> None:
    with serve(busy.base_url) as proxy:
        client = OpenAI(base_url=proxy.make_url("openai"), api_key="any", max_retries=0)
        with client:
            asking = pool.submit(ask_unseen, client)
            person.wait_until_halted()
            person.resume()
            with pytest.raises(openai.RateLimitError):
                asking.result(TIMEOUT_S)
    _, end = wait_for_queries(person, 2)
    assert end.outcome is EventOutcome.ERROR
    assert end.failure is not None
    assert "429" in end.failure.message


def test_the_next_query_of_the_same_words_is_another(
    serve: Serve, busy: ScriptedServer, person: LiveView, pool: Any
) -> None:
    with serve(busy.base_url) as proxy:
        client = OpenAI(base_url=proxy.make_url("openai"), api_key="any", max_retries=0)
        with client:
            asking = pool.submit(ask_unseen, client)
            person.wait_until_halted()
            person.resume()
            with pytest.raises(openai.RateLimitError):
                asking.result(TIMEOUT_S)
            with pytest.raises(openai.RateLimitError):
                ask_unseen(client)
            ask_unseen(client)
    rows = wait_for_queries(person, 6)
    outcomes = [row.outcome for row in rows if row.side is EventSide.END]
    assert outcomes == [EventOutcome.ERROR, EventOutcome.ERROR, EventOutcome.OK]
