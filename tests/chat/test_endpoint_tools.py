"""A model's tools: by the API's own means, by JSON in its text, and the one by which it hands on."""

from __future__ import annotations

import asyncio
import json
import threading
from typing import Any

import pytest

from agentstepper_nb.chat.answer_adapter import iterate_answer
from agentstepper_nb.chat.connector import Handoff
from agentstepper_nb.chat.connectors.endpoint_agent import EndpointAgent
from agentstepper_nb.chat.connectors.function_tools import MAX_VALUE_CHARS
from agentstepper_nb.errors import ModelError
from agentstepper_nb.llm_wire.conversation import AssistantMessage, UserMessage
from agentstepper_nb.protocol.chat import AgentType, ChatAgentInfo, MessageType
from tests.chat.chats import (
    ScriptedChoices,
    build_messages,
    make_turn,
    make_user_message,
    record_answer,
)
from tests.chat.endpoints import (
    fail,
    greet,
    last_results,
    make_endpoint,
    make_text_answer,
    read_file,
)
from tests.coding.scripted_parts import make_tool_calls

TIMEOUT_S = 30


async def test_tools_are_called_and_told_of() -> None:
    endpoint, model = make_endpoint(
        make_tool_calls(
            ("1", "read_file", {"at": "a", "lines": 2}),
            ("2", "greet", {"name": "Ann"}),
            text="Wait. ",
        ),
        make_text_answer("Done."),
        tools=[read_file, greet],
    )
    got = await record_answer(endpoint)
    messages = build_messages(got)
    assert [message.content for message in messages] == ["Wait. ", "", "", "Done."]
    first, second = messages[1:3]
    assert (first.name, first.arguments, first.result, first.ok) == (
        "read_file",
        {"at": "a", "lines": 2},
        ["a", "a"],
        True,
    )
    assert (second.name, second.result) == ("greet", "a:Ann")
    assert last_results(model) == [('["a","a"]', True), ("a:Ann", True)]
    specs = {tool.name: tool for tool in model.requests[0].tools}
    assert specs["read_file"].description == "Look at a file."
    assert specs["read_file"].input_schema == {
        "type": "object",
        "properties": {"at": {"type": "string"}, "lines": {"type": "integer", "default": 10}},
        "required": ["at"],
        "additionalProperties": False,
    }
    assert specs["greet"].input_schema["properties"]["name"]["description"] == "Whom."


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (("1", "read_file", "{"), "The arguments are not JSON"),
        (("1", "read_file", {"at": 7}), "Expected `str`, got `int` - at `$.at`"),
        (("1", "read_file", {}), "missing required field `at`"),
        (("1", "read_file", {"at": "a", "more": 1}), "unknown field `more`"),
        (("1", "read_file", [1]), "Expected `object`, got `array`"),
        (("1", "shell", {}), "There is no tool 'shell'; there are: read_file, fail."),
        (("1", "fail", ""), "OSError: no such file"),
        (("1", "hand_on", {"agent_name": "x", "text": "y"}), "There is no tool 'hand_on'"),
    ],
)
async def test_what_goes_wrong_with_a_call_is_told_to_the_model(call: Any, why: str) -> None:
    endpoint, model = make_endpoint(
        make_tool_calls(call), make_text_answer("I see."), tools=[read_file, fail]
    )
    message, answer = build_messages(await record_answer(endpoint))
    assert (message.ok, answer.content) == (False, "I see.")
    ((told, ok),) = last_results(model)
    assert (why in told, ok, message.result) == (True, False, told)


async def test_a_tool_that_ends_the_process_only_fails() -> None:
    def leave() -> None:
        raise SystemExit(3)

    async def aleave() -> None:
        raise SystemExit(3)

    for tool, name in ((leave, "leave"), (aleave, "aleave")):
        endpoint, model = make_endpoint(
            make_tool_calls(("1", name, {})), make_text_answer("Well."), tools=[tool]
        )
        await record_answer(endpoint)
        assert "SystemExit(3)" in last_results(model)[0][0]


async def test_what_a_tool_gives_is_json_and_bounded() -> None:
    def odd() -> Any:
        return {"set": {1}, "nan": float("nan"), "object": threading.Lock, "half": "\ud83d"}

    def plain() -> Any:
        return {1: {"n": float("inf")}, "o": EndpointAgent}

    def long() -> str:
        return "a" * 300_000

    endpoint, model = make_endpoint(
        make_tool_calls(("1", "odd", {}), ("2", "plain", {}), ("3", "long", {})),
        make_text_answer("Well."),
        tools=[odd, plain, long],
    )
    messages = build_messages(await record_answer(endpoint))
    assert all(message.ok for message in messages[:3])
    assert "half" in messages[0].result
    assert messages[1].result["1"] == {"n": None}
    assert "200000 characters left out" in messages[2].result
    assert len(last_results(model)[2][0]) < MAX_VALUE_CHARS + 100


