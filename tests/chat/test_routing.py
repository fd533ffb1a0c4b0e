"""Whose turn it is: whom a message is for, and who may hand on to whom."""

from __future__ import annotations

from typing import Any

import pytest

from agentstepper_nb.chat.connector import Handoff
from agentstepper_nb.errors import CommandError, ProtocolError
from agentstepper_nb.protocol.chat import ChatAgentChanged, State, TurnEnding
from tests.chat.harness import NOWHERE, ScriptedAgent, expect_refusal, harness


def agents(*named: ScriptedAgent, **options: Any) -> Any:
    return harness(NOWHERE, *named, store=False, **options)


def boss(*items: Any, role: str = "SUPERVISOR", name: str = "boss") -> ScriptedAgent:
    return ScriptedAgent(items, name, role)


async def test_a_message_goes_to_whom_it_names_or_to_the_default() -> None:
    one, two = ScriptedAgent(["One."], "one"), ScriptedAgent(["Two."], "two")
    async with agents(one, two) as home:
        assert [each.content for each in await home.send_and_read()] == ["One."]
        assert [each.content for each in await home.send_and_read(to="two")] == ["Two."]
        assert home.messages[2].agent_name == "two"
    async with agents(one, two, default_agent="two") as home:
        assert [each.content for each in await home.send_and_read()] == ["Two."]


async def test_an_unknown_agent_is_refused_and_nothing_is_said() -> None:
    async with agents(ScriptedAgent(name="one")) as home:
        with expect_refusal("unknown_agent", "'two': choose one"):
            home.send("Hello.", "two")
        assert (home.info.state, home.messages) == (State.STATE_INIT, ())


async def test_agents_are_created_run_and_end_each_as_an_event() -> None:
    async with agents(ScriptedAgent(name="one"), ScriptedAgent(name="two")) as home:
        assert [agent.phase for agent in home.info.agents] == ["created", "created"]
        await home.send_and_read(to="two")
        await home.send_and_read(to="two")
        assert home.fold.phases == [("two", "running"), ("two", "ended")] * 2
    assert home.fold.phases[-2:] == [("one", "ended"), ("two", "ended")]


async def test_an_agent_that_fails_ends_with_why() -> None:
    def fails(message: object, turn: object) -> Any:
        raise ValueError("broken")

    async with agents(ScriptedAgent(fails)) as home:
        await home.send_and_read()
        last = [event for event in home.fold.events if isinstance(event, ChatAgentChanged)][-1]
        assert (last.agent.phase, last.error) == ("ended", "ValueError: broken")


@pytest.mark.parametrize("role", ["SUPERVISOR", "CREW"])
async def test_a_supervisor_or_crew_may_hand_on(role: str) -> None:
    worker = ScriptedAgent(["Done."], "worker")
    leads = boss("I'd ask. ", Handoff("worker", "Do the tests."), "never said", role=role)
    async with agents(leads, worker) as home:
        await home.send_and_read("Test it.")
        assert home.transcript == [
            ("user", "Test it."),
            ("assistant", "I'd ask. "),
            ("assistant", "Do the tests."),
            ("assistant", "Done."),
        ]
        assert [each.agent_name for each in home.messages][1:] == ["boss", "boss", "worker"]
        ((message, turn),) = worker.given
        assert message.content == "Do the tests."
        assert [each.content for each in turn.window] == ["Test it.", "I'd ask. "]
        assert home.fold.phases == [
            ("boss", "running"),
            ("boss", "ended"),
            ("worker", "running"),
            ("worker", "ended"),
        ]


async def test_a_message_is_handed_on_as_it_is_with_what_was_said_to_it() -> None:
    worker = ScriptedAgent(["Done."], "worker")
    async with agents(boss("Not mine.", Handoff("worker")), worker) as home:
        await home.send_and_read("First.")
        await home.send_and_read("Second.")
        message, turn = worker.given[-1]
        assert message.content == "Second."
        assert [each.content for each in turn.window] == [
            "First.",
            "Not mine.",
            "Done.",
            "Not mine.",
        ]


