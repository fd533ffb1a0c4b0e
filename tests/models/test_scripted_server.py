"""The server as an agent meets it: through the real openai SDK, over real HTTP."""

import asyncio
import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import openai
import pytest
from openai import AsyncOpenAI, OpenAI

from agentstepper_nb.models.scripted import (
    Script,
    ScriptedCall,
    ScriptedServer,
    ScriptRule,
    always,
    say,
    says,
    turn,
)

LOOK = ScriptedCall("read_file", {"path": "cart.py"})
SCRIPT = Script(
    "talk",
    [
        ScriptRule(says("user", "fail"), lambda request: say(str(1 / 0))),
        ScriptRule(says("user", "both"), say(None, LOOK, ScriptedCall("run_tests"))),
        ScriptRule(says("user", "half"), ScriptedCall("read_file", '{"path": "ca')),
        ScriptRule(turn(0), say("Let me look.", LOOK)),
        ScriptRule(turn(1), say("It is   fine,\nI think.")),
    ],
)
TOOLS: Any = [{"type": "function", "function": {"name": "read_file", "parameters": {}}}]


def make_request(text: str, turns: int = 0) -> dict[str, Any]:
    messages = [{"role": "user", "content": text}]
    messages += [{"role": "assistant", "content": "hm"}] * turns
    return {"model": "some-model", "messages": messages}


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(SCRIPT) as server:
        yield server


@pytest.fixture
def client(server: ScriptedServer) -> Iterator[OpenAI]:
    with OpenAI(base_url=server.base_url, api_key="any", max_retries=0) as client:
        yield client


def test_a_text_with_a_tool_call(client: OpenAI) -> None:
    completion = client.chat.completions.create(**make_request("hello"))
    (choice,) = completion.choices
    assert choice.message.model_dump(exclude_none=True) == {
        "role": "assistant",
        "content": "Let me look.",
        "tool_calls": [
            {
                "id": f"{completion.id.replace('chatcmpl-', 'call_')}_0",
                "type": "function",
                "function": {"name": "read_file", "arguments": '{"path": "cart.py"}'},
            }
        ],
    }
    assert choice.finish_reason == "tool_calls"
    assert (completion.model, completion.created) == ("some-model", 0)


def test_the_turn_is_counted_in_the_request(client: OpenAI) -> None:
    (choice,) = client.chat.completions.create(**make_request("hello", turns=1)).choices
    assert choice.message.content == "It is   fine,\nI think."
    assert choice.message.tool_calls is None
    assert choice.finish_reason == "stop"


def test_usage_is_computed(client: OpenAI) -> None:
    usage = client.chat.completions.create(**make_request("one two", turns=1)).usage
    assert usage is not None
    assert (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens) == (3, 7, 10)
    offered = client.chat.completions.create(**make_request("one two", turns=1), tools=TOOLS).usage
    assert offered is not None
    assert offered.prompt_tokens > usage.prompt_tokens


def test_calls_without_a_text(client: OpenAI) -> None:
    message = client.chat.completions.create(**make_request("both")).choices[0].message
    assert message.content is None
    assert [call.to_dict()["function"] for call in message.tool_calls or ()] == [
        {"name": "read_file", "arguments": '{"path": "cart.py"}'},
        {"name": "run_tests", "arguments": "{}"},
    ]
    assert len({call.id for call in message.tool_calls or ()}) == 2


def test_malformed_arguments_arrive_as_they_are(client: OpenAI) -> None:
    (call,) = calls_of(client.chat.completions.create(**make_request("half")))
    assert call[1:] == ("read_file", '{"path": "ca')


@pytest.mark.parametrize("text", ["hello", "both", "half"])
@pytest.mark.parametrize("turns", [0, 1])
def test_a_stream_gives_what_the_whole_answer_gives(client: OpenAI, text: str, turns: int) -> None:
    whole = client.chat.completions.create(**make_request(text, turns))
    options: Any = {"stream_options": {"include_usage": True}}
    with client.chat.completions.stream(**make_request(text, turns), **options) as stream:
        streamed = stream.get_final_completion()
    assert streamed.id == whole.id
    assert streamed.usage == whole.usage
    assert streamed.choices[0].finish_reason == whole.choices[0].finish_reason
    for field in ("role", "content"):
        assert getattr(streamed.choices[0].message, field) == getattr(
            whole.choices[0].message, field
        )
    assert calls_of(streamed) == calls_of(whole)


def calls_of(completion: Any) -> list[tuple[str, str, str]]:
    calls = completion.choices[0].message.tool_calls or ()
    return [(call.id, call.function.name, call.function.arguments) for call in calls]


def test_a_stream_speaks_of_usage_only_when_asked(client: OpenAI) -> None:
    plain = list(client.chat.completions.create(**make_request("hello"), stream=True))
    assert all("usage" not in chunk.model_fields_set for chunk in plain)
    options: Any = {"include_usage": True}
    *others, last = client.chat.completions.create(
        **make_request("hello"), stream=True, stream_options=options
    )
    assert last.choices == []
    assert last.usage is not None
    assert last.usage.total_tokens > 0
    assert len(others) == len(plain) > 5