@pytest.mark.parametrize(
    ("id", "name", "args"),
    [
        ("1", "", "{}"),
        ("1", "x" * 5000, "{}"),
        ("c" * 5000, "read_file", '{"at": "a"}'),
        ("", "read_file", '{"at": "a"}'),
        ("1", "read_file", '{"at": ' + "[" * 100 + "]" * 100 + "}"),
        ("1", "read_file", "[" * 100_000),
        ("1", "read_file", '{"at": "' + "a" * 2_000_000 + '"}'),
        ("1", "read_file", '{"at": "\\ud83d"}'),
    ],
    ids=range(8),
)
async def test_whatever_a_model_calls_can_be_told(id: str, name: str, args: str) -> None:
    endpoint, _ = make_endpoint(
        make_tool_calls((id, name, args)), make_text_answer("Well."), tools=[read_file]
    )
    call, answer = build_messages(await record_answer(endpoint))
    assert (call.final, call.type, answer.content) == (True, "FUNCTION", "Well.")


async def test_a_tool_runs_on_a_thread_and_its_turn_can_be_ended() -> None:
    within, leave, out = threading.Event(), threading.Event(), threading.Event()

    def wait() -> None:
        within.set()
        leave.wait(TIMEOUT_S)
        out.set()

    endpoint, _ = make_endpoint(make_tool_calls(("1", "wait", {})), tools=[wait])
    task = asyncio.create_task(record_answer(endpoint))
    await asyncio.to_thread(within.wait, TIMEOUT_S)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    leave.set()
    assert await asyncio.to_thread(out.wait, TIMEOUT_S)


async def test_a_model_that_comes_to_no_end_is_stopped() -> None:
    endpoint, model = make_endpoint(
        *(make_tool_calls(("1", "read_file", {"at": "a"})) for _ in range(3)),
        tools=[read_file],
        max_rounds=2,
    )
    with pytest.raises(ModelError, match="asked 2 times"):
        await record_answer(endpoint)
    assert len(model.requests) == 2


@pytest.mark.parametrize(("choice", "ok"), [("Allow", True), ("Deny", False)])
async def test_the_person_is_asked_about_some(choice: str, ok: bool) -> None:
    person = ScriptedChoices(choice)
    endpoint, model = make_endpoint(
        make_tool_calls(
            ("1", "read_file", {"at": "a", "lines": 1}), ("2", "greet", {"name": "Ann"})
        ),
        make_text_answer("Well."),
        tools=[read_file, greet],
        confirm_tools=["read_file"],
    )
    messages = build_messages(await record_answer(endpoint, turn=make_turn(person=person)))
    ((text, choices, details),) = person.questions
    assert text == 'May assistant call read_file?\n{"at":"a","lines":1}'
    assert (choices, details) == (
        ("Allow", "Deny"),
        {"name": "read_file", "arguments": {"at": "a", "lines": 1}},
    )
    assert [message.ok for message in messages[:2]] == [ok, True]
    assert last_results(model)[0] == (
        ('["a"]', True) if ok else ("The person denied this call.", False)
    )


async def test_the_question_comes_after_what_was_said_before() -> None:
    got: list[Any] = []

    async def confirm(text: str, choices: Any = (), *, details: object = None) -> str:
        assert [item if isinstance(item, str) else item.name for item in got] == [
            "Wait.",
            "read_file",
        ]
        return "Allow"

    endpoint, _ = make_endpoint(
        make_tool_calls(("1", "read_file", {"at": "a"}), text="Wait."),
        make_text_answer("Well."),
        tools=[read_file],
        confirm_tools=True,
    )
    turn = make_turn(person=confirm)  # type: ignore[arg-type]
    async for item in iterate_answer(lambda: endpoint.chat(make_user_message(), turn)):
        got.append(item)
    assert len(got) == 4


def does(action: str, action_input: Any) -> str:
    return json.dumps({"action": action, "action_input": action_input})


