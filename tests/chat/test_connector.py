"""What can be an agent of a chat."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from typing import Any

import pytest

from agentstepper_nb import entry_point_loader
from agentstepper_nb.chat.connector import InterpreterABC
from agentstepper_nb.chat.connectors import registry
from agentstepper_nb.chat.connectors.endpoint_agent import EndpointAgent
from agentstepper_nb.chat.connectors.function_agent import FunctionAgent
from agentstepper_nb.chat.connectors.registry import list_connectors, make_connector
from agentstepper_nb.errors import AgentStepperError, CommandError, ProtocolError
from agentstepper_nb.models.scripted import Script, ScriptRule, always, say
from agentstepper_nb.models.scripted.provider import ScriptedProvider
from agentstepper_nb.protocol.chat import Message
from tests.chat.chats import record_answer
from tests.chat.harness import expect_refusal


class EchoAgent(InterpreterABC):
    """As in the interface's own docstring."""

    name = "parrot"
    role = "OTHER"

    def __init__(self, name: str = "parrot") -> None:
        self.name = name

    async def chat(self, message: Message, turn: Any) -> Any:
        yield f"You said: {message.content}"


class DuckTypedAgent:
    """Has the method, and not the interface."""

    name = "duck"

    def chat(self, message: Message, turn: Any) -> list[str]:
        return ["Quack."]


async def test_inv_connector_001_an_agent_implements_the_interface() -> None:
    """Whatever is given, what a chat gets implements `InterpreterABC`; all else is refused."""
    for given in (EchoAgent(), EchoAgent, lambda message: f"You said: {message}"):
        agent = make_connector(given)
        assert isinstance(agent, InterpreterABC)
        assert await record_answer(agent, "Hi.") == ["You said: Hi."]
    for wrong in (DuckTypedAgent(), DuckTypedAgent, 7, None, object()):
        with expect_refusal("invalid_message", "is not an agent: subclass"):
            make_connector(wrong)  # type: ignore[arg-type]


def test_inv_connector_001_an_interface_without_chat_can_not_be_made() -> None:
    """A subclass that doesn't answer isn't made."""

    class Silent(InterpreterABC):
        name = "silent"

    with pytest.raises(CommandError, match="can't be made an agent"):
        make_connector(Silent)


def test_options_are_the_connectors() -> None:
    assert make_connector(EchoAgent, name="polly").name == "polly"
    assert make_connector(print, name="printer", role="THOUGHT").role == "THOUGHT"
    with pytest.raises(CommandError, match=r"EchoAgent can't be made an agent: .*is_coloured"):
        make_connector(EchoAgent, is_coloured="green")
    with pytest.raises(CommandError, match="parrot is an agent object"):
        make_connector(EchoAgent(), name="polly")


@pytest.mark.parametrize("name", ["", "a" * 101, 7])
def test_a_name_that_is_none_is_refused(name: Any) -> None:
    with pytest.raises(ProtocolError, match="needs a name"):
        make_connector(EchoAgent(name))


def test_a_role_that_is_none_is_refused() -> None:
    with pytest.raises(
        ProtocolError, match="There is no role 'EXECUTOR'; there are: AGENT_EXECUTOR"
    ):
        make_connector(lambda message: message, role="EXECUTOR")


def test_installed_ones_are_found_by_name() -> None:
    assert list_connectors()["endpoint"] is EndpointAgent
    agent = make_connector(
        "endpoint",
        model="m",
        provider=ScriptedProvider(Script("s", [ScriptRule(always, say("Hi."))])),
    )
    assert isinstance(agent, EndpointAgent)
    with pytest.raises(
        CommandError, match=r"There is no connector 'endpont'; there are: .*endpoint"
    ):
        make_connector("endpont")


class FakeEntryPoints:
    """Entry points of packages that aren't installed."""

    def __init__(self, **values: str) -> None:
        self._points = [
            EntryPoint(name, value, registry.ENTRY_POINT_GROUP) for name, value in values.items()
        ]

    def __call__(self, group: str) -> list[EntryPoint]:
        assert group == registry.ENTRY_POINT_GROUP
        return self._points


def make_parrot(name: str = "made") -> EchoAgent:
    return EchoAgent(name)


def make_nothing() -> None:
    return None


def make_failing() -> EchoAgent:
    raise OSError("no seeds")


def test_other_packages_bring_some(monkeypatch: pytest.MonkeyPatch) -> None:
    here = "tests.chat.test_connector"
    found = FakeEntryPoints(
        parrot=f"{here}:EchoAgent",
        made=f"{here}:make_parrot",
        nothing=f"{here}:make_nothing",
        failing=f"{here}:make_failing",
        duck=f"{here}:DuckTypedAgent",
        gone="no_such_module:Agent",
    )
    monkeypatch.setattr(entry_point_loader, "_find_points", found)
    assert sorted(list_connectors()) == ["failing", "made", "nothing", "parrot"]
    assert isinstance(make_connector("parrot"), EchoAgent)
    assert make_connector("made", name="mine").name == "mine"
    for name, why in {
        "nothing": "None is not an agent",
        "failing": "no seeds",
        "duck": "neither a subclass",
        "gone": "no_such_module",
    }.items():
        with pytest.raises(AgentStepperError, match=why):
            make_connector(name)


def test_a_function_that_can_not_be_given_what_it_asks_for() -> None:
    def asking(message: str, *, model: str) -> str:
        return model

    with pytest.raises(CommandError, match="its parameter model"):
        make_connector(asking)
    assert isinstance(make_connector(lambda message: message), FunctionAgent)