def test_the_models(client: OpenAI) -> None:
    assert [model.id for model in client.models.list()] == ["talk"]


def test_where_no_rule_matches_a_400_names_the_turn(client: OpenAI) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        client.chat.completions.create(**make_request("hello", turns=7))
    assert caught.value.code == "no_rule_matches"
    assert caught.value.param == "messages"
    assert caught.value.type == "invalid_request_error"
    for part in ("'talk'", "turn 7", "'hm'", "4. turn(0); 5. turn(1)"):
        assert part in caught.value.message


def test_a_stream_is_refused_the_same_way(client: OpenAI) -> None:
    with pytest.raises(openai.BadRequestError, match="turn 7"):
        client.chat.completions.create(**make_request("hello", turns=7), stream=True)


def test_a_script_that_fails_is_a_500_that_no_client_tries_again(
    server: ScriptedServer, caplog: pytest.LogCaptureFixture
) -> None:
    with (
        OpenAI(base_url=server.base_url, api_key="any", max_retries=2) as client,
        pytest.raises(
            openai.InternalServerError, match="'talk' failed: ZeroDivisionError"
        ) as caught,
    ):
        client.chat.completions.create(**make_request("fail"))
    assert caught.value.code == "script_failed"
    assert len(server.exchanges) == 1
    assert "ZeroDivisionError" in caplog.text


def test_more_than_one_answer_is_refused_by_name(client: OpenAI) -> None:
    with pytest.raises(openai.BadRequestError, match=r"\$\.n"):
        client.chat.completions.create(**make_request("hello"), n=2)


def test_requests_are_kept(server: ScriptedServer, client: OpenAI) -> None:
    client.chat.completions.create(**make_request("hello"), temperature=0.5)
    with pytest.raises(openai.BadRequestError):
        client.chat.completions.create(**make_request("hello", turns=7))
    first, second = server.exchanges
    assert first.json == {**make_request("hello"), "temperature": 0.5}
    assert (first.status, second.status) == (200, 400)


def test_fifty_at_once_get_the_same_bytes(server: ScriptedServer) -> None:
    async def race() -> set[str]:
        async with AsyncOpenAI(base_url=server.base_url, api_key="any") as client:
            create = client.chat.completions.with_raw_response.create
            answers = await asyncio.gather(*(create(**make_request("hello")) for _ in range(50)))
        return {answer.text for answer in answers}

    assert len(asyncio.run(race())) == 1


def test_fifty_streams_at_once_are_the_same(server: ScriptedServer, client: OpenAI) -> None:
    def stream(_: int) -> str:
        return json.dumps(
            [
                c.to_dict()
                for c in client.chat.completions.create(**make_request("both"), stream=True)
            ]
        )

    with ThreadPoolExecutor(50) as pool:
        assert len(set(pool.map(stream, range(50)))) == 1


def test_another_server_gives_the_same_answer(client: OpenAI) -> None:
    here = client.chat.completions.create(**make_request("hello"))
    with (
        ScriptedServer(SCRIPT) as other,
        OpenAI(base_url=other.base_url, api_key="other") as second,
    ):
        assert second.chat.completions.create(**make_request("hello")) == here


def test_another_question_has_another_id(client: OpenAI) -> None:
    ids = {client.chat.completions.create(**make_request(text)).id for text in ("a", "b", "a")}
    assert len(ids) == 2


def test_an_async_stream(server: ScriptedServer) -> None:
    async def read() -> str:
        async with AsyncOpenAI(base_url=server.base_url, api_key="any") as client:
            stream = await client.chat.completions.create(
                **make_request("hi", turns=1), stream=True
            )
            return "".join([chunk.choices[0].delta.content or "" async for chunk in stream])

    assert asyncio.run(read()) == "It is   fine,\nI think."


def test_threads_end_with_the_server() -> None:
    before = set(threading.enumerate())
    server = ScriptedServer(Script("s", [ScriptRule(always, say("hi"))])).start()
    with OpenAI(base_url=server.base_url, api_key="any") as client:
        client.chat.completions.create(**make_request("a"))
        assert set(threading.enumerate()) - before  # the connection is kept alive
        server.close()
        assert set(threading.enumerate()) <= before  # one that another test left may have ended


def test_start_and_close_may_be_said_twice() -> None:
    server = ScriptedServer(SCRIPT)
    server.close()
    with pytest.raises(RuntimeError, match="not started"):
        _ = server.base_url
    url = server.start().base_url
    assert server.start().base_url == url
    server.close()
    server.close()


def test_it_listens_on_loopback_alone(server: ScriptedServer) -> None:
    assert server.base_url.startswith("http://127.0.0.1:")


def test_a_port_that_is_taken_is_an_error(server: ScriptedServer) -> None:
    port = int(server.base_url.split(":")[2].split("/")[0])
    with pytest.raises(OSError, match="in use"):
        ScriptedServer(SCRIPT, port=port).start()
