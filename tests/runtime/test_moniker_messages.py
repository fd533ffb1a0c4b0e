"""Monikers that read conversations: each message in exactly one step that is kept."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from agentstepper_nb.errors import AgentStepperError
from agentstepper_nb.protocol.runtime import (
    ActionKind,
    AgentLimits,
    Conversation,
    ConversationMessage,
    Delivery,
    SenderType,
    SessionStatus,
)
from agentstepper_nb.protocol.runtime_requests import NewConversation, NewMessage
from agentstepper_nb.protocol.runtime_store_messages import (
    CursorQuery,
    CursorResult,
    PostMessage,
)
from agentstepper_nb.runtime.frame import FrameIn, FrameOut
from agentstepper_nb.runtime.moniker import MonikerContext
from tests.runtime.isolated_monikers import install
from tests.runtime.live_sessions import ManualSteps, SessionHarness, count, harness
from tests.runtime.processes import CoreProcesses, RuntimeClient, kill, run

RETRIED = AgentLimits(retries=1, backoff_s=0)
CURSOR = CursorQuery(session_id="s", conversation_id="c")


async def post(home: SessionHarness, *texts: str) -> None:
    for text in texts:
        message = ConversationMessage(
            message_id=f"message {text}",
            conversation_id="c",
            created_at=home.now,
            sender_type=SenderType.USER,
            text=text,
        )
        await home.store.post(PostMessage(message=message))


class Listener(ManualSteps):
    """Steps that read before they are let go, and what each attempt read."""

    def __init__(self, home: SessionHarness, *limits: int) -> None:
        super().__init__()
        self.heard: list[list[str]] = []
        self._home = home
        self._limits = limits

    async def __call__(self, frame: FrameIn) -> Any:
        assert self._home.moniker is not None
        for limit in self._limits:
            found = await self._home.moniker.task.read_messages(limit=limit)
            self.heard.append([message.text for message in found])
        return await super().__call__(frame)


def fail(frame: FrameIn) -> FrameOut:
    raise ValueError("It is too loud.")


async def position(home: SessionHarness) -> str | None:
    cursor = (await home.store.cursor(CURSOR)).cursor
    return None if cursor is None else cursor.last_message_id


async def test_a_step_reads_what_others_said_since_the_last_kept_one(tmp_path: Path) -> None:
    async with harness(tmp_path) as home:
        steps = Listener(home, 2)
        state, finish = await home.create(conversation_id="c")
        await post(home, "one", "two", "three")
        agent = home.agent(state, steps)
        await agent.record_created(finish)
        agent.start()
        await steps.wait_for_begin()
        assert await position(home) is None  # until the step is kept
        steps.finish_step(lambda frame: count(frame, text="I hear."))
        await home.wait_for_iteration(1)
        assert await position(home) == "message two"
        await post(home, "four")
        await steps.run_step()
        await home.wait_for_iteration(2)
        # Between three and four stands what this session said itself.
        await steps.run_step()
        await home.wait_for_iteration(3)
        await steps.wait_for_begin()
        assert steps.heard == [["one", "two"], ["three"], ["four"], []]


async def test_a_second_call_in_a_step_goes_on_where_the_first_ended(tmp_path: Path) -> None:
    async with harness(tmp_path) as home:
        steps = Listener(home, 1, 10, 10)
        state, finish = await home.create(conversation_id="c")
        await post(home, "one", "two", "three")
        agent = home.agent(state, steps)
        await agent.record_created(finish)
        agent.start()
        await steps.run_step()
        await home.wait_for_iteration(1)
        assert steps.heard[:3] == [["one"], ["two", "three"], []]


async def test_what_a_failed_try_has_read_is_read_again(tmp_path: Path) -> None:
    async with harness(tmp_path) as home:
        steps = Listener(home, 10)
        state, finish = await home.create(conversation_id="c", limits=RETRIED)
        await post(home, "one")
        agent = home.agent(state, steps)
        await agent.record_created(finish)
        agent.start()
        for _ in range(2):
            await steps.run_step(fail)
        await home.wait_for_status(SessionStatus.ERROR)
        assert steps.heard == [["one"], ["one"]]
        assert await position(home) is None  # who retries the session hears it once more


async def test_a_session_that_is_taken_over_reads_what_no_kept_step_has(tmp_path: Path) -> None:
    async with harness(tmp_path) as home:
        steps = Listener(home, 1)
        state, finish = await home.create(conversation_id="c")
        await post(home, "one", "two")
        agent = home.agent(state, steps)
        await agent.record_created(finish)
        agent.start()
        await steps.run_step()
        await home.wait_for_iteration(1)
        await steps.wait_for_begin()
        await agent.suspend()
        again = home.agent(await home.take_over(), steps)
        again.start()
        await steps.run_step()
        await home.wait_for_iteration(2)
        assert steps.heard[:3] == [["one"], ["two"], ["two"]]
        assert await position(home) == "message two"


async def test_a_session_in_no_conversation_names_one(tmp_path: Path) -> None:
    async with harness(tmp_path) as home:
        await home.store.save_conversation(Conversation(conversation_id="c", created_at=home.now))
        await post(home, "one")
        steps = ManualSteps()
        await home.start_agent(steps)
        await steps.wait_for_begin()
        assert home.moniker is not None
        task: MonikerContext = home.moniker.task
        with pytest.raises(AgentStepperError, match="was created in no conversation"):
            await task.read_messages()
        assert [message.text for message in await task.read_messages("c")] == ["one"]
        steps.finish_step()
        await home.wait_for_iteration(1)
        assert await position(home) == "message one"


# ---- real workers ------------------------------------------------------------------------------------


async def say(client: RuntimeClient, *texts: str) -> None:
    for text in texts:
        message = NewMessage(conversation_id="c", user_id="ada", text=text, idem_key=text)
        await client.request("say", message, ConversationMessage)


@pytest.mark.slow
@pytest.mark.parametrize(
    "moniker", ["listen", pytest.param("cooperative_listen", marks=pytest.mark.soak)]
)
def test_each_message_is_read_in_one_kept_step_though_its_worker_is_killed(
    moniker: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = install(tmp_path / "installed")
    root = Path(__file__).parents[2]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(root), str(installed)]))
    hold, texts = tmp_path / "hold", [f"{number}" for number in range(7)]

    async def test() -> None:
        place = CoreProcesses(tmp_path)
        with place.core():
            async with place.client() as client:
                await client.request(
                    "create_conversation", NewConversation(conversation_id="c"), Conversation
                )
                payload = {
                    "moniker": moniker,
                    "config": {"hold": str(hold)},
                    "conversation_id": "c",
                    "delivery": Delivery.PULL,
                }
                await client.enqueue(ActionKind.CREATE, "s", agent_id="a", payload=payload)
                with place.worker() as first:
                    await say(client, *texts[:3])
                    while not hold.exists():  # a step has read, and is not kept
                        await asyncio.sleep(0.02)
                    kill(first)
                with place.worker():
                    await say(client, *texts[3:])
                    while await heard(client) != texts:
                        await asyncio.sleep(0.02)
                    at = await client.state("s")
                    await client.wait_until(lambda states: states["s"].iteration > at.iteration + 1)
                    assert await heard(client) == texts
                    cursor = (await client.request("cursor", CURSOR, CursorResult)).cursor
                    assert cursor is not None

    run(test)


async def heard(client: RuntimeClient) -> list[str]:
    return [text for step in await client.steps("s") for text in step.data or []]
