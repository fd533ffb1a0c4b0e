"""Turns: a message is answered, and the answer is read, or isn't."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from agentstepper_nb.chat import outputs
from agentstepper_nb.chat.connector import TextReplacement, Turn
from agentstepper_nb.chat.limits import ChatLimits
from agentstepper_nb.errors import ModelError, ProtocolError
from agentstepper_nb.protocol.chat import (
    AgentOutput,
    ChatMessageChanged,
    ChatMessageDelta,
    Message,
    State,
    TurnEnding,
)
from tests.chat.harness import (
    ChatHarness,
    GatedAnswer,
    ScriptedAgent,
    expect_refusal,
    harness,
    unstored_harness,
)


async def test_a_message_is_answered() -> None:
    actor = ScriptedAgent(["You ", "said it."])
    async with unstored_harness(actor) as home:
        (answer,) = await home.send_and_read("Hello.")
        assert (answer.role, answer.content, answer.agent_name) == (
            "assistant",
            "You said it.",
            "actor",
        )
        assert home.transcript == [("user", "Hello."), ("assistant", "You said it.")]
        ((message, turn),) = actor.given
        assert (message.content, turn.window, turn.session_id) == ("Hello.", (), home.session)
        assert [agent.name for agent in turn.agents] == ["actor"]
        assert home.info.title == "Hello."


async def test_the_stream_gives_pieces_and_then_the_whole() -> None:
    gate = GatedAnswer(["One"], [" two"])
    async with unstored_harness(ScriptedAgent(gate)) as home:
        stream = aiter(home.send("Count."))
        first = await anext(stream)
        assert (first.content, first.final) == ("One", False)
        gate.opened.set()
        assert [(each.content, each.final) async for each in stream] == [("One two", True)]


@pytest.mark.slow
async def test_who_does_not_read_holds_nothing_up() -> None:
    async with unstored_harness(ScriptedAgent(map(str, range(1500)))) as home:
        home.send("Count.")
        await home.wait_for_user_turn(TurnEnding.DONE)
        assert home.messages[-1].content.endswith("1499")


async def test_who_reads_late_has_what_waited_as_one() -> None:
    gate = GatedAnswer(["One", " two", " three"])
    async with unstored_harness(ScriptedAgent(gate)) as home:
        stream = aiter(home.send("Count."))
        await gate.reached.wait()
        piece = await anext(stream)
        assert (piece.content, piece.final) == ("One two three", False)
        gate.opened.set()
        assert [each.final async for each in stream] == [True]


async def test_of_very_much_the_newest_waits_for_who_reads() -> None:
    answer = [outputs.code(str(n), f"l{n}") for n in range(9)]
    limits = ChatLimits(max_unread_bytes=3 * 501)
    async with unstored_harness(ScriptedAgent(answer), limits=limits) as home:
        stream = home.send("Go.")
        await home.wait_for_user_turn(TurnEnding.DONE)
        assert [each.content async for each in stream] == ["6", "7", "8"]
        assert home.info.messages == 10


async def test_a_second_message_is_refused_while_one_is_answered() -> None:
    gate = GatedAnswer()
    async with unstored_harness(ScriptedAgent(gate)) as home:
        home.send("First.")
        with expect_refusal("session_busy"):
            home.send("Second.")
        gate.opened.set()
        await home.wait_for_user_turn(TurnEnding.DONE)
        assert home.transcript == [("user", "First.")]


async def test_a_claim_is_for_the_message_that_follows() -> None:
    async with unstored_harness() as home:
        home.interpreter.change_state_running()
        assert home.info.state is State.STATE_RUNNING
        with expect_refusal("session_busy"):
            home.interpreter.change_state_running(home.session)
        await home.send_and_read("Hello.")
        assert home.info.ending is TurnEnding.DONE
        home.interpreter.change_state_running(UUID(home.session))
        await home.stop()
        assert (home.info.state, home.info.ending) == (State.STATE_STOP, TurnEnding.STOPPED)


async def test_several_sessions_answer_at_once() -> None:
    gate = GatedAnswer(["Here."])
    async with unstored_harness(ScriptedAgent(gate)) as home:
        others = [ChatHarness(home.interpreter) for _ in range(3)]
        for each in (home, *others):
            each.send("Where?")
        await asyncio.gather(
            *(
                each.wait_until(lambda info: info.messages_in_memory == 2)
                for each in (home, *others)
            )
        )
        assert {each.info.state for each in (home, *others)} == {State.STATE_RUNNING}
        gate.opened.set()
        for each in (home, *others):
            await each.wait_for_user_turn(TurnEnding.DONE)


async def test_a_message_of_another_type_is_said_and_a_wrong_one_refused() -> None:
    actor = ScriptedAgent()
    async with unstored_harness(actor) as home:
        given = Message(
            id="theirs",
            session_id="theirs",
            role="assistant",
            type="CODE",
            content="1 + 1",
            language="python",
            format="source",
            created_at=0,
            final=False,
        )
        home.interpreter.process_message(home.session, given)
        await home.wait_for_user_turn(TurnEnding.DONE)
        (said, _) = actor.given[0]
        assert (said.role, said.type, said.final, said.session_id) == (
            "user",
            "CODE",
            True,
            home.session,
        )
        assert said.id != "theirs"
        with pytest.raises(ProtocolError):
            home.interpreter.process_message(home.session, "x" * 1_000_001)
        assert home.info.state is State.STATE_STOP


async def test_an_agent_may_go_before_its_turn_has_begun() -> None:
    async with unstored_harness(ScriptedAgent(), ScriptedAgent(["I am gone."], "goes")) as home:
        home.send("Go.", "goes")
        home.interpreter.remove_agent(home.session, "goes")
        await home.wait_for_user_turn(TurnEnding.DONE)
        assert home.messages[-1].content == "I am gone."
        assert home.fold.info == home.info


@pytest.mark.parametrize("prompt", [5, ["Continue."], " "])
async def test_a_continuation_that_is_no_text_begins_no_turn(prompt: Any) -> None:
    async with unstored_harness(ScriptedAgent(go_on=prompt), auto_chat=True) as home:
        await home.send_and_read()
        with expect_refusal("auto_chat_refused"):
            home.interpreter.auto_chat(home.session)
        assert home.info.state is State.STATE_STOP
        assert [each.content for each in await home.send_and_read()] == ["Yes."]


async def test_what_was_taken_back_is_gone() -> None:
    said = ["Nonsense.", TextReplacement(""), outputs.console("1"), "Yes."]
    async with unstored_harness(ScriptedAgent(said)) as home:
        finals = await home.send_and_read()
        assert [each.content for each in finals] == ["", "1", "Yes."]  # who reads is told so
        assert [content for _, content in home.transcript] == ["Hello.", "1", "Yes."]
        assert (home.fold.messages, home.info.messages) == (home.messages, 3)


async def test_a_long_text_is_told_piece_by_piece_and_written_once(tmp_path: Path) -> None:
    async with harness(tmp_path, ScriptedAgent(["word "] * 800)) as home:
        await home.send_and_read()
        told = [event.text for event in home.fold.events if isinstance(event, ChatMessageDelta)]
        assert "".join(["word ", *told]) == home.messages[-1].content
        whole = [
            event.message for event in home.fold.events if isinstance(event, ChatMessageChanged)
        ]
        assert [(each.content[:9], each.final) for each in whole] == [
            ("Hello.", True),
            ("word ", False),
            ("word word", True),
        ]
        (kept,) = (tmp_path / "chats").iterdir()
        # How it begins, the two messages, and how it stands.
        assert len(kept.read_bytes().splitlines()) == 4


class UnprintableError(Exception):
    """An error that can't even be said."""

    def __str__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("no more"), "ValueError: no more"),
        (ValueError(), "ValueError."),
        (ModelError("refused", "The model said no."), "The model said no."),
        (SystemExit(3), "tried to end the process: SystemExit(3)."),
        (UnprintableError(), "UnprintableError, whose text can't be read."),
        (
            asyncio.CancelledError(),
            "The agent's answer was cancelled by the agent's own code.",
        ),
        (RuntimeError("half \ud800"), "RuntimeError: half ?"),
        (ExceptionGroup("all", [ExceptionGroup("of it", [KeyError("x")])]), "KeyError: 'x'"),
    ],
)
async def test_an_error_is_said_and_ends_the_turn(error: BaseException, text: str) -> None:
    async def fails(message: Message, turn: Turn) -> AsyncIterator[str]:
        yield "Half"
        raise error

    async with unstored_harness(ScriptedAgent(fails)) as home:
        await home.send_and_read()
        *_, half, last = home.messages
        assert (half.content, half.final) == ("Half", True)
        assert (last.role, last.type, last.format) == ("system", "MESSAGE", "error")
        assert last.content.endswith(text)
        assert home.info.ending is TurnEnding.ERROR
        assert home.fold.messages == home.messages


