"""Agents from outside: what they are asked, what they may say, and how they go."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from agentstepper_nb.chat import outputs
from agentstepper_nb.chat.remote.agent_connector import RemoteAgent
from agentstepper_nb.protocol.chat import (
    AgentTurnRequest,
    ChatAgentPhase,
    Message,
    OptionChosen,
    ServeChatAgent,
    TurnEnding,
)
from tests.chat.chats import FunctionTestAgent, HeldAnswer, within_timeout
from tests.chat.harness import PNG, message
from tests.chat.remote_harness import (
    RemotePoetAgent,
    direct_harness,
    open_asking_client,
    read_error_code,
    read_stream_refusal,
)


def describe_messages(messages: tuple[Message, ...]) -> list[tuple[str, str | None, str]]:
    return [(each.type, each.agent_name, each.content) for each in messages]


async def test_an_agent_answers_from_outside(tmp_path: Path) -> None:
    async with direct_harness(tmp_path) as harness:
        poet = RemotePoetAgent(harness, role="THOUGHT", description="Writes poems.")
        await poet.join()
        (_, info) = poet.info.agents
        assert (info.name, info.role, info.description) == ("poet", "THOUGHT", "Writes poems.")
        asked = await poet.send_user_message()
        assert (asked.message.content, asked.window, asked.cancelled) == ("A poem", (), False)
        await poet.send_output(asked, "Roses ")
        await poet.send_output(asked, "are red.")
        await poet.send_output(asked, outputs.code("print(1)", "python"))
        await poet.send_output(asked, outputs.image(PNG))
        await poet.end_turn(asked)
        assert describe_messages(await harness.wait_until_stopped()) == [
            ("MESSAGE", "poet", "A poem"),
            ("MESSAGE", "poet", "Roses are red."),
            ("CODE", "poet", "print(1)"),
            ("IMAGE", "poet", ""),
        ]
        again = await poet.send_user_message("Another")
        assert [each.content for each in again.window] == [
            "A poem",
            "Roses are red.",
            "print(1)",
            "",
        ]
        assert [each.data for each in again.window] == [None] * 4
        await poet.end_turn(again)
        await poet.leave()
        assert [each.name for each in poet.info.agents] == ["parrot"]


async def test_an_agent_from_outside_asks_the_person(tmp_path: Path) -> None:
    async with open_asking_client(tmp_path) as (harness, poet, asked):
        giving = asyncio.ensure_future(
            poet.send_output(asked, outputs.confirmation("Rhymed?", ("Y", "N")))
        )
        await poet.wait_for_question()
        harness.interpreter.choose(harness.session, poet.info.waiting, "N")
        assert await giving == OptionChosen(choice="N")
        await poet.end_turn(asked)
        confirmation = (await harness.wait_until_stopped())[-1]
        assert (confirmation.type, confirmation.chosen) == ("CONFIRMATION", "N")


async def test_an_agent_from_outside_fails(tmp_path: Path) -> None:
    async with open_asking_client(tmp_path) as (harness, poet, asked):
        await poet.send_output(asked, "Roses")
        await poet.end_turn(asked, error="I am out of rhymes.")
        messages = await harness.wait_until_stopped()
        assert [(each.role, each.content) for each in messages[1:]] == [
            ("assistant", "Roses"),
            ("system", "I am out of rhymes."),
        ]
        assert poet.info.ending is TurnEnding.ERROR
        assert await read_error_code(poet.send_output(asked, "late")) == "unknown_turn"
        assert await read_error_code(poet.end_turn(asked)) == "unknown_turn"


async def test_a_turn_that_is_stopped_is_taken_back(tmp_path: Path) -> None:
    async with open_asking_client(tmp_path) as (harness, poet, asked):
        question = outputs.confirmation("Rhymed?")
        giving = asyncio.ensure_future(poet.send_output(asked, question))
        await poet.wait_for_question()
        await within_timeout(harness.interpreter.stop(harness.session))
        assert await read_error_code(giving) == "unknown_turn"
        back = await poet.receive_turn()
        assert (back.turn, back.cancelled) == (asked.turn, True)
        assert await read_error_code(poet.send_output(asked, "late")) == "unknown_turn"
        assert poet.info.ending is TurnEnding.STOPPED


@pytest.mark.parametrize("when", ["before it says anything", "while a person is asked"])
async def test_an_agent_that_goes_leaves_an_error(tmp_path: Path, when: str) -> None:
    async with direct_harness(tmp_path) as harness:
        poet = RemotePoetAgent(harness)
        await poet.join()
        asked = await poet.send_user_message()
        giving = None
        if when == "while a person is asked":
            giving = asyncio.ensure_future(poet.send_output(asked, outputs.confirmation("Rhymed?")))
            await poet.wait_for_question()
        await poet.leave()
        last = (await harness.wait_until_stopped())[-1]
        assert last.content == "The remote agent poet has left the chat."
        assert (poet.info.ending, poet.info.waiting) == (TurnEnding.ERROR, None)
        assert [each.phase for each in poet.info.agents] == [ChatAgentPhase.CREATED]
        if giving is not None:
            assert await read_error_code(giving) == "unknown_turn"


async def test_who_attends_last_is_the_agent(tmp_path: Path) -> None:
    """As where a connection broke and nobody has noticed yet."""
    async with direct_harness(tmp_path) as harness:
        first = RemotePoetAgent(harness)
        await first.join()
        asked = await first.send_user_message()
        second = RemotePoetAgent(harness)
        second_asked = asyncio.ensure_future(second.receive_turn())
        last = (await harness.wait_until_stopped())[-1]
        assert last.content == "Another client attends as poet now, with its token."
        assert await read_error_code(first.receive_turn()) == "stream_taken"
        assert await read_error_code(first.send_output(asked, "late")) == "unknown_turn"
        harness.interpreter.update_session(harness.session, default_agent="poet")
        harness.interpreter.post(harness.session, "Another")
        again = await second_asked
        await second.send_output(again, "Violets")
        await second.end_turn(again)
        assert describe_messages(await harness.wait_until_stopped())[-1] == (
            "MESSAGE",
            "poet",
            "Violets",
        )
        await second.leave()


async def test_nobody_is_an_agent_that_is_there(tmp_path: Path) -> None:
    async with direct_harness(tmp_path, FunctionTestAgent(name="poet")) as harness:
        token = harness.issue_token("answer")
        assert await read_stream_refusal(harness.stream(token, "attend")) == "invalid_message"
        assert (
            await read_error_code(harness.call_service(token, "give", turn="t", piece={}))
            == "unknown_turn"
        )
        assert [each.name for each in harness.interpreter.info(harness.session).agents] == ["poet"]


@pytest.mark.parametrize(
    "piece",
    [
        {"role": "user"},
        {"role": "system"},
        {"role": "nobody"},
        {"type": "NONSENSE"},
        {"type": "IMAGE", "path": "secret.png"},
        {"type": "CODE", "path": "/etc/passwd", "format": "source", "language": "text"},
    ],
)
async def test_what_an_agent_from_outside_may_not_say(
    tmp_path: Path, piece: dict[str, Any]
) -> None:
    """It speaks for nobody else, and names no files: who reads the chat would be shown them."""
    async with open_asking_client(tmp_path) as (harness, poet, asked):
        giving = harness.call_service(poet.token, "give", turn=asked.turn, piece=piece)
        assert await read_error_code(giving) == "invalid_message"
        await poet.send_output(asked, "It goes on.")
        await poet.end_turn(asked)
        assert describe_messages(await harness.wait_until_stopped())[1:] == [
            ("MESSAGE", "poet", "It goes on.")
        ]


async def test_handing_on_is_talking(tmp_path: Path) -> None:
    async with direct_harness(tmp_path) as harness:
        poet = RemotePoetAgent(harness, role="SUPERVISOR")
        await poet.join()
        asked = await poet.send_user_message()
        assert await read_error_code(poet.end_turn(asked, hand_on="parrot")) == "out_of_scope"
        await poet.leave()
        await harness.wait_until_stopped()
        speaker = RemotePoetAgent(harness, "talk", role="SUPERVISOR")
        await speaker.join()
        asked = await speaker.send_user_message()
        await speaker.end_turn(asked, hand_on="parrot", text="You write it.")
        messages = await harness.wait_until_stopped()
        assert describe_messages(messages)[-1] == ("MESSAGE", "parrot", "You said: You write it.")
        await speaker.leave()


async def test_one_piece_at_a_time(tmp_path: Path) -> None:
    async with open_asking_client(tmp_path) as (harness, poet, asked):
        giving = asyncio.ensure_future(poet.send_output(asked, outputs.confirmation("Rhymed?")))
        await poet.wait_for_question()
        assert await read_error_code(poet.send_output(asked, "and")) == "too_many"
        giving.cancel()
        await asyncio.wait((giving,))
        harness.interpreter.choose(harness.session, poet.info.waiting, "Yes")
        await poet.send_output(asked, "It goes on.")
        await poet.end_turn(asked)
        assert describe_messages(await harness.wait_until_stopped())[-1] == (
            "MESSAGE",
            "poet",
            "It goes on.",
        )


async def test_what_nobody_has_read_is_taken_back_unread(tmp_path: Path) -> None:
    """Who doesn't read is asked no more than it has to answer."""
    held = HeldAnswer()
    async with direct_harness(tmp_path, FunctionTestAgent(held)) as harness:
        poet = RemotePoetAgent(harness)
        await poet.join()
        first = await poet.send_user_message()
        await within_timeout(harness.interpreter.stop(harness.session))
        for number in range(50):
            harness.interpreter.update_session(harness.session, default_agent="poet")
            harness.interpreter.post(harness.session, str(number))
            await asyncio.sleep(0)
            await within_timeout(harness.interpreter.stop(harness.session))
        back = await poet.receive_turn()
        assert (back.turn, back.cancelled, back.window) == (first.turn, True, ())
        last = await poet.send_user_message("Now")
        assert last.message.content == "Now"
        await poet.leave()


async def test_what_is_taken_back_at_once_ends_no_attending() -> None:
    """A turn is stopped before who waits for its message has woken up: the next one comes."""
    agent = RemoteAgent("poet", ServeChatAgent(session="s"))
    first, second = (
        AgentTurnRequest(turn=turn, message=message("Hello"), window=()) for turn in ("one", "two")
    )
    async with aclosing(agent.read_turn_requests()) as asked:
        waiting = asyncio.ensure_future(anext(asked))
        await asyncio.sleep(0)
        agent._send(first)
        agent._withdraw(first)
        for _ in range(5):
            await asyncio.sleep(0)
        agent._send(second)
        assert await within_timeout(waiting) == second


async def test_a_session_that_is_removed_asks_nobody(tmp_path: Path) -> None:
    async with direct_harness(tmp_path) as harness:
        poet = RemotePoetAgent(harness)
        await poet.join()
        asked = await poet.send_user_message()
        await within_timeout(harness.interpreter.remove(harness.session))
        assert await read_error_code(poet.receive_turn()) == "unknown_session"
        assert await read_error_code(poet.send_output(asked, "late")) == "unknown_turn"
        assert await read_stream_refusal(harness.stream(poet.token, "attend")) == "unknown_session"
