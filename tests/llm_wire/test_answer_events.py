"""Whole answers and the events of their streams, each made from the other, without loss."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentstepper_nb.llm_wire.answer_events import encode_json_event
from agentstepper_nb.llm_wire.chat_completions import (
    ChatCompletion,
    ChatCompletionChoice,
    ChatCompletionUsage,
    ChatFunctionCall,
    ChatToolCall,
    encode_json,
    make_assistant_message,
    split_completion,
)
from agentstepper_nb.llm_wire.llm_api import APIS, LlmRequest, recognize_request
from agentstepper_nb.llm_wire.messages import answers as message_answers
from agentstepper_nb.llm_wire.responses import answers as response_answers

CHAT, RESPONSES, MESSAGES, GEMINI = APIS
STREAM = "text/event-stream; charset=utf-8"

texts = st.text(st.characters(codec="utf-8"), max_size=20)
names = st.sampled_from(["add", "search"])
objects = st.dictionaries(
    texts, st.one_of(st.none(), st.booleans(), st.integers(), texts), max_size=3
)
unknown = st.fixed_dictionaries({}, optional={"x_unknown": st.integers() | objects})


def given_members(**members: Any) -> Any:
    """Objects of these members, with one that no codec knows or without."""
    return st.tuples(st.fixed_dictionaries(members), unknown).map(lambda two: two[0] | two[1])


def one(value: Any) -> Any:
    return st.just(value)


chat_calls = given_members(
    id=texts,
    type=one("function"),
    function=st.fixed_dictionaries({"name": names, "arguments": texts}),
)
chat_messages = st.fixed_dictionaries(
    {"role": one("assistant"), "content": st.none() | texts},
    optional={"tool_calls": st.lists(chat_calls, min_size=1, max_size=3), "refusal": texts},
)
chat_choices = st.lists(
    st.tuples(chat_messages, st.sampled_from(["stop", "length", "tool_calls"])),
    min_size=1,
    max_size=2,
).map(
    lambda choices: [
        {"index": at, "message": message, "finish_reason": reason}
        for at, (message, reason) in enumerate(choices)
    ]
)
chats = given_members(
    id=texts,
    object=one("chat.completion"),
    model=texts,
    choices=chat_choices,
    usage=st.none() | one({"prompt_tokens": 1, "completion_tokens": 2}),
)

output_parts = given_members(type=one("output_text"), text=texts, annotations=st.lists(objects))
output_items = st.one_of(
    given_members(
        id=texts, type=one("message"), role=one("assistant"), content=st.lists(output_parts)
    ),
    given_members(id=texts, type=one("function_call"), call_id=texts, name=names, arguments=texts),
    given_members(id=texts, type=one("custom_tool_call"), name=names, input=texts),
    given_members(
        id=texts,
        type=one("reasoning"),
        summary=st.lists(given_members(type=one("summary_text"), text=texts)),
    ),
    given_members(id=texts, type=one("web_search_call"), status=one("completed")),
)
response_objects = given_members(
    id=texts,
    object=one("response"),
    status=st.sampled_from(["completed", "incomplete"]),
    output=st.lists(output_items, max_size=4),
    usage=one({"input_tokens": 1, "output_tokens": 2}),
)

blocks = st.one_of(
    given_members(type=one("text"), text=texts),
    given_members(type=one("text"), text=texts, citations=st.lists(objects, min_size=1)),
    given_members(type=one("tool_use"), id=texts, name=names, input=objects),
    given_members(type=one("thinking"), thinking=texts, signature=texts),
    given_members(type=one("redacted_thinking"), data=texts),
)
anthropic_messages = given_members(
    id=texts,
    type=one("message"),
    role=one("assistant"),
    content=st.lists(blocks, max_size=4),
    stop_reason=st.sampled_from(["end_turn", "tool_use"]),
    stop_sequence=st.none() | texts,
    usage=one({"input_tokens": 1, "output_tokens": 2}),
)

gemini_parts = st.one_of(
    given_members(functionCall=st.fixed_dictionaries({"name": names, "args": objects})),
    given_members(text=texts, thoughtSignature=texts),
)
gemini_answers = given_members(
    candidates=st.lists(
        st.fixed_dictionaries(
            {
                "content": st.fixed_dictionaries(
                    {"role": one("model"), "parts": st.lists(gemini_parts)}
                ),
                "finishReason": one("STOP"),
            }
        ),
        min_size=1,
        max_size=1,
    ),
    modelVersion=texts,
)


def request_of(api: Any, body: dict[str, Any] | None = None) -> LlmRequest:
    return LlmRequest(api, {"stream": True, **(body or {})}, "m")


@pytest.mark.parametrize(
    ("api", "answers"),
    [
        (CHAT, chats),
        (RESPONSES, response_objects),
        (MESSAGES, anthropic_messages),
        (GEMINI, gemini_answers),
    ],
    ids=[api.name for api in APIS],
)
def test_a_stream_made_from_an_answer_gives_the_answer_again(api: Any, answers: Any) -> None:
    @given(answers, st.booleans())
    def check(answer: Any, asks_usage: bool) -> None:
        request = request_of(api, {"stream_options": {"include_usage": asks_usage}})
        joined = request.decode_answer(STREAM, request.encode_answer(STREAM, answer))
        assert joined.is_complete
        assert joined.error is None
        expected = {k: v for k, v in answer.items() if not (k == "usage" and v is None)}
        assert {k: v for k, v in joined.answer.items() if k in expected} == expected

    check()


@given(texts, st.lists(st.tuples(names, objects), max_size=3))
def test_streams_of_the_scripted_model_are_its_whole_answers(
    text: str, called: list[tuple[str, dict[str, Any]]]
) -> None:
    calls = [
        ChatToolCall(f"call_{at}", ChatFunctionCall(name=name, arguments=json.dumps(arguments)))
        for at, (name, arguments) in enumerate(called)
    ]
    message = make_assistant_message(text or None, calls)
    reason: Any = "tool_calls" if calls else "stop"
    completion = ChatCompletion(
        id="chatcmpl-1",
        created=1,
        model="m",
        choices=(ChatCompletionChoice(index=0, message=message, finish_reason=reason),),
        usage=ChatCompletionUsage(prompt_tokens=1, completion_tokens=2, total_tokens=3),
    )
    chunks = b"".join(
        encode_json_event(msgspec.json.decode(encode_json(chunk)))
        for chunk in split_completion(completion, include_usage=True)
    )
    for api, stream, whole in (
        (CHAT, chunks, encode_json(completion)),
        (
            RESPONSES,
            b"".join(response_answers.encode_events(completion)),
            response_answers.encode_answer(completion),
        ),
        (
            MESSAGES,
            b"".join(message_answers.encode_events(completion)),
            message_answers.encode_answer(completion),
        ),
    ):
        joined = request_of(api).decode_answer(STREAM, stream)
        assert joined.is_complete
        expected = msgspec.json.decode(whole)
        assert {k: v for k, v in joined.answer.items() if v is not None} == {
            k: v for k, v in expected.items() if v is not None
        }


@pytest.mark.parametrize(
    ("api", "event", "message"),
    [
        (CHAT, {"error": {"message": "overloaded"}}, "overloaded"),
        (RESPONSES, {"type": "error", "message": "overloaded"}, "overloaded"),
        (
            RESPONSES,
            {
                "type": "response.failed",
                "response": {"status": "failed", "output": [], "error": {"message": "broken"}},
            },
            "broken",
        ),
        (MESSAGES, {"type": "error", "error": {"message": "overloaded"}}, "overloaded"),
        (GEMINI, {"error": {"message": "quota", "code": 429}}, "quota"),
    ],
)
def test_an_error_amid_a_stream_is_told(api: Any, event: Any, message: str) -> None:
    joined = request_of(api).decode_answer(STREAM, encode_json_event(event))
    assert joined.error == message


@pytest.mark.parametrize("api", [CHAT, RESPONSES, MESSAGES], ids=lambda api: api.name)
def test_a_stream_that_was_cut_off_is_incomplete(api: Any) -> None:
    whole = {
        CHAT: {"choices": [{"index": 0, "message": {"content": "hi"}, "finish_reason": "stop"}]},
        RESPONSES: {"status": "completed", "output": []},
        MESSAGES: {"content": [{"type": "text", "text": "hi"}]},
    }[api]
    request = request_of(api)
    stream = request.encode_answer(STREAM, whole)
    first = stream[: stream.index(b"\n\n") + 2]
    joined = request.decode_answer(STREAM, first)
    assert not joined.is_complete
    assert joined.error is None


def test_calls_that_a_server_sends_whole_and_without_an_index_stay_apart() -> None:
    calls = [{"id": f"c{n}", "function": {"name": "add", "arguments": "{}"}} for n in range(2)]
    chunks = [{"choices": [{"delta": {"tool_calls": [call]}}]} for call in calls]
    end = {"choices": [{"delta": {}, "finish_reason": "tool_calls"}]}
    joined = CHAT.join_events([*chunks, end])
    assert joined.answer["choices"][0]["message"]["tool_calls"] == calls


def test_geminis_list_of_answers_is_read_and_written() -> None:
    parts = [
        {"candidates": [{"content": {"role": "model", "parts": [{"text": text}]}}]}
        for text in ("one ", "two")
    ]
    parts[-1]["candidates"][0]["finishReason"] = "STOP"
    request = LlmRequest(GEMINI, {}, "m")
    joined = request.decode_answer("application/json", msgspec.json.encode(parts))
    assert joined.answer["candidates"][0]["content"]["parts"] == [{"text": "one two"}]
    written = request.encode_answer("application/json", joined.answer, is_list=True)
    assert msgspec.json.decode(written) == [joined.answer]


@pytest.mark.parametrize(
    ("path", "body", "name"),
    [
        ("/v1/chat/completions", {"messages": []}, "Chat Completions"),
        ("/openai/deployments/gpt/chat/completions", {"messages": []}, "Chat Completions"),
        ("/v1/responses", {"input": "hi"}, "Responses"),
        ("/v1/messages", {"messages": []}, "Messages"),
        ("/v1beta/models/g:generateContent", {"contents": []}, "Gemini"),
        ("/v1beta/models/g:streamGenerateContent", {"contents": []}, "Gemini"),
        ("/v1/responses/resp_1", {"input": "hi"}, None),
        ("/v1/responses/resp_1/cancel", {}, None),
        ("/v1/messages/count_tokens", {"messages": []}, None),
        ("/v1/messages/batches", {"requests": []}, None),
        ("/v1/threads/thread_1/messages", {"role": "user", "content": "hi"}, None),
        ("/v1beta/models/g:countTokens", {"contents": []}, None),
        ("/v1/embeddings", {"input": "hi"}, None),
        ("/v1/chat/completions", ["no", "object"], None),
    ],
)
def test_a_request_is_recognized_by_path_and_body(path: str, body: Any, name: str | None) -> None:
    known = recognize_request("POST", path, lambda: msgspec.json.encode(body))
    assert (known and known.api.name) == name


def test_only_a_post_is_a_query_and_its_body_is_json() -> None:
    assert recognize_request("GET", "/v1/chat/completions", lambda: b'{"messages": []}') is None
    assert recognize_request("POST", "/v1/chat/completions", lambda: b"--boundary") is None
