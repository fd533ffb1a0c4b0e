"""Queries that an author's own transport sends: here urllib, which no seam sees."""

from __future__ import annotations

import asyncio
import json
import urllib.error
import urllib.request
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor as Pool
from functools import partial
from typing import Any

import pytest

from agentstepper_nb import AgentStepper
from agentstepper_nb.errors import ToolDeniedError
from agentstepper_nb.instrument import trace_request, trace_request_async
from agentstepper_nb.models.scripted import (
    ErrorFault,
    Script,
    ScriptedServer,
    ScriptRule,
    always,
    say,
)
from agentstepper_nb.protocol.data_model import EventOutcome
from tests.instrument.queries import (
    MESSAGES,
    TEXT,
    halted_body,
    list_queries,
    replace_text,
    wait_for_queries,
)
from tests.sdk.person import LiveView
from tests.sdk.scripted_core import TIMEOUT_S

BODY = {"model": "m", "messages": MESSAGES}


def post(server: ScriptedServer, body: Any) -> Any:
    request = urllib.request.Request(
        f"{server.base_url}/chat/completions",
        json.dumps(body).encode(),
        {"content-type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request) as response:
            return json.load(response)
    except urllib.error.HTTPError as error:
        error.close()
        raise


def query_model(server: ScriptedServer) -> str:
    answer = trace_request(BODY, partial(post, server), api="chat_completions")
    return str(answer["choices"][0]["message"]["content"])


def query_model_async(server: ScriptedServer) -> str:
    async def run() -> str:
        send = partial(asyncio.to_thread, post, server)
        answer = await trace_request_async(BODY, send)
        return str(answer["choices"][0]["message"]["content"])

    return asyncio.run(run())


@pytest.mark.parametrize("ask", [query_model, query_model_async])
def test_it_is_edited_before_and_after(
    ask: Callable[[ScriptedServer], str],
    dbg: AgentStepper,
    server: ScriptedServer,
    person: LiveView,
    pool: Pool,
) -> None:
    asking = pool.submit(ask, server)
    person.step(replace_text(halted_body(person), "hello", "good day"))
    person.step(replace_text(halted_body(person), TEXT, "edited"))
    assert asking.result(TIMEOUT_S) == "edited"
    assert server.exchanges[0].json["messages"][0]["content"] == "good day"
    assert [row.name for row in list_queries(person)] == ["m", "m"]


@pytest.mark.parametrize("ask", [query_model, query_model_async])
def test_a_denied_query_is_not_sent(
    ask: Callable[[ScriptedServer], str],
    dbg: AgentStepper,
    server: ScriptedServer,
    person: LiveView,
    pool: Pool,
) -> None:
    asking = pool.submit(ask, server)
    person.wait_until_halted()
    person.deny("no")
    with pytest.raises(ToolDeniedError, match="no"):
        asking.result(TIMEOUT_S)
    assert server.exchanges == []


@pytest.mark.parametrize("ask", [query_model, query_model_async])
def test_outside_of_a_run_it_is_sent(
    ask: Callable[[ScriptedServer], str], server: ScriptedServer
) -> None:
    assert ask(server) == TEXT


def test_what_is_no_request_is_refused(
    dbg: AgentStepper, server: ScriptedServer, person: LiveView, pool: Pool
) -> None:
    asking = pool.submit(query_model, server)
    person.wait_until_halted()
    with pytest.raises(AssertionError, match='is a JSON object with "messages"'):
        person.step({"model": "m"})
    person.resume()
    assert asking.result(TIMEOUT_S) == TEXT


def test_a_failure_can_be_mended(dbg: AgentStepper, person: LiveView, pool: Pool) -> None:
    rule = ScriptRule(always, say(TEXT), ErrorFault(500, times=None))
    answer = {"choices": [{"message": {"content": "mended"}}]}
    with ScriptedServer(Script("broken", [rule])) as server:
        asking = pool.submit(query_model, server)
        person.step()
        person.step(answer)
        assert asking.result(TIMEOUT_S) == "mended"
        failing = pool.submit(query_model, server)
        person.step()
        person.resume()
        with pytest.raises(urllib.error.HTTPError):
            failing.result(TIMEOUT_S)
    assert wait_for_queries(person, 4)[-1].outcome is EventOutcome.ERROR


def test_an_event_of_the_agents_own_is_the_query(
    dbg: AgentStepper, server: ScriptedServer, person: LiveView, pool: Pool
) -> None:
    asking = pool.submit(dbg.traced_llm(lambda prompt: query_model(server)), "hello")
    person.step()
    person.step()
    assert asking.result(TIMEOUT_S) == TEXT
    assert len(list_queries(person)) == 2


def test_an_api_that_there_is_not() -> None:
    with pytest.raises(ValueError, match="There is no LLM API 'smoke'"):
        trace_request(BODY, lambda body: body, api="smoke")
