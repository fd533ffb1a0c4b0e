"""A model behind an endpoint as an agent: its text, and what it is made of."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import aclosing
from typing import Any

import pytest

from agentstepper_nb.chat.answer_adapter import iterate_answer
from agentstepper_nb.chat.connector import TextReplacement
from agentstepper_nb.chat.connectors.endpoint_agent import EndpointAgent
from agentstepper_nb.errors import ModelError
from agentstepper_nb.llm_wire.conversation import AssistantMessage, UserMessage
from agentstepper_nb.llm_wire.events import ResponseCompleted, TextDelta
from agentstepper_nb.models.scripted import (
    Script,
    ScriptedCall,
    ScriptedServer,
    ScriptRule,
    say,
    turn,
)
from agentstepper_nb.models.scripted.provider import ScriptedProvider
from agentstepper_nb.protocol.chat import AgentOutput
from tests.chat.chats import build_messages, make_turn, make_user_message, record_answer
from tests.chat.endpoints import make_endpoint, make_text_answer, read_file
from tests.coding.scripted_parts import HANGS, FakeProvider, make_failure, make_tool_calls

# ---- text --------------------------------------------------------------------------------------------


async def test_text_is_told_as_it_comes() -> None:
    endpoint, model = make_endpoint([TextDelta("Good "), TextDelta("day."), HANGS])
    async with aclosing(
        iterate_answer(lambda: endpoint.chat(make_user_message(), make_turn()))
    ) as answer:
        assert [await anext(answer), await anext(answer)] == ["Good ", "day."]
        await model.hanging.wait()
    assert model.closed_early.is_set()


async def test_the_model_is_told_who_it_is_and_what_was_said() -> None:
    window = [
        make_user_message("First.", id="1"),
        make_user_message("Yes?", id="2", role="assistant", agent_name="assistant"),
        make_user_message("Other's.", id="3", role="assistant", agent_name="other"),
        make_user_message("To other.", id="4", agent_name="other"),
        make_user_message("It failed.", id="5", role="system", format="error"),
        make_user_message("", id="6", role="assistant", agent_name="assistant"),
        make_user_message(
            id="7",
            role="assistant",
            agent_name="assistant",
            type="FUNCTION",
            name="look",
            arguments={"at": "a"},
            result="x" * 50_000,
            ok=True,
        ),
    ]
    endpoint, model = make_endpoint(make_text_answer("Fine."), role="LLM_PLANNER")
    await record_answer(endpoint, "And now?", make_turn(*window))
    (request,) = model.requests
    assert request.system is not None
    assert "You are assistant" in request.system
    assert "You plan and don't carry out." in request.system
    first, second, third = request.messages
    assert first == UserMessage(content="First.")
    assert second == AssistantMessage(content="Yes?")
    assert isinstance(third, UserMessage)
    parts = third.content.split("\n\n")
    assert parts[:2] == ["[other] Other's.", "[to other] To other."]
    assert parts[2].startswith('[assistant, FUNCTION] look({"at": "a"})')
    assert "characters left out" in parts[2]
    assert len(parts[2]) < 25_000
    assert parts[3] == "And now?"


async def test_a_conversation_begins_with_the_person() -> None:
    endpoint, model = make_endpoint(make_text_answer("Fine."), system="Be brief.")
    window = [make_user_message("Hm.", id="1", role="assistant", agent_name="assistant")]
    await record_answer(endpoint, "Well?", make_turn(*window))
    assert model.requests[0].system == "Be brief."
    roles = [type(each).__name__ for each in model.requests[0].messages]
    assert roles == ["UserMessage", "AssistantMessage", "UserMessage"]


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (make_failure("The key is wrong."), "The key is wrong"),
        (make_text_answer(""), "was empty"),
        ([TextDelta("Half"), ResponseCompleted("length")], "cut at the model's limit"),
        ([TextDelta("Half")], "before it was complete"),
    ],
)
async def test_no_answer_ends_the_turn(answer: Any, why: str) -> None:
    endpoint, _ = make_endpoint(answer)
    with pytest.raises(ModelError, match=why):
        await record_answer(endpoint)


async def test_a_model_that_falls_silent_is_given_up() -> None:
    endpoint, model = make_endpoint([HANGS], idle_timeout_s=0.01)
    with pytest.raises(ModelError, match="sent nothing for"):
        await record_answer(endpoint)
    assert model.closed_early.is_set()


# ---- what it is made of ------------------------------------------------------------------------------


def unnameable() -> Callable[..., Any]:
    def füttern() -> None: ...

    return füttern


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"provider": "opnai"}, "There is no provider 'opnai'; there are openai"),
        ({"provider": "local", "base_url": "http://x"}, "they belong to openai"),
        ({"provider": FakeProvider(), "api_key": "k"}, "beside a provider object"),
        ({"tools": [read_file, read_file]}, "Two tools are called 'read_file'"),
        ({"tools": [read_file], "confirm_tools": ["loo"]}, "unknown tools: loo"),
        ({"tools": [unnameable()]}, "is not a valid tool name"),
        ({"tools": [lambda x: x, lambda y: y]}, "Two tools are called 'function'"),
        ({"agent_type": "OTHER"}, "OTHER"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_does_not_fit_is_refused(options: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        EndpointAgent("m", **options)


def test_a_tool_whose_types_can_not_be_told_is_refused() -> None:
    def odd(what: Callable[[], int]) -> None: ...

    with pytest.raises(ValueError, match="The tool odd can't be described to a model"):
        EndpointAgent("m", tools=[odd])


async def test_tools_of_every_form() -> None:
    class Counter:
        """Counts."""

        def __init__(self) -> None:
            self.n = 0

        def __call__(self, by: int, /, *rest: int, twice: bool = False, **more: Any) -> int:
            self.n += by * (2 if twice else 1)
            return self.n

        def default(self, words: list[str] = ["a"], anything=None) -> list[Any]:  # type: ignore[no-untyped-def]  # noqa: B006
            return [*words, anything]

    counter = Counter()
    endpoint, model = make_endpoint(
        make_tool_calls(
            ("1", "Counter", {"by": 2, "twice": True}), ("2", "default", {"anything": [1]})
        ),
        make_text_answer("Well."),
        tools=[counter, counter.default],
    )
    first, second, _ = build_messages(await record_answer(endpoint))
    assert (first.result, second.result) == (4, ["a", [1]])
    assert model.requests[0].tools[0].description == "Counts."


SCRIPT = Script(
    "looker",
    [
        ScriptRule(turn(0), say("Let me look. ", ScriptedCall("look", {"at": "a", "lines": 1}))),
        ScriptRule(turn(1), say("It is there.")),
    ],
)


async def test_over_http() -> None:
    endpoint = EndpointAgent("m", provider=ScriptedProvider(SCRIPT), tools=[read_file])
    messages = build_messages(await record_answer(endpoint))
    await endpoint.close()
    assert [message.content for message in messages] == ["Let me look. ", "", "It is there."]


@pytest.mark.parametrize("provider", ["openai", "openai-responses"])
async def test_at_an_address_of_ones_own(provider: str) -> None:
    with ScriptedServer(SCRIPT) as server:
        endpoint = EndpointAgent(
            "m", provider=provider, base_url=server.base_url, tools=[read_file]
        )
        messages = build_messages(await record_answer(endpoint))
        await endpoint.close()
    assert messages[-1].content == "It is there."


async def test_without_a_key_the_turn_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ModelError, match="There is no key for OpenAI"):
        await record_answer(EndpointAgent("m"))


async def test_no_text_is_replaced_that_was_not_edited() -> None:
    endpoint, _ = make_endpoint(make_text_answer("Good day to you."))
    got = await record_answer(endpoint)
    assert not any(isinstance(item, TextReplacement | AgentOutput) for item in got)
