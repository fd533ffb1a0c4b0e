"""LLM queries of agents that know nothing of the debugger, at the HTTP client."""

from __future__ import annotations

import asyncio
import gzip
import json
import threading
from concurrent.futures import ThreadPoolExecutor as Pool
from typing import Any

import httpx
import httpx2
import pydantic
import pytest
import wrapt
from openai import AsyncOpenAI, OpenAI

from agentstepper_nb import AgentStepper, AgentStepperCore, instrument
from agentstepper_nb.llm_wire.answer_events import encode_json_event
from agentstepper_nb.llm_wire.conversation import ModelRequest, UserMessage
from agentstepper_nb.models.openai import OpenAIProvider
from agentstepper_nb.models.scripted import (
    PauseFault,
    Script,
    ScriptedCall,
    ScriptedServer,
    ScriptRule,
    always,
    say,
)
from agentstepper_nb.protocol.data_model import EventKind, EventSide
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
from tests.sdk.person import LiveView
from tests.sdk.scripted_core import TIMEOUT_S

CLIENTS: Any = (httpx.Client, httpx.AsyncClient, httpx2.Client, httpx2.AsyncClient)


@pytest.mark.parametrize("client_mode", CLIENT_MODES)
def test_prompt_and_answer_can_be_edited(
    client_mode: ClientMode,
    dbg: AgentStepper,
    server: ScriptedServer,
    person: LiveView,
    pool: Pool,
) -> None:
    asking = pool.submit(client_mode.query, server)
    person.step(replace_text(halted_body(person), "hello", "good day"))
    answer = halted_body(person)
    assert TEXT in json.dumps(answer)
    assert "good day" in json.dumps(server.exchanges[0].json)
    person.step(replace_text(answer, TEXT, "another answer"))
    assert asking.result(TIMEOUT_S) == "another answer"
    queries = [row for row in person.list_rows() if row.kind is EventKind.LLM_QUERY]
    assert [row.side for row in queries] == [EventSide.BEGIN, EventSide.END]
    assert queries[0].name == "m"


# ---- what the client reads ---------------------------------------------------------------------------


@pytest.mark.parametrize("client_mode", CLIENT_MODES)
def test_an_unedited_query_is_the_clients_own(
    client_mode: ClientMode, dbg: AgentStepper, server: ScriptedServer, person: LiveView, pool: Pool
) -> None:
    asking = pool.submit(client_mode.query, server)
    person.step()
    person.step()
    assert asking.result(TIMEOUT_S) == TEXT
    assert [exchange.status for exchange in server.exchanges] == [200]
    usage = list_queries(person)[1].usage
    if not (
        client_mode.api == "chat" and client_mode.is_streamed
    ):  # whose streams tell usage on request only
        assert usage is not None
        assert usage.output_tokens


def test_helpers_of_the_client_read_an_edited_answer(
    dbg: AgentStepper, server: ScriptedServer, person: LiveView, pool: Pool
) -> None:
    class Point(pydantic.BaseModel):
        x: int

    def ask() -> list[Any]:
        with OpenAI(base_url=server.base_url, api_key="any") as client:
            chat = client.chat.completions
            parsed = chat.parse(model="m", messages=MESSAGES, response_format=Point)
            raw = chat.with_raw_response.create(model="m", messages=MESSAGES)
            with chat.stream(model="m", messages=MESSAGES) as stream:
                streamed = stream.get_final_completion()
            with chat.with_streaming_response.create(model="m", messages=MESSAGES) as response:
                body = json.loads(b"".join(response.iter_bytes()))
            return [
                parsed.choices[0].message.parsed,
                raw.parse().choices[0].message.content,
                streamed.choices[0].message.content,
                body["choices"][0]["message"]["content"],
            ]

    asking = pool.submit(ask)
    for edited in ('{"x": 7}', "raw", "streamed", "body"):
        person.step()
        answer = halted_body(person)
        answer["choices"][0]["message"]["content"] = edited
        person.step(answer)
    assert asking.result(TIMEOUT_S) == [Point(x=7), "raw", "streamed", "body"]


def test_a_tool_call_in_the_answer_can_be_edited(
    dbg: AgentStepper, person: LiveView, pool: Pool
) -> None:
    call = say(None, ScriptedCall("add", {"a": 1, "b": 2}))
    with ScriptedServer(Script("calls", [ScriptRule(always, call)])) as server:
        asking = pool.submit(ask_chat, server)
        person.step()
        person.step(replace_text(halted_body(person), '\\"b\\": 2', '\\"b\\": 40'))
        (made,) = asking.result(TIMEOUT_S).choices[0].message.tool_calls
    assert json.loads(made.function.arguments) == {"a": 1, "b": 40}


