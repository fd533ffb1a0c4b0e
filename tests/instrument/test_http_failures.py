"""LLM queries that fail, and that a person denies, lets fail or stops, at the HTTP client."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor as Pool

import openai
import pytest
from msgspec import Raw
from openai import OpenAI

from agentstepper_nb import AgentStepper, AgentStopped, instrument
from agentstepper_nb.models.scripted import (
    ErrorFault,
    Script,
    ScriptedServer,
    ScriptRule,
    always,
    say,
)
from agentstepper_nb.protocol.answers import Answer, RaiseAnswer, SkipAnswer
from agentstepper_nb.protocol.data_model import AnswerKind, EventKind
from tests.instrument.clients import CLIENT_MODES, ClientMode
from tests.instrument.queries import (
    MESSAGES,
    TEXT,
    ask_chat,
    halted_body,
    list_queries,
    replace_text,
    wait_for_queries,
)
from tests.sdk import scripted_core
from tests.sdk.person import LiveView
from tests.sdk.scripted_core import TIMEOUT_S, ScriptedCore


def test_a_denied_query_is_not_asked_again(
    dbg: AgentStepper, server: ScriptedServer, person: LiveView, pool: Pool
) -> None:
    asking = pool.submit(ask_chat, server)
    person.deny("Not today.")
    with pytest.raises(openai.PermissionDeniedError, match=r"Not today\."):
        asking.result(TIMEOUT_S)
    assert server.exchanges == []
    assert len(wait_for_queries(person, 2)) == 2


def test_nothing_is_asked_after_stop(
    dbg: AgentStepper, server: ScriptedServer, person: LiveView, pool: Pool
) -> None:
    asking = pool.submit(ask_chat, server)
    person.wait_until_halted()
    person.stop()
    with pytest.raises(AgentStopped):
        asking.result(TIMEOUT_S)
    with pytest.raises(KeyboardInterrupt, match="The person pressed Stop"):
        pool.submit(ask_chat, server).result(TIMEOUT_S)
    assert server.exchanges == []


@pytest.mark.parametrize("client_mode", CLIENT_MODES)
def test_attempts_after_a_refusal_are_one_query(
    client_mode: ClientMode, dbg: AgentStepper, person: LiveView, pool: Pool
) -> None:
    rule = ScriptRule(always, say(TEXT), ErrorFault(429))
    with ScriptedServer(Script("busy", [rule])) as server:
        asking = pool.submit(client_mode.query, server)
        person.step(replace_text(halted_body(person), "hello", "good day"))
        person.step()
        assert asking.result(TIMEOUT_S) == TEXT
        assert [exchange.status for exchange in server.exchanges] == [429, 200]
        assert all("good day" in json.dumps(each.json) for each in server.exchanges)
    rows = person.list_rows()
    assert len([row for row in rows if row.kind is EventKind.LLM_QUERY]) == 2
    assert any("repeats the query" in row.summary for row in rows)


def test_a_query_that_failed_for_good_halts(
    dbg: AgentStepper, person: LiveView, pool: Pool
) -> None:
    rule = ScriptRule(always, say(TEXT), ErrorFault(429, times=None))
    with ScriptedServer(Script("busy", [rule])) as server:
        asking = pool.submit(ask_chat, server, max_retries=1)
        person.step()
        person.step()
        with pytest.raises(openai.RateLimitError):
            asking.result(TIMEOUT_S)
    _, end = list_queries(person)
    assert end.failure is not None
    assert "429" in end.failure.message


def test_an_answer_in_a_failures_place_is_what_the_client_reads(
    dbg: AgentStepper, person: LiveView, pool: Pool
) -> None:
    answer = {"id": "x", "object": "chat.completion", "created": 1, "model": "m"}
    message = {"role": "assistant", "content": "given"}
    answer |= {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
    with ScriptedServer(Script("none", [])) as server:
        asking = pool.submit(ask_chat, server, max_retries=0)
        person.step()
        person.step(answer)
        assert asking.result(TIMEOUT_S).choices[0].message.content == "given"


def test_a_connection_that_fails_is_one_query(
    dbg: AgentStepper, server: ScriptedServer, person: LiveView, pool: Pool
) -> None:
    client = OpenAI(base_url=server.base_url, api_key="any", max_retries=1)
    server.close()
    asking = pool.submit(client.chat.completions.create, model="m", messages=MESSAGES)
    person.step()
    person.step()
    with pytest.raises(openai.APIConnectionError):
        asking.result(TIMEOUT_S)
    assert len(list_queries(person)) == 2


@pytest.mark.parametrize(
    "answer", [SkipAnswer(result=Raw(b"null")), RaiseAnswer(message="Broken.")]
)
def test_an_injected_failure_is_not_asked_again(answer: Answer, server: ScriptedServer) -> None:
    with ScriptedCore(scripted_core.ScriptedAnswers(answer)) as core:
        instrument.enable()
        try:
            with (
                AgentStepper("agent", "127.0.0.1", core.port, stop_on_entry=False),
                pytest.raises(openai.BadRequestError),
            ):
                ask_chat(server)
        finally:
            instrument.disable()
    assert server.exchanges == []


def test_an_exception_of_a_persons_choice_is_told_by_the_client_and_not_asked_again(
    dbg: AgentStepper, server: ScriptedServer, person: LiveView, pool: Pool
) -> None:
    asking = pool.submit(ask_chat, server)
    person.raise_error("no quota", "PermissionError")
    with pytest.raises(openai.BadRequestError, match="PermissionError: no quota"):
        asking.result(TIMEOUT_S)
    assert server.exchanges == []
    begin, _ = wait_for_queries(person, 2)
    assert begin.answer is AnswerKind.RAISE


def test_an_exception_of_the_transport_is_what_the_client_makes_of_it(
    dbg: AgentStepper, server: ScriptedServer, person: LiveView, pool: Pool
) -> None:
    asking = pool.submit(ask_chat, server, max_retries=0)
    person.raise_error("too slow", "httpx.ReadTimeout")
    with pytest.raises(openai.APITimeoutError):
        asking.result(TIMEOUT_S)
    assert server.exchanges == []


def test_a_guide_reaches_the_service(
    dbg: AgentStepper, server: ScriptedServer, person: LiveView, pool: Pool
) -> None:
    asking = pool.submit(ask_chat, server)
    person.guide("Answer in verse.")
    person.step(revision=2)
    person.step()
    asking.result(TIMEOUT_S)
    (exchange,) = server.exchanges
    assert exchange.json["messages"][-1] == {"role": "user", "content": "Answer in verse."}


def test_an_exception_that_no_client_repeats_ends_the_query(
    dbg: AgentStepper, server: ScriptedServer, person: LiveView, pool: Pool
) -> None:
    client = OpenAI(base_url=server.base_url, api_key="any")
    client.close()
    asking = pool.submit(client.chat.completions.create, model="m", messages=MESSAGES)
    person.step()
    person.step()
    with pytest.raises(RuntimeError, match="closed"):
        asking.result(TIMEOUT_S)
    assert len(list_queries(person)) == 2
