"""One script, asked by three APIs through their official clients: the same answer in each."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import anthropic
import openai
import pytest
from anthropic import Anthropic
from openai import OpenAI

from agentstepper_nb.models.scripted import (
    DisconnectFault,
    ErrorFault,
    PauseFault,
    Script,
    ScriptedCall,
    ScriptedServer,
    ScriptRule,
    always,
    say,
    says,
    tool_says,
    turn,
)
from tests.models.scripted_clients import CLIENTS, CollectedAnswer, open_client

LOOK = ScriptedCall("read_file", {"path": "ü.py"})
SCRIPT = Script(
    "talk",
    [
        ScriptRule(
            tool_says("read_file", "^x = 1$") & says("system", "careful"), say("I have read it.")
        ),
        ScriptRule(says("user", "fail"), lambda request: say(str(1 / 0))),
        ScriptRule(says("user", "nothing"), say(None)),
        ScriptRule(says("user", "half"), ScriptedCall("read_file", '{"path": "ca')),
        ScriptRule(says("user", "both"), say(None, LOOK, ScriptedCall("run_tests"))),
        ScriptRule(turn(0), say("Let me look.", LOOK)),
        ScriptRule(turn(1), say("It is   fine,\nI think: 😀")),
    ],
)
TALKS = {
    "a text and a call": [("user", "hello")],
    "calls alone": [("user", "both")],
    "a text alone": [("user", "a"), ("assistant", "b"), ("user", "c")],
    "nothing": [("user", "nothing")],
}
HELLO = [("user", "hello")]
ERRORS: Any = (openai.APIStatusError, anthropic.APIStatusError)
BROKEN: Any = (openai.APIConnectionError, anthropic.APIConnectionError)


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(SCRIPT) as server:
        yield server


def faulty(fault: Any) -> ScriptedServer:
    return ScriptedServer(Script("faulty", [ScriptRule(always, say("one two three"), fault)]))


@pytest.mark.parametrize("talk", TALKS.values(), ids=TALKS)
def test_every_api_gives_the_same_answer(
    server: ScriptedServer, talk: list[tuple[str, str]]
) -> None:
    heard: list[CollectedAnswer] = []
    for api in CLIENTS:
        with open_client(api, server) as client:
            heard += [client.whole(talk), client.streamed(talk)]
    assert len(heard) == 6
    assert heard == [heard[0]] * 6
    assert heard[0].usage > (0, -1)


@pytest.mark.parametrize("api", CLIENTS)
def test_a_refusal_passes_when_the_client_tries_again(api: str) -> None:
    with (
        faulty(ErrorFault(503, times=2)) as server,
        open_client(api, server, max_retries=2) as client,
    ):
        assert client.whole(HELLO).text == "one two three"
        assert [exchange.status for exchange in server.exchanges] == [503, 503, 200]


@pytest.mark.parametrize("api", CLIENTS)
def test_a_refusal_says_what_and_when_to_try_again(api: str) -> None:
    with faulty(ErrorFault(429, times=None, retry_after=2.5)) as server:
        with (
            open_client(api, server) as client,
            pytest.raises(ERRORS, match="as the script") as caught,
        ):
            client.streamed(HELLO)
    headers = caught.value.response.headers
    assert (headers["retry-after"], headers["retry-after-ms"]) == ("2", "2500")
    kind = "rate_limit_error" if api == "messages" else "invalid_request_error"
    assert caught.value.response.json()["error"]["type"] == kind


@pytest.mark.parametrize("api", CLIENTS)
def test_a_stream_that_breaks_off(api: str) -> None:
    with faulty(DisconnectFault(pieces_sent=2)) as server, open_client(api, server) as client:
        # Anthropic's client passes its HTTP library's own error on.
        heard = client.events(HELLO)
        assert next(heard) and next(heard)
        with pytest.raises(Exception, match=r"Connection error|peer closed"):
            next(heard)


@pytest.mark.parametrize("api", CLIENTS)
def test_a_stream_that_only_lacks_its_end(api: str) -> None:
    with (
        faulty(DisconnectFault(pieces_sent=2, ends_cleanly=True)) as server,
        open_client(api, server) as client,
    ):
        assert len(list(client.events(HELLO))) == 2


@pytest.mark.parametrize("api", CLIENTS)
def test_a_whole_answer_that_breaks_off(api: str) -> None:
    with (
        faulty(DisconnectFault()) as server,
        open_client(api, server) as client,
        pytest.raises(BROKEN),
    ):
        client.whole(HELLO)


@pytest.mark.parametrize("api", CLIENTS)
def test_a_stream_waits_at_its_gate(api: str) -> None:
    with faulty(PauseFault("middle", pieces_sent=2)) as server, open_client(api, server) as client:
        events = client.events(HELLO)
        heard = [next(events), next(events)]
        assert server.gate("middle").wait_reached(60)
        server.gate("middle").open()
        heard += events
        assert len(heard) >= 5


@pytest.mark.parametrize("api", CLIENTS)
def test_errors_are_of_the_apis_form(server: ScriptedServer, api: str) -> None:
    with open_client(api, server) as client:
        with pytest.raises(ERRORS, match="matches turn 5") as caught:
            client.whole([("user", "a"), *[("assistant", "b")] * 5])
        assert caught.value.status_code == 400
        with pytest.raises(ERRORS, match="'talk' failed: ZeroDivisionError") as caught:
            client.whole([("user", "fail")])
        assert caught.value.status_code == 500
    body = caught.value.response.json()
    if api == "messages":
        assert set(body) == {"type", "error", "request_id"}
        assert body["error"]["type"] == "api_error"
    else:
        assert body["error"]["code"] == "script_failed"


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/responses", {"model": "m"}),
        ("/v1/responses", {"model": "m", "input": [{"type": "picture"}]}),
        ("/v1/messages", {"model": "m", "max_tokens": 3}),
        ("/v1/messages", {"model": "m", "messages": [{"role": "who", "content": ""}]}),
    ],
)
def test_a_request_that_cant_be_read_says_where(
    server: ScriptedServer, path: str, body: object
) -> None:
    with OpenAI(base_url=server.root_url, api_key="any", max_retries=0) as client:
        with pytest.raises(openai.BadRequestError, match="The request can't be read: "):
            client.post(path, body=body, cast_to=object)


def test_malformed_arguments_through_responses(server: ScriptedServer) -> None:
    with OpenAI(base_url=server.base_url, api_key="any") as client:
        (call,) = client.responses.create(model="m", input="half").output
        assert call.type == "function_call" and call.arguments == '{"path": "ca'
        events = client.responses.create(model="m", input="half", stream=True)
        (done,) = [e for e in events if e.type == "response.function_call_arguments.done"]
        assert done.arguments == '{"path": "ca'


def test_malformed_arguments_through_messages(server: ScriptedServer) -> None:
    ask: Any = {
        "model": "m",
        "max_tokens": 9,
        "messages": [{"role": "user", "content": "half"}],
    }
    with Anthropic(base_url=server.root_url, api_key="any") as client:
        (block,) = client.messages.create(**ask).content
        assert block.type == "tool_use" and block.input == {"malformed_arguments": '{"path": "ca'}
        events = [event.to_dict() for event in client.messages.create(**ask, stream=True)]
    deltas: list[Any] = [e["delta"] for e in events if e["type"] == "content_block_delta"]
    assert "".join(delta["partial_json"] for delta in deltas) == '{"path": "ca'


def test_results_and_system_prompts_reach_the_rules_through_responses(
    server: ScriptedServer,
) -> None:
    with OpenAI(base_url=server.base_url, api_key="any") as client:
        talk: list[Any] = [{"role": "user", "content": "hello"}]
        said = client.responses.create(model="m", input=talk)
        (call,) = [item for item in said.output if item.type == "function_call"]
        talk += said.output
        talk += [{"type": "function_call_output", "call_id": call.call_id, "output": "x = 1"}]
        answer = client.responses.create(model="m", input=talk, instructions="Be careful.")
    assert answer.output_text == "I have read it."


def test_results_and_system_prompts_reach_the_rules_through_messages(
    server: ScriptedServer,
) -> None:
    with Anthropic(base_url=server.root_url, api_key="any") as client:
        ask: Any = {"model": "m", "max_tokens": 9, "system": "Be careful."}
        talk: list[Any] = [{"role": "user", "content": "hello"}]
        said = client.messages.create(**ask, messages=talk)
        (call,) = [block for block in said.content if block.type == "tool_use"]
        result = {"type": "tool_result", "tool_use_id": call.id, "content": "x = 1"}
        talk += [
            {"role": "assistant", "content": said.content},
            {"role": "user", "content": [result]},
        ]
        (block,) = client.messages.create(**ask, messages=talk).content
    assert block.type == "text" and block.text == "I have read it."


def test_the_events_of_responses_are_numbered_and_complete(server: ScriptedServer) -> None:
    with OpenAI(base_url=server.base_url, api_key="any") as client:
        events = list(client.responses.create(model="m", input="hello", stream=True))
    assert [event.sequence_number for event in events] == [*range(len(events))]
    kinds = [event.type.removeprefix("response.") for event in events]
    assert [kind for kind in kinds if not kind.endswith("delta")] == [
        *("created", "in_progress"),
        *("output_item.added", "content_part.added", "output_text.done"),
        *("content_part.done", "output_item.done"),
        *("output_item.added", "function_call_arguments.done", "output_item.done"),
        "completed",
    ]


def test_exchanges_say_which_api(server: ScriptedServer) -> None:
    for api in CLIENTS:
        with open_client(api, server) as client:
            client.whole(HELLO)
    assert [exchange.path for exchange in server.exchanges] == [
        *("/v1/chat/completions", "/v1/responses", "/v1/messages")
    ]
    assert json.loads(server.exchanges[2].body)["max_tokens"] == 100