@pytest.mark.parametrize(
    ("first", "others", "why"),
    [
        (
            boss(Handoff("worker"), role="AGENT_EXECUTOR"),
            [ScriptedAgent(name="worker")],
            "can't hand on",
        ),
        (boss(Handoff("nobody")), [ScriptedAgent(name="worker")], "no agent called 'nobody'"),
        (boss(Handoff("boss")), [], "has already answered in this turn"),
        (
            boss(Handoff("b"), role="CREW"),
            [boss(Handoff("boss"), role="CREW", name="b")],
            "has already answered in this turn",
        ),
        (
            boss(Handoff("b")),
            [boss(Handoff("boss"), name="b")],
            "handed on 8 times",
        ),
    ],
)
async def test_a_hand_on_that_may_not_be_is_an_error(
    first: ScriptedAgent, others: Any, why: str
) -> None:
    async with agents(first, *others) as home:
        await home.send_and_read()
        assert home.info.ending is TurnEnding.ERROR
        assert home.messages[-1].content.startswith("The message can't be handed on: ")
        assert why in home.messages[-1].content


async def test_a_turn_comes_back_to_a_supervisor() -> None:
    rounds = []

    def leads(message: Any, turn: Any) -> Any:
        rounds.append(message.content)
        return iter([Handoff("crew", "Your part.")] if len(rounds) == 1 else ["All done."])

    crew = boss("Ready.", Handoff("boss", "It is ready."), role="CREW", name="crew")
    async with agents(ScriptedAgent(leads, "boss", "SUPERVISOR"), crew) as home:
        await home.send_and_read("Go.")
        assert rounds == ["Go.", "It is ready."]
        assert home.info.ending is TurnEnding.DONE


async def test_agents_may_come_and_go() -> None:
    async with agents(ScriptedAgent(["One."], "one")) as home:
        here = home.interpreter
        here.add_agent(home.session, ScriptedAgent(["Two."], "two"))
        assert home.fold.phases == [("two", "created")]
        assert [each.content for each in await home.send_and_read(to="two")] == ["Two."]
        with pytest.raises(ProtocolError, match="already has an agent called 'two'"):
            here.add_agent(home.session, ScriptedAgent(name="two"))
        here.remove_agent(home.session, "one")
        assert home.info.default_agent == "two"
        assert [each.content for each in await home.send_and_read()] == ["Two."]
        here.remove_agent(home.session, "two")
        assert (home.info.agents, home.info.default_agent) == ((), None)
        assert home.fold.info == home.info
        with pytest.raises(CommandError, match="has no agent"):
            home.send("Anybody?")


async def test_an_agent_that_goes_may_end_its_answer() -> None:
    async def leaves(message: Any, turn: Any) -> Any:
        home.interpreter.remove_agent(home.session, "one")
        yield "Good bye."

    async with agents(ScriptedAgent(leaves, "one"), ScriptedAgent(name="two")) as home:
        await home.send_and_read()
        assert home.messages[-1].content == "Good bye."
        assert home.info.ending is TurnEnding.DONE
        assert home.fold.info == home.info


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        ([ScriptedAgent(name="a"), ScriptedAgent(name="a")], "invalid_message"),
        ([ScriptedAgent(name="")], "invalid_message"),
        ([ScriptedAgent(name="x" * 101)], "invalid_message"),
        ([ScriptedAgent(role="EXECUTOR")], "invalid_message"),
    ],
)
async def test_inv_agent_001_agents_have_a_name_and_a_defined_role(wrong: Any, code: str) -> None:
    """An agent without a name of its own, or with a role that isn't defined, gets into no session."""

    with pytest.raises(ProtocolError) as refused:
        async with agents(*wrong):
            pass
    assert refused.value.code == code


async def test_what_an_agent_says_of_itself_breaks_nothing() -> None:
    class Odd(ScriptedAgent):
        description = "half \ud800" + "x" * 5000

        def run_id(self, session_id: str) -> str | None:
            raise ValueError("no run")

        def notice(self, session_id: str) -> str:
            raise ValueError("no notice")

    async with agents(Odd(go_on="half \ud800"), auto_chat=True, auto_chat_max=1) as home:
        home.interpreter.update_session(home.session, title="\ud800" + "x" * 500)
        home.send("Go.")
        await home.wait_for_user_turn(TurnEnding.DONE)
        (agent,) = home.info.agents
        assert (len(agent.description), agent.run_id, agent.notice) == (1000, None, "")
        assert len(home.info.title) == 200
        assert home.messages[2].content == "half ?"


async def test_an_agent_of_an_unknown_type_is_refused() -> None:
    class Odd(ScriptedAgent):
        agent_type: Any = "GUESSING"

    with pytest.raises(ProtocolError, match="can't be 'GUESSING': choose TOOL_CALLING"):
        async with agents(Odd()):
            pass


async def test_what_is_handed_on_must_be_a_text() -> None:
    told: Any = 3
    async with agents(boss(Handoff("worker", told)), ScriptedAgent(name="worker")) as home:
        await home.send_and_read()
        assert home.info.ending is TurnEnding.ERROR
