"""Sessions of the queue as agents of a chat: which step answers, and what is said where none does."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from agentstepper_nb import AgentStepperCore, AsyncAgents
from agentstepper_nb.chat.connectors.background_agent import BackgroundAgent
from agentstepper_nb.errors import DiscoveryError
from agentstepper_nb.protocol.chat import AgentOutput, TurnEnding
from agentstepper_nb.protocol.runtime import ActionKind, SessionStatus
from agentstepper_nb.protocol.runtime_requests import TopicEvent
from tests.chat.background_agent_chats import (
    QueueChat,
    counting_chat,
    no_other_core,
    text,
    worker_chat,
)
from tests.chat.harness import expect_refusal, harness
from tests.runtime.harness import a_core
from tests.runtime.manual_worker import ManualWorker

__all__ = ["no_other_core"]


# ---- which step answers ------------------------------------------------------------------------------


async def test_the_step_that_is_given_the_message_answers(tmp_path: Path) -> None:
    async with counting_chat(tmp_path) as talk:
        answer = talk.start_sending("Hello.")
        await talk.wait_for_input("Hello.")  # while a step is under way that wasn't
        talk.core.monikers.permit("s", 2)
        assert await answer == [text("Hello.")]
        rows = await talk.core.steps("s")
        assert [row.guidance for row in rows] == [None, "Hello."]


async def test_what_it_was_told_before_isnt_answered_again(tmp_path: Path) -> None:
    async with counting_chat(tmp_path) as talk:
        await talk.core.wait_until_done(
            await talk.core.enqueue(ActionKind.INPUT, "s", payload={"text": "One."})
        )
        talk.core.monikers.permit("s", 1)
        await talk.core.wait_for_state("s", iteration=1)  # a step that was told "One." is under way
        answer = talk.start_sending("Two.")
        await talk.wait_for_input("Two.")
        talk.core.monikers.permit("s", 2)
        assert await answer == [text("Two.")]


async def test_two_that_are_told_together_are_answered_by_one_step(tmp_path: Path) -> None:
    async with counting_chat(tmp_path) as talk:
        answer = talk.start_sending("Two.")
        await talk.wait_for_input("Two.")
        await talk.core.wait_until_done(
            await talk.core.enqueue(ActionKind.INPUT, "s", payload={"text": "More."})
        )
        talk.core.monikers.permit("s", 2)
        assert await answer == [text("Two.\n\nMore.")]


async def test_autochat_has_the_steps_since_and_waits_where_there_is_none(tmp_path: Path) -> None:
    def nothing(number: int) -> AgentOutput:
        return AgentOutput(role="system", content=f"Step {number} returned no text.")

    async with counting_chat(tmp_path) as talk:
        answer = talk.start_sending("Hello.")
        await talk.wait_for_input("Hello.")
        talk.core.monikers.permit("s", 4)
        await answer
        await talk.core.wait_for_state("s", iteration=4)
        assert await talk.continue_automatically() == [nothing(2), nothing(3)]
        answer = asyncio.create_task(talk.continue_automatically())
        talk.core.monikers.permit("s", 1)
        assert await answer == [nothing(4)]
        assert len(await talk.agents.actions(kind="agent_input")) == 1


async def test_autochat_tells_what_it_is_given_to_tell(tmp_path: Path) -> None:
    async with counting_chat(tmp_path, continuation_prompt="And?") as talk:
        answer = asyncio.create_task(talk.continue_automatically())
        await talk.wait_for_input("And?")
        talk.core.monikers.permit("s", 2)
        assert await answer == [text("And?")]


# ---- where it doesn't answer -------------------------------------------------------------------------


async def test_a_paused_session_is_said_to_be_and_answers_once_it_is_resumed(
    tmp_path: Path,
) -> None:
    async with counting_chat(tmp_path) as talk:
        await talk.core.wait_until_done(await talk.core.enqueue(ActionKind.PAUSE, "s"))
        talk.core.monikers.permit("s", 1)  # the step that is under way
        await talk.core.wait_for_state("s", SessionStatus.PAUSED)
        answer = talk.start_sending("Hello.")
        await talk.wait_for_input("Hello.")
        await talk.core.wait_until_done(await talk.core.enqueue(ActionKind.RESUME, "s"))
        talk.core.monikers.permit("s", 2)
        note, said = await answer
        assert isinstance(note, AgentOutput)
        assert (note.role, "agents.resume(session_id='s')" in note.content) == ("system", True)
        assert said == text("Hello.")


async def test_a_session_that_has_ended_says_so(tmp_path: Path) -> None:
    async with counting_chat(tmp_path) as talk:
        await talk.core.wait_until_done(
            await talk.core.enqueue(ActionKind.DESTROY, "s", payload={"timeout_s": 0.0})
        )
        for turn in (talk.send("Hello."), talk.continue_automatically()):
            with expect_refusal(
                "session_over", r"session s of a has ended \(stopped\).* Create another"
            ):
                await turn
        assert await talk.agents.actions(kind="agent_input") == []


async def test_one_that_ends_before_it_answers_says_so(tmp_path: Path) -> None:
    async with counting_chat(tmp_path) as talk:
        answer = talk.start_sending("Hello.")
        await talk.wait_for_input("Hello.")
        await talk.core.enqueue(ActionKind.DESTROY, "s", payload={"timeout_s": 0.0})
        with expect_refusal("session_over", "has ended"):
            await answer


async def test_a_session_that_isnt_there_says_so(tmp_path: Path) -> None:
    async with a_core(tmp_path) as core:
        with expect_refusal("unknown_session"):
            await QueueChat(core, BackgroundAgent("gone"), tmp_path).send("Hello.")


async def test_without_a_core_it_says_so(tmp_path: Path) -> None:
    with pytest.raises(DiscoveryError):
        await QueueChat(None, BackgroundAgent("s"), tmp_path).send("Hello.")


async def test_stop_ends_the_wait_and_the_session_lives_on(tmp_path: Path) -> None:
    async with counting_chat(tmp_path) as talk:
        answer = talk.start_sending("Hello.")
        await talk.wait_for_input("Hello.")
        answer.cancel()
        await asyncio.wait({answer})
        assert answer.cancelled()
        talk.core.monikers.permit("s", 2)
        await talk.core.wait_for_state("s", iteration=2)
        assert (await talk.core.state("s")).status is SessionStatus.RUNNING
        answer = talk.start_sending("Still there?")
        await talk.wait_for_input("Still there?")
        talk.core.monikers.permit("s", 2)
        assert await answer == [text("Still there?")]


# ---- with the workers' own monikers ------------------------------------------------------------------


@pytest.mark.slow
async def test_a_session_is_created_with_the_first_message_and_found_again(tmp_path: Path) -> None:
    joker = {"agent_id": "joker", "moniker": "joke", "config": {"interval_s": 3600}}
    async with worker_chat(tmp_path, create=joker) as talk:
        assert (talk.queue.name, talk.queue.run_id("c1")) == ("joker", None)
        (said,) = await talk.send("Cats.")
        assert isinstance(said, AgentOutput) and "Cats" in said.content
        (again,) = await talk.send("Dogs.")
        assert isinstance(again, AgentOutput) and "Dogs" in again.content
        await talk.queue.on_session_closed("c1")
        await talk.send("Birds.")  # the chat was opened again
        await talk.send("Fish.", chat="c2")
        found = await talk.agents.states(agent_id="joker")
        assert [each.agent_id for each in found] == ["joker", "joker"]  # one for each chat


async def test_where_the_created_one_has_ended_the_next_message_creates_another(
    tmp_path: Path,
) -> None:
    joker = ("joker", "joke", {"interval_s": 3600})
    async with worker_chat(tmp_path, create=joker, name="j") as talk:
        await talk.send("Cats.")
        (first,) = await talk.agents.states()
        await talk.core.wait_until_done(
            await talk.core.enqueue(
                ActionKind.DESTROY, first.session_id, payload={"timeout_s": 0.0}
            )
        )
        with expect_refusal("session_over"):
            await talk.continue_automatically()
        note, said = await talk.send("Dogs.")
        assert isinstance(note, AgentOutput) and isinstance(said, AgentOutput)
        assert (note.role, "begins anew" in note.content) == ("system", True)
        assert "Dogs" in said.content
        assert len(await talk.agents.states()) == 2


async def test_over_a_connection_of_its_own(tmp_path: Path) -> None:
    with AgentStepperCore("127.0.0.1", 0, None, data=tmp_path / "data") as core:
        manual_worker, url = ManualWorker(core), core.url(core.client_port)
        queue = BackgroundAgent(create={"agent_id": "a", "moniker": "joke"}, url=url)
        answer = QueueChat(None, queue, tmp_path).start_sending("Cats.")
        async with AsyncAgents.connect(url) as agents:
            session = await _first(agents, "sessions", lambda n: [s.session_id for s in n.states])
            await asyncio.to_thread(manual_worker.finish_next_action)
            topic = f"session:{session}"
            await _first(agents, topic, lambda n: [a for a in n.actions if a.kind == "agent_input"])
        await asyncio.to_thread(manual_worker.finish_next_action)
        for _ in range(2):  # a first step may have been under way
            await asyncio.to_thread(manual_worker.step, session, "A joke.")
        assert await answer == [text("A joke.")]
        await queue.close()


async def _first(agents: AsyncAgents, topic: str, find: Callable[[TopicEvent], list[Any]]) -> Any:
    """Watch until something is told."""
    async with aclosing(agents.watch(topic)) as notices:
        async for each in notices:
            if found := find(each):
                return found[0]
    raise AssertionError


async def test_in_a_chat_its_steps_come_with_autochat_and_stop_at_its_bound(tmp_path: Path) -> None:
    joker = {"agent_id": "joker", "moniker": "joke", "config": {"interval_s": 0.001}}
    async with worker_chat(tmp_path, create=joker) as talk, harness(tmp_path, talk.queue) as home:
        home.interpreter.update_session(home.session, auto_chat=True, auto_chat_max=2)
        await home.send_and_read("Cats.")
        info = await home.wait_for_user_turn(TurnEnding.DONE)
        assert (info.auto_turns, [agent.name for agent in info.agents]) == (2, ["joker"])
        said = [each for each in home.messages if each.role == "assistant"]
        assert "Cats" in said[0].content
        assert {each.agent_name for each in said} == {"joker"}
        prompts = [each.content for each in home.messages if each.role == "system"]
        assert prompts == ["The next step."] * 2
        (told,) = await talk.agents.actions(kind="agent_input")
        assert told.payload["text"] == "Cats."


def test_one_of_the_two_is_to_be_named() -> None:
    with pytest.raises(ValueError, match="but not both"):
        BackgroundAgent()
    with pytest.raises(ValueError, match="but not both"):
        BackgroundAgent("s", create={"agent_id": "a", "moniker": "joke"})
