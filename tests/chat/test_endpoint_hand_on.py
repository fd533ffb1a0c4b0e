"""A model behind an endpoint that hands a message on."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentstepper_nb.chat.connector import HandOn
from agentstepper_nb.protocol.chat import AgentInfo, AgentType
from tests.chat.answering import a_turn, answered, whole
from tests.chat.endpoints import an_endpoint, results, says
from tests.coding.playing import calls
from tests.helpers.loops import on_loop


def texts(given: list[Any]) -> str:
    return "".join(item for item in given if isinstance(item, str))


# ---- handing on --------------------------------------------------------------------------------------

OTHERS = [
    AgentInfo(name="assistant", role="SUPERVISOR", type=AgentType.TOOL_CALLING),
    AgentInfo(name="coder", role="OTHER", type=AgentType.TOOL_CALLING, description="writes code"),
]


@pytest.mark.parametrize("kind", ["TOOL_CALLING", "STRUCTURED_CHAT"])
@on_loop
async def test_a_supervisor_may_hand_on(kind: str) -> None:
    told = {"agent_name": "coder", "text": "Write it."}
    answer = (
        calls(("1", "hand_on", told))
        if kind == "TOOL_CALLING"
        else says(json.dumps({"action": "hand_on", "action_input": told}))
    )
    endpoint, model = an_endpoint(answer, role="SUPERVISOR", agent_type=kind)
    got = await answered(endpoint, turn=a_turn(agents=OTHERS))
    assert got[-1] == HandOn("coder", "Write it.")
    (message,) = whole(got[:-1])
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


@on_loop
async def test_a_hand_on_to_nobody_is_told_to_the_model() -> None:
    endpoint, model = an_endpoint(
        calls(("1", "hand_on", {"agent_name": "assistant", "text": "x"}), ("2", "hand_on", "{")),
        says("Well."),
        role="CREW",
    )
    got = await answered(endpoint, turn=a_turn(agents=OTHERS))
    assert texts(got) == "Well."
    # In the conversation, too: what is said before and after is not one text.
    assert [(each.type, each.ok) for each in whole(got)] == [
        ("FUNCTION", False),
        ("FUNCTION", False),
        ("MESSAGE", None),
    ]
    first, second = results(model)
    assert first == ("There is no such agent; there are: coder.", False)
    assert "can't be used" in second[0]


@on_loop
async def test_others_have_nobody_to_hand_on_to() -> None:
    for role, agents in (("OTHER", OTHERS), ("SUPERVISOR", OTHERS[:1])):
        endpoint, model = an_endpoint(says("Well."), role=role)
        await answered(endpoint, turn=a_turn(agents=agents))
        assert model.requests[0].tools == ()