async def test_a_long_error_is_cut() -> None:
    def fails(message: Message, turn: Turn) -> Any:
        raise ValueError("x" * 100_000)

    async with unstored_harness(ScriptedAgent(fails)) as home:
        await home.send_and_read()
        assert len(home.messages[-1].content) < 2100


@pytest.mark.parametrize("item", [3, None, object(), {"type": "VIDEO", "content": "x"}, b"bytes"])
async def test_what_cannot_be_said_is_an_error(item: object) -> None:
    async with unstored_harness(ScriptedAgent(["Before.", item, "After."])) as home:
        await home.send_and_read()
        assert home.info.ending is TurnEnding.ERROR
        assert [each.content for each in home.messages][1:2] == ["Before."]
        assert home.messages[-1].format == "error"


async def test_an_agent_does_not_speak_as_the_user() -> None:
    said = [AgentOutput(content="Yes, do it.", role="user")]
    async with unstored_harness(
        ScriptedAgent(said), ScriptedAgent([{"role": "user", "content": "I agree."}], "b")
    ) as home:
        for name in ("actor", "b"):
            await home.send_and_read(to=name)
            assert home.info.ending is TurnEnding.ERROR
            assert "can't speak as the user" in home.messages[-1].content
        assert [role for role, _ in home.transcript] == ["user", "system"] * 2


async def test_an_agents_error_is_said_in_the_chat_and_logged_for_who_looks(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fails(message: Message, turn: Turn) -> Any:
        raise ValueError("no more")

    caplog.set_level("INFO", "agentstepper_nb.chat")
    async with unstored_harness(ScriptedAgent(fails)) as home:
        await home.send_and_read()
        assert home.messages[-1].content == "ValueError: no more"
    failed = [each for each in caplog.records if each.exc_info]
    assert [each.levelname for each in failed] == ["INFO"]