def test_a_gemini_client_reads_an_edited_stream(
    dbg: AgentStepper, person: LiveView, pool: Pool
) -> None:
    part = {"candidates": [{"content": {"role": "model", "parts": [{"text": TEXT}]}}]}
    end = {"candidates": [{"content": {"parts": []}, "finishReason": "STOP"}]}
    events = b"".join(encode_json_event(each) for each in (part, end))
    sent = []

    def handle(request: httpx2.Request) -> httpx2.Response:
        sent.append(json.loads(request.content))
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=events)

    def ask() -> Any:
        url = "https://example.com/v1beta/models/gemini-9:streamGenerateContent?alt=sse"
        body = {"contents": [{"role": "user", "parts": [{"text": "hello"}]}]}
        with (
            httpx2.Client(transport=httpx2.MockTransport(handle)) as client,
            client.stream("POST", url, json=body) as response,
        ):
            lines = [line for line in response.iter_lines() if line.startswith("data:")]
        return [json.loads(line.removeprefix("data:")) for line in lines]

    asking = pool.submit(ask)
    person.step(replace_text(halted_body(person), "hello", "good day"))
    person.step(replace_text(halted_body(person), TEXT, "edited"))
    (answer,) = asking.result(TIMEOUT_S)
    assert answer["candidates"][0]["content"]["parts"] == [{"text": "edited"}]
    assert sent[0]["contents"][0]["parts"] == [{"text": "good day"}]
    assert list_queries(person)[0].name == "gemini-9"


@pytest.mark.parametrize("name", ["stream", "messages"])
def test_an_edit_that_the_client_could_not_read_is_refused(
    name: str, dbg: AgentStepper, server: ScriptedServer, person: LiveView, pool: Pool
) -> None:
    asking = pool.submit(ask_chat, server)
    prompt = halted_body(person)
    with pytest.raises(AssertionError, match=f'"{name}'):
        person.step({**prompt, name: True if name == "stream" else None})
    person.resume()
    asking.result(TIMEOUT_S)


def test_an_edited_answer_that_cannot_be_streamed_is_refused(
    dbg: AgentStepper, server: ScriptedServer, person: LiveView, pool: Pool
) -> None:
    def ask() -> str:
        with OpenAI(base_url=server.base_url, api_key="any") as client:
            chunks = client.chat.completions.create(model="m", messages=MESSAGES, stream=True)
            return "".join(chunk.choices[0].delta.content or "" for chunk in chunks)

    asking = pool.submit(ask)
    person.step()
    answer = halted_body(person)
    with pytest.raises(AssertionError, match='The items of "choices"'):
        person.step({**answer, "choices": [{"message": "hello"}]})
    person.step()
    assert asking.result(TIMEOUT_S) == TEXT


# ---- live streams ------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_a_stream_is_live_where_nothing_may_halt(
    is_async: bool, dbg: AgentStepper, person: LiveView, pool: Pool
) -> None:
    rule = ScriptRule(always, say(TEXT), PauseFault("midway", pieces_sent=3))
    with ScriptedServer(Script("slow", [rule])) as server:
        first = threading.Event()
        asking = pool.submit(
            read_stream, server, is_async, lambda text: "one" in text and first.set()
        )
        person.wait_until_halted()
        person.resume()
        assert first.wait(TIMEOUT_S)  # while the server still waits
        server.gate("midway").open()
        assert asking.result(TIMEOUT_S) == TEXT
        begin, end = wait_for_queries(person, 2)
        assert (begin.side, end.side) == (EventSide.BEGIN, EventSide.END)
        assert person.get_data(end)["choices"][0]["message"]["content"] == TEXT


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_a_stream_that_the_agent_closes_ends_with_what_came(
    is_async: bool, dbg: AgentStepper, server: ScriptedServer, person: LiveView, pool: Pool
) -> None:
    asking = pool.submit(read_stream, server, is_async, lambda text: "one" in text)
    person.wait_until_halted()
    person.resume()
    assert asking.result(TIMEOUT_S) == "one "
    _, end = wait_for_queries(person, 2)
    message = person.get_data(end)["choices"][0]["message"]
    assert message["content"].startswith("one")


def read_stream(server: ScriptedServer, is_async: bool, is_enough: Any) -> str:
    """Read a stream until it ends, or is enough."""
    text = ""
    if not is_async:
        with OpenAI(base_url=server.base_url, api_key="any") as client:
            with client.chat.completions.create(
                model="m", messages=MESSAGES, stream=True
            ) as stream:
                for chunk in stream:
                    text += chunk.choices[0].delta.content or ""
                    if is_enough(text):
                        break
        return text

    async def read() -> str:
        text = ""
        async with AsyncOpenAI(base_url=server.base_url, api_key="any") as client:
            async with await client.chat.completions.create(
                model="m", messages=MESSAGES, stream=True
            ) as stream:
                async for chunk in stream:
                    text += chunk.choices[0].delta.content or ""
                    if is_enough(text):
                        break
        return text

    return asyncio.run(read())


