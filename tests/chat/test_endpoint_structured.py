"""A model without tools behind an endpoint: STRUCTURED_CHAT."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentstepper_nb.errors import ModelError
from agentstepper_nb.llm_wire.conversation import AssistantMessage, UserMessage
from agentstepper_nb.protocol.chat import MessageType
from tests.chat.answering import answered, whole
from tests.chat.endpoints import an_endpoint, fail, look, says
from tests.helpers.loops import on_loop


def does(action: str, action_input: Any) -> str:
    return json.dumps({"action": action, "action_input": action_input})


@on_loop
async def test_a_model_without_tools_says_what_it_wants() -> None:
    endpoint, model = an_endpoint(
        says(does("look", {"at": "a", "lines": 1})),
        says(f"I know now.\n```json\n{does('answer', 'It is a.')}\n```\nSo be it."),
        tools=[look],
        agent_type="STRUCTURED_CHAT",
    )
    call, answer = whole(await answered(endpoint))
    assert (call.name, call.result) == ("look", ["a"])
    assert answer.content == "It is a."
    assert answer.type == MessageType.MESSAGE
    first, second = model.requests
    assert first.tools == ()
    assert first.system is not None
    assert '- look: Look at a file.\n  schema: {"type":"object"' in first.system
    assert second.messages[1:] == (
        AssistantMessage(content=does("look", {"at": "a", "lines": 1})),
        UserMessage(content='[look gave] ["a"]'),
    )


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        ("I can't.", "there is no JSON object"),
        ('{"action": 3}', "Expected `str`, got `int`"),
        ('{"action": "answer"', "truncated"),
        ('{"name": "look"}', "missing required field `action`"),
    ],
)
@on_loop
async def test_an_action_may_be_repaired_once(bad: str, why: str) -> None:
    endpoint, model = an_endpoint(
        says(bad), says(does("answer", {"n": 1})), agent_type="STRUCTURED_CHAT"
    )
    assert await answered(endpoint) == ['{"n":1}']
    last = model.requests[1].messages[-1]
    assert why in last.content
    again, _ = an_endpoint(says(bad), says(bad), agent_type="STRUCTURED_CHAT")
    with pytest.raises(ModelError, match="nor did its first"):
        await answered(again)


@on_loop
async def test_a_failed_action_is_told_to_the_model() -> None:
    endpoint, model = an_endpoint(
        says(does("look", None)),
        says(does("fail", {})),
        says(does("answer", "Well.")),
        tools=[look, fail],
        agent_type="STRUCTURED_CHAT",
    )
    await answered(endpoint)
    told = [each.content for each in model.requests[2].messages if isinstance(each, UserMessage)]
    assert told[1].startswith("[look failed] The arguments can't be used")
    assert told[2] == "[fail failed] OSError: no such file"