async def test_a_model_without_tools_says_what_it_wants() -> None:
    endpoint, model = make_endpoint(
        make_text_answer(does("read_file", {"at": "a", "lines": 1})),
        make_text_answer(f"I know now.\n```json\n{does('answer', 'It is a.')}\n```\nSo be it."),
        tools=[read_file],
        agent_type="STRUCTURED_CHAT",
    )
    call, answer = build_messages(await record_answer(endpoint))
    assert (call.name, call.result) == ("read_file", ["a"])
    assert answer.content == "It is a."
    assert answer.type == MessageType.MESSAGE
    first, second = model.requests
    assert first.tools == ()
    assert first.system is not None
    assert '- read_file: Look at a file.\n  schema: {"type":"object"' in first.system
    assert second.messages[1:] == (
        AssistantMessage(content=does("read_file", {"at": "a", "lines": 1})),
        UserMessage(content='[read_file gave] ["a"]'),
    )


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        ("I can't.", "there is no JSON object"),
        ('{"action": 3}', "Expected `str`, got `int`"),
        ('{"action": "answer"', "truncated"),
        ('{"name": "read_file"}', "missing required field `action`"),
    ],
)
async def test_an_action_may_be_repaired_once(bad: str, why: str) -> None:
    endpoint, model = make_endpoint(
        make_text_answer(bad),
        make_text_answer(does("answer", {"n": 1})),
        agent_type="STRUCTURED_CHAT",
    )
    assert await record_answer(endpoint) == ['{"n":1}']
    last = model.requests[1].messages[-1]
    assert why in last.content
    again, _ = make_endpoint(
        make_text_answer(bad), make_text_answer(bad), agent_type="STRUCTURED_CHAT"
    )
    with pytest.raises(ModelError, match="answered twice without"):
        await record_answer(again)


async def test_a_failed_action_is_told_to_the_model() -> None:
    endpoint, model = make_endpoint(
        make_text_answer(does("read_file", None)),
        make_text_answer(does("fail", {})),
        make_text_answer(does("answer", "Well.")),
        tools=[read_file, fail],
        agent_type="STRUCTURED_CHAT",
    )
    await record_answer(endpoint)
    told = [each.content for each in model.requests[2].messages if isinstance(each, UserMessage)]
    assert told[1].startswith("[read_file failed] The arguments can't be used")
    assert told[2] == "[fail failed] OSError: no such file"


def texts(given: list[Any]) -> str:
    return "".join(item for item in given if isinstance(item, str))


# ---- handing on --------------------------------------------------------------------------------------

OTHERS = [
    ChatAgentInfo(name="assistant", role="SUPERVISOR", type=AgentType.TOOL_CALLING),
    ChatAgentInfo(
        name="coder", role="OTHER", type=AgentType.TOOL_CALLING, description="writes code"
    ),
]


@pytest.mark.parametrize("kind", ["TOOL_CALLING", "STRUCTURED_CHAT"])
async def test_a_supervisor_may_hand_on(kind: str) -> None:
    told = {"agent_name": "coder", "text": "Write it."}
    answer = (
        make_tool_calls(("1", "hand_on", told))
        if kind == "TOOL_CALLING"
        else make_text_answer(json.dumps({"action": "hand_on", "action_input": told}))
    )
    endpoint, model = make_endpoint(answer, role="SUPERVISOR", agent_type=kind)
    got = await record_answer(endpoint, turn=make_turn(agents=OTHERS))
    assert got[-1] == Handoff("coder", "Write it.")
    (message,) = build_messages(got[:-1])
    assert (message.name, message.arguments, message.ok) == ("hand_on", told, True)
    (request,) = model.requests
    if kind == "TOOL_CALLING":
        (tool,) = request.tools
        assert "coder (OTHER): writes code" in tool.description
        assert tool.input_schema["properties"]["agent_name"] == {"enum": ["coder"]}
    else:
        assert request.tools == ()
        assert request.system is not None
        assert "coder (OTHER): writes code" in request.system


async def test_a_hand_on_to_nobody_is_told_to_the_model() -> None:
    endpoint, model = make_endpoint(
        make_tool_calls(
            ("1", "hand_on", {"agent_name": "assistant", "text": "x"}), ("2", "hand_on", "{")
        ),
        make_text_answer("Well."),
        role="CREW",
    )
    got = await record_answer(endpoint, turn=make_turn(agents=OTHERS))
    assert texts(got) == "Well."
    # In the conversation, too: what is said before and after is not one text.
    assert [(each.type, each.ok) for each in build_messages(got)] == [
        ("FUNCTION", False),
        ("FUNCTION", False),
        ("MESSAGE", None),
    ]
    first, second = last_results(model)
    assert first == ("There is no such agent; there are: coder.", False)
    assert "can't be used" in second[0]


async def test_others_have_nobody_to_hand_on_to() -> None:
    for role, agents in (("OTHER", OTHERS), ("SUPERVISOR", OTHERS[:1])):
        endpoint, model = make_endpoint(make_text_answer("Well."), role=role)
        await record_answer(endpoint, turn=make_turn(agents=agents))
        assert model.requests[0].tools == ()