# ---- which requests are queries ----------------------------------------------------------------------


def test_an_event_of_the_agents_own_is_the_query(
    dbg: AgentStepper, server: ScriptedServer, person: LiveView, pool: Pool
) -> None:
    def ask() -> None:
        with dbg.llm({"messages": MESSAGES}) as query:
            query.response = ask_chat(server).to_dict()

    asking = pool.submit(ask)
    person.step()
    person.step()
    asking.result(TIMEOUT_S)
    assert len(list_queries(person)) == 2


@pytest.mark.slow
def test_a_query_of_our_own_provider_is_not_the_agents(
    dbg: AgentStepper, server: ScriptedServer, person: LiveView
) -> None:
    async def ask() -> list[Any]:
        provider = OpenAIProvider(server.base_url, "any")
        request = ModelRequest(model="m", messages=(UserMessage(content="hello"),))
        events = [event async for event in provider.stream(request)]
        await provider.close()
        return events

    assert asyncio.run(ask())
    assert list_queries(person) == []


def test_no_run_is_guessed_among_several(
    dbg: AgentStepper, live: AgentStepperCore, server: ScriptedServer
) -> None:
    with AgentStepper("other", "127.0.0.1", live.client_port, stop_on_entry=False):
        assert ask_chat(server).choices[0].message.content == TEXT


def test_a_request_to_a_registered_address_is_a_query(
    dbg: AgentStepper, person: LiveView, pool: Pool
) -> None:
    instrument.register_endpoint("https://models.example.com/generate*", "messages")
    content = [{"type": "text", "text": TEXT}]

    def ask() -> Any:
        transport = httpx2.MockTransport(lambda _: httpx2.Response(200, json={"content": content}))
        with httpx2.Client(transport=transport) as client:
            body = {"messages": MESSAGES, "model": "own"}
            return client.post("https://models.example.com/generate?a=1", json=body).json()

    asking = pool.submit(ask)
    person.step()
    person.step(replace_text(halted_body(person), TEXT, "edited"))
    assert asking.result(TIMEOUT_S)["content"][0]["text"] == "edited"


def test_a_response_that_is_no_answer_passes(
    dbg: AgentStepper, person: LiveView, pool: Pool
) -> None:
    def ask() -> str:
        transport = httpx2.MockTransport(lambda _: httpx2.Response(200, html="<p>Log in</p>"))
        with httpx2.Client(transport=transport) as client:
            body = {"messages": MESSAGES, "model": "m"}
            return client.post("https://example.com/chat/completions", json=body).text

    asking = pool.submit(ask)
    person.step()
    assert halted_body(person) == "<p>Log in</p>"
    with pytest.raises(AssertionError, match="can't be edited"):
        person.step("another")
    person.step()
    assert asking.result(TIMEOUT_S) == "<p>Log in</p>"


def test_disable_takes_all_back(
    dbg: AgentStepper, server: ScriptedServer, person: LiveView
) -> None:
    active = {seam.library for seam in instrument.list_seams() if seam.is_active}
    assert active >= {"httpx", "httpx2"}
    instrument.enable()  # a second time wraps nothing twice
    instrument.disable()
    assert not any(isinstance(kind.send, wrapt.FunctionWrapper) for kind in CLIENTS)
    assert ask_chat(server).choices[0].message.content == TEXT
    assert list_queries(person) == []


def test_the_raw_bytes_of_a_stream_that_halted_can_be_read(
    dbg: AgentStepper, person: LiveView, pool: Pool
) -> None:
    answer = {"choices": [{"message": {"content": TEXT}, "finish_reason": "stop"}]}
    packed = gzip.compress(json.dumps(answer).encode())

    def handle(request: httpx2.Request) -> httpx2.Response:
        headers = {"content-type": "application/json", "content-encoding": "gzip"}
        return httpx2.Response(200, headers=headers, stream=httpx2.ByteStream(packed))

    def ask() -> bytes:
        body = {"messages": MESSAGES, "model": "m"}
        with (
            httpx2.Client(transport=httpx2.MockTransport(handle)) as client,
            client.stream("POST", "https://example.com/chat/completions", json=body) as response,
        ):
            return b"".join(response.iter_raw())

    asking = pool.submit(ask)
    person.step()
    assert halted_body(person) == answer
    person.step()
    assert asking.result(TIMEOUT_S) == packed
