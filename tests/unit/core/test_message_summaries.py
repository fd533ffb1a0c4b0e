"""One line on messages as the frameworks of `tests/frameworks` send and dump them.

`message_bodies.json` has bodies that went through a Core, and what LangChain and pydantic-ai dump; the
view's tests read the same.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentstepper_nb.core.message_parts import PartKind, read_answer, read_message
from agentstepper_nb.core.summaries import summarize
from agentstepper_nb.protocol.data_model import EventKind, EventSide, HaltPoint

BODIES: Final = json.loads(
    (Path(__file__).parents[3] / "js/tests/helpers/message_bodies.json").read_text()
)
QUERY, TOOL = EventKind.LLM_QUERY, EventKind.TOOL_INVOCATION


def summarize_value(kind: EventKind, side: EventSide, value: Any) -> str:
    return summarize(
        HaltPoint(
            id="b", run="r", event="e", seq=1, side=side, kind=kind, at=0.0, data=json.dumps(value)
        )
    )


def summarize_query(value: Any) -> str:
    return summarize_value(QUERY, EventSide.BEGIN, value)


def summarize_answer(value: Any) -> str:
    return summarize_value(QUERY, EventSide.END, value)


def given_back(value: Any) -> str:
    return summarize_value(TOOL, EventSide.END, value)


def spoken(*content: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(content)}


BOTH = "Returns 2 tools' results: add → 5, search → found boats"
CALLS = "Calls add(a=2, b=3), search(boats)"


@pytest.mark.parametrize(
    ("api", "prompt", "answer", "last"),
    [
        ("chat_completions", BOTH, CALLS, "The tools say: 5, found boats"),
        ("responses", BOTH, CALLS, "The tools say: 5, found boats"),
        ("gemini", "Returns a tool's result: 5", "Calls add(a=2, b=3)", "The tools say: 5"),
    ],
)
def test_a_body_of_each_api(api: str, prompt: str, answer: str, last: str) -> None:
    bodies = BODIES[api]
    assert summarize_query(bodies["prompt"]) == prompt
    assert summarize_answer(bodies["answer"]) == answer
    assert summarize_answer(bodies["last"]) == last


def test_messages_with_thoughts_images_and_results() -> None:
    body = BODIES["messages"]["prompt"]
    assert summarize_query(body) == "Returns 2 tools' results: add → 5, search → No boats."
    messages = body["messages"]
    assert (
        summarize_query({**body, "messages": messages[:1]}) == "What is 2+3, and where are boats?"
    )
    image = {"role": "user", "content": messages[0]["content"][:1]}
    assert summarize_query({**body, "messages": [image]}) == "Sends an image"
    assert summarize_answer(BODIES["messages"]["answer"]) == "Calls add(a=2, b=3)"
    thought = BODIES["messages"]["answer"]["content"][:1]
    assert summarize_answer({"role": "assistant", "content": thought}) == "Answers with nothing"


def test_what_a_framework_puts_ahead_stands_with_what_the_user_says() -> None:
    assert summarize_query(BODIES["smolagents"]["first"]) == "New task: both"
    assert summarize_query(BODIES["smolagents"]["prompt"]) == "Observation: 5"
    assert summarize_query(BODIES["crewai"]["first"]) == "Current Task: please add"
    assert summarize_query("Thought:\nCode:\n\n  x = 1\ny = 2") == "Thought: Code: x = 1"
    assert summarize_query("Done:\n") == "Done:"
    assert summarize_query(f"{'word ' * 10}:\nnot a label") == f"{'word ' * 10}:"
    assert (
        summarize_query(BODIES["mini_swe_agent"]["prompt"]) == "Returns a tool's result: 4 lines: 5"
    )


LANGCHAIN = ("dumped", "messages", "as_dicts")


@pytest.mark.parametrize("form", LANGCHAIN)
def test_langchains_messages_however_they_are_dumped(form: str) -> None:
    messages = BODIES["langchain"][form]
    assert summarize_query(messages[:2]) == "What is 2+3?"
    assert summarize_query(messages[:3]) == "Asks to go on after: Calls add(a=2, b=3)"
    assert summarize_query(messages[:4]) == "Returns a tool's result: 5"
    assert summarize_query({"messages": messages[:4], "step": 1}) == "Returns a tool's result: 5"
    assert [summarize_answer(message) for message in messages[2:]] == [
        "Calls add(a=2, b=3)",
        "5",
        "It is 5.",
    ]
    assert [given_back(message) for message in messages[2:]] == [
        "Calls add(a=2, b=3)",
        "5",
        "It is 5.",
    ]
    assert summarize_answer({"messages": messages}) == "It is 5."
    assert given_back({"messages": messages}) == "It is 5."


def test_a_graphs_command_says_what_its_tool_gave() -> None:
    assert given_back(BODIES["langchain"]["command"]) == "5"
    assert (
        given_back({"update": {"step": 1}, "goto": "end"}) == '{"update":{"step":1},"goto":"end"}'
    )


def test_a_conversation_among_arguments_is_counted() -> None:
    state, messages = BODIES["langchain"]["state"], BODIES["langchain"]["messages"]
    call = {"Tool": "node", "Argument": {"state": state, "step": 3}}
    assert summarize_value(TOOL, EventSide.BEGIN, call) == "node(state=5 messages, step=3)"
    call = {"Tool": "node", "Argument": {"messages": messages[:1], "to": ["a"]}}
    assert summarize_value(TOOL, EventSide.BEGIN, call) == 'node(messages=1 message, to=["a"])'


def test_a_call_that_stands_twice_in_a_message_is_said_once() -> None:
    call = {"name": "ls", "args": {"path": "."}, "id": "c1", "type": "tool_call"}
    block = {"type": "tool_use", "id": "c1", "name": "ls", "input": {"path": "."}}
    message = {"type": "ai", "content": [block], "tool_calls": [call], "additional_kwargs": {}}
    assert summarize_answer(message) == "Calls ls(.)"
    assert (
        summarize_answer({**message, "type": "AIMessageChunk", "tool_call_chunks": []})
        == "Calls ls(.)"
    )


def test_pydantic_ais_messages() -> None:
    messages = BODIES["pydantic_ai"]["messages"]
    assert [summarize_query(messages[:1]), summarize_query(messages[:4])] == [
        "What is 2+3?",
        "Please return text.",
    ]
    assert summarize_query(messages[:3]).startswith(
        "Returns 3 tools' results: add → 5, add → a is missing, "
    )
    assert summarize_query(messages) == "Look"
    assert [summarize_answer(messages[1]), summarize_answer(messages[4])] == [
        "Calls add(a=2, b=3), add(1)",
        "5",
    ]
    assert given_back(messages[4]) == "5"


@pytest.mark.parametrize(
    ("item", "line"),
    [
        ({"type": "web_search_call", "action": {"query": "x"}}, "Calls web_search(x)"),
        ({"type": "mcp_call", "name": "ls", "arguments": '{"p": "."}'}, "Calls ls(.)"),
        ({"type": "local_shell_call", "action": {"command": ["ls"]}}, 'Calls local_shell(["ls"])'),
        ({"type": "server_tool_use", "name": "web_search", "input": {}}, "Calls web_search()"),
    ],
)
def test_calls_of_the_services_own_tools(item: dict[str, Any], line: str) -> None:
    assert summarize_answer({"object": "response", "output": [item]}) == line


@pytest.mark.parametrize(
    "result",
    [
        {"type": "custom_tool_call_output", "call_id": "c", "output": "ok"},
        {"type": "computer_call_output", "call_id": "c", "output": "ok"},
        {"role": "function", "name": "f", "content": "ok"},
        {"role": "user", "content": [{"toolResult": {"content": [{"text": "ok"}]}}]},
    ],
    ids=str,
)
def test_a_prompt_that_ends_with_a_result_of_any_kind(result: dict[str, Any]) -> None:
    assert summarize_query({"input": [{"role": "user", "content": "Go"}, result]}) == (
        "Returns a tool's result: ok"
    )


def test_what_the_user_says_after_a_result_is_what_is_new() -> None:
    result = {"type": "tool_result", "tool_use_id": "t", "content": "5"}
    text = {"type": "text", "text": "And now?"}
    assert summarize_query([{"role": "user", "content": [result, text]}]) == "And now?"
    assert summarize_query(
        [{"role": "user", "content": [result]}, {"role": "user", "content": "So?"}]
    ) == ("So?")
    reminder = {"role": "system", "content": "Be brief."}
    assert (
        summarize_query([{"role": "user", "content": [result]}, reminder])
        == "Returns a tool's result: 5"
    )
    assert summarize_query([{"role": "user", "content": ""}]) == "Asks with an empty prompt"
    nothing = {"role": "assistant", "content": None}
    assert summarize_query([{"role": "user", "content": "Go"}, nothing]) == "Asks to go on"


@pytest.mark.parametrize(
    ("answer", "line"),
    [
        ({"choices": [{"text": "Done", "index": 0}]}, "Done"),
        ({"content": {"role": "model", "parts": [{"text": "Done", "thought": None}]}}, "Done"),
        ({"candidates": [{"finishReason": "SAFETY"}]}, "Answers with nothing"),
        ({"output": [{"type": "function_call", "name": "ls", "arguments": "{}"}]}, "Calls ls()"),
        ({"output": {"total": 1}}, '{"output":{"total":1}}'),
        ([{"type": "message", "content": [{"type": "output_text", "text": "Done"}]}], "Done"),
        (spoken({"toolUse": {"name": "ls", "input": {"path": "."}}}), "Calls ls(.)"),
        (spoken({"inlineData": {"mimeType": "image/png", "data": "iVBO"}}), "Sends an image"),
        (spoken({"inline_data": {"mime_type": "application/zip"}}), "Sends a file"),
    ],
    ids=str,
)
def test_answers_of_other_forms(answer: Any, line: str) -> None:
    assert summarize_answer(answer) == line


def test_results_of_mcp_are_their_texts() -> None:
    content = [{"type": "text", "text": "5"}]
    assert given_back({"content": content, "isError": False, "structuredContent": None}) == "5"
    assert given_back({"content": content, "structuredContent": {"result": 5}}) == "5"
    assert given_back({"content": content, "page": 2}).startswith('{"content":')


@pytest.mark.parametrize(
    "value",
    [
        {"type": "human", "content": "a row of a table"},
        {"role": "user", "content": "another"},
        {"messages": ["one", "two"]},
        [{"kind": "request"}],
    ],
    ids=str,
)
def test_a_tools_own_data_is_no_message(value: Any) -> None:
    assert given_back(value) == json.dumps(value, separators=(",", ":"))


@pytest.mark.parametrize(
    "item", [None, 1, "text", [], {}, {"type": "function", "function": {}}, {"parts": 1}, [1]]
)
def test_what_is_no_message_is_none(item: Any) -> None:
    assert read_message(item) is None


def test_the_parts_of_an_answer_are_in_their_order() -> None:
    parts = read_answer(BODIES["messages"]["answer"])
    assert parts is not None
    assert [part.kind for part in parts] == [PartKind.THOUGHT, PartKind.TEXT, PartKind.CALL]
    assert read_answer({"verdict": "ok"}) is None


#: What messages are made of, in any order.
KEYS = st.sampled_from(
    re.findall(
        r"\S+",
        """role content parts type kind part_kind messages contents input output choices candidates
        message tool_calls function_call functionCall functionResponse response name args arguments id
        lc kwargs data update goto isError object text thought tool_name tool_call_id
        additional_kwargs""",
    )
)
WORDS = st.sampled_from(
    re.findall(
        r"\S+",
        """constructor human ai tool user model request response tool_use tool_result function_call text
        function_call_output reasoning web_search_call image tool-call tool-return retry-prompt""",
    )
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)


@given(JSON)
def test_whatever_the_members_are_there_is_a_line(value: Any) -> None:
    for say in (summarize_query, summarize_answer, given_back):
        assert say(value)
    assert summarize_value(
        TOOL, EventSide.BEGIN, {"Tool": "f", "Argument": {"x": value}}
    ).startswith("f(")
