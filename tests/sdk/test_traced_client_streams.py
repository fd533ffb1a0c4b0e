"""Streams that a vendor's client gives, whose method is traced: at a real Core and a scripted model."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from anthropic import Anthropic, AsyncAnthropic
from openai import AsyncOpenAI, OpenAI

from agentstepper_nb import AgentStepper
from agentstepper_nb.models.scripted import Script as ModelScript
from agentstepper_nb.models.scripted import ScriptedServer, ScriptRule, always, say
from agentstepper_nb.protocol.data_model import EventKind
from tests.instrument.queries import halted_body, replace_text
from tests.sdk.person import LiveView
from tests.sdk.scripted_core import TIMEOUT_S
from tests.sdk.test_exact_edits import refused
from tests.sdk.traced_values import rows_of

both = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
TEXT = "one two three"

CLIENTS = {"chat": (OpenAI, AsyncOpenAI), "responses": (OpenAI, AsyncOpenAI)}
CLIENTS["messages"] = (Anthropic, AsyncAnthropic)  # type: ignore[assignment]
METHODS = {"chat": "chat.completions.create", "responses": "responses.create"}
METHODS["messages"] = "messages.create"
apis = pytest.mark.parametrize("api", list(METHODS))


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(ModelScript("says", [ScriptRule(always, say(TEXT))])) as server:
        yield server


def read_text(item: Any) -> str:
    """The text of a chunk or event, of a client's own types."""
    if hasattr(item, "choices"):
        return "".join(choice.delta.content or "" for choice in item.choices)
    if item.type == "response.output_text.delta":
        return str(item.delta)
    is_text = item.type == "content_block_delta" and item.delta.type == "text_delta"
    return str(item.delta.text) if is_text else ""


def query_model(
    dbg: AgentStepper,
    server: ScriptedServer,
    api: str,
    is_async: bool,
    is_enough: Callable[[str], bool] = lambda text: False,
) -> str:
    """Ask by a vendor's client whose method is wrapped, and read the stream; gives the text."""
    kind: Any = CLIENTS[api][is_async]
    url = server.base_url.removesuffix("/v1") if api == "messages" else server.base_url
    options: dict[str, Any] = {"model": "m", "stream": True}
    options["input" if api == "responses" else "messages"] = [{"role": "user", "content": "hi"}]
    options |= {"max_tokens": 99} if api == "messages" else {}

    async def main() -> str:
        text = ""
        async with kind(base_url=url, api_key="any") as client:
            dbg.wrap(client, METHODS[api], kind="llm")
            create = _find(client, METHODS[api])
            async with await create(**options) as stream:
                assert stream.response.status_code == 200
                async for item in stream:
                    text += read_text(item)
                    if is_enough(text):
                        break
        return text

    if is_async:
        return asyncio.run(main())
    text = ""
    with kind(base_url=url, api_key="any") as client:
        dbg.wrap(client, METHODS[api], kind="llm")
        with _find(client, METHODS[api])(**options) as stream:
            assert stream.response.status_code == 200
            for item in stream:
                text += read_text(item)
                if is_enough(text):
                    break
    return text


def _find(client: Any, path: str) -> Any:
    for name in path.split("."):
        client = getattr(client, name)
    return client


@pytest.mark.slow
@both
@apis
def test_a_client_s_stream_is_one_answer_whose_edit_comes_as_its_own_events(
    api: str,
    is_async: bool,
    agent: AgentStepper,
    server: ScriptedServer,
    person: LiveView,
    pool: ThreadPoolExecutor,
) -> None:
    asking = pool.submit(query_model, agent, server, api, is_async)
    begin = person.wait_until_halted()
    person.step()
    person.wait_until(lambda run: bool(run.pending) and run.pending[0] != begin)
    answer = halted_body(person)
    member = {"chat": "choices", "responses": "output", "messages": "content"}[api]
    assert TEXT in str(answer[member])
    assert f'with a list "{member}"' in refused(person, {})
    person.step(replace_text(answer, TEXT, "edited"))
    assert asking.result(TIMEOUT_S) == "edited"
    end = rows_of(person, EventKind.LLM_QUERY, 2)[1]
    assert (end.usage is None) == (api == "chat"), "it is read from the answer, where that has it"


@both
@apis
def test_a_client_s_stream_is_live_and_closed_early(
    api: str,
    is_async: bool,
    agent: AgentStepper,
    server: ScriptedServer,
    person: LiveView,
    pool: ThreadPoolExecutor,
) -> None:
    asking = pool.submit(query_model, agent, server, api, is_async, lambda text: "one" in text)
    person.wait_until_halted()
    person.resume()
    text = asking.result(TIMEOUT_S)
    assert "one" in text
    end = rows_of(person, EventKind.LLM_QUERY, 2)[1]
    assert "one" in str(person.get_data(end))


def test_an_edit_that_needs_an_event_of_a_new_type_is_refused(
    agent: AgentStepper, server: ScriptedServer, person: LiveView, pool: ThreadPoolExecutor
) -> None:
    asking = pool.submit(query_model, agent, server, "responses", False)
    begin = person.wait_until_halted()
    person.step()
    person.wait_until(lambda run: bool(run.pending) and run.pending[0] != begin)
    answer = halted_body(person)
    call = {"type": "function_call", "name": "add", "arguments": "{}", "call_id": "c", "id": "i"}
    said = refused(person, {**answer, "output": [call]})
    assert "needs an event of the type response.function_call_arguments.delta" in said
    person.step()
    assert asking.result(TIMEOUT_S) == TEXT
