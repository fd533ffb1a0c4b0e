"""Agents that answer in a chat from outside, over real sockets, through a Core that runs."""

from __future__ import annotations

import asyncio
import sys
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from agentstepper_nb.chat import outputs
from agentstepper_nb.chat.connector import Handoff, InterpreterABC, Turn
from agentstepper_nb.hub import AgentStepperCore
from agentstepper_nb.protocol.chat import ChatMessageChanged, Message
from tests.chat.chats import HeldAnswer, contents, within_timeout
from tests.chat.remote_harness import remote_harness


async def test_an_agent_from_outside(tmp_path: Path, worker_core: AgentStepperCore) -> None:
    """A function elsewhere is an agent here: it streams, asks, sees what was said, and fails."""

    async def poet(message: Message, history: tuple[Message, ...]) -> Any:
        if message.content == "Fail":
            raise ValueError("no rhyme")
        yield f"After {len(history)}: "
        choice = yield outputs.confirmation("Rhymed?", ("Yes", "No"))
        yield f"rhymed {choice}, "
        yield {"role": "assistant", "type": "code", "format": "python", "content": "print(1)"}

    async with remote_harness(tmp_path) as harness:
        agent = await harness.client("answer", agent_name="poet")
        attending = asyncio.ensure_future(
            agent.serve_agent(poet, role="THOUGHT", description="Rhymes.")
        )
        await harness.wait_for_agents("parrot", "poet")
        assert harness.interpreter.info(harness.session).agents[1].role == "THOUGHT"
        talker = await harness.client("talk")
        await within_timeout(talker.send("Hello"))
        assert contents(await within_timeout(talker.send("A poem", agent="poet"))) == [
            "After 2: ",
            "Rhymed?",
        ]
        said = await within_timeout(talker.choose("Yes"))
        assert [(each.type, each.content) for each in said] == [
            ("MESSAGE", "rhymed Yes, "),
            ("CODE", "print(1)"),
        ]
        (error,) = await within_timeout(talker.send("Fail", agent="poet"))
        assert (error.role, error.content) == ("system", "ValueError: no rhyme")
        attending.cancel()
        await asyncio.wait((attending,))
        await harness.wait_for_agents("parrot")


async def test_a_connector_from_outside(tmp_path: Path, worker_core: AgentStepperCore) -> None:
    class Careful(InterpreterABC):
        name = "whatever"
        role = "SUPERVISOR"
        closed = False

        async def chat(self, message: Message, turn: Turn) -> Any:
            assert turn.dbg is None
            assert turn.workspace is None
            choice = await turn.confirm("Sure?", details={"why": "it costs"})
            yield Handoff("parrot", f"Sure: {choice}")

        async def close(self) -> None:
            self.closed = True

    async with remote_harness(tmp_path) as harness:
        agent = await harness.client("answer", "talk", agent_name="boss")
        careful = Careful()
        attending = asyncio.ensure_future(agent.serve_agent(careful))
        await harness.wait_for_agents("parrot", "boss")
        (asked,) = await within_timeout(agent.send("Go", agent="boss"))
        assert asked.details == {"why": "it costs"}
        said = await within_timeout(agent.choose("Yes"))
        assert contents(said) == ["Sure: Yes", "You said: Sure: Yes"]
        attending.cancel()
        await asyncio.wait((attending,))
        assert careful.closed


async def test_a_stopped_turn_ends_the_agents_work(
    tmp_path: Path, worker_core: AgentStepperCore
) -> None:
    held, ended = HeldAnswer("I begin"), asyncio.Event()

    async def slow(message: Message, turn: Turn) -> Any:
        try:
            async for item in held(message, turn):
                yield item
        finally:
            ended.set()

    async with remote_harness(tmp_path) as harness:
        agent = await harness.client("answer", agent_name="slow")
        attending = asyncio.ensure_future(agent.serve_agent(slow))
        await harness.wait_for_agents("parrot", "slow")
        talker = await harness.client("talk")
        sending = asyncio.ensure_future(talker.send("Go", agent="slow"))
        await within_timeout(held.reached.wait())
        await within_timeout(talker.stop())
        await within_timeout(ended.wait())
        assert contents(await within_timeout(sending)) == ["I begin"]
        held.opened.set()
        assert contents(await within_timeout(talker.send("Again", agent="slow"))) == [
            "I begin, and go."
        ]
        attending.cancel()
        await asyncio.wait((attending,))


@pytest.mark.slow
async def test_an_agent_of_another_process(tmp_path: Path, worker_core: AgentStepperCore) -> None:
    """It answers; it is killed in the middle of an answer, which the conversation tells; and its turn
    is over.
    """
    script = (
        "import sys, time\n"
        "from agentstepper_nb.chat import ChatClient\n"
        "def clock(message):\n"
        "    yield f'You said {message}'\n"
        "    if message == 'Hang':\n"
        "        time.sleep(600)\n"
        "with ChatClient.connect(*sys.argv[1:3]) as chat:\n"
        "    chat.serve_agent(clock)\n"
    )

    async with remote_harness(tmp_path) as harness:
        address = await harness.remote_access.open()
        token = harness.tokens.issue(harness.session, "answer", agent_name="clock")
        process = await asyncio.create_subprocess_exec(sys.executable, "-c", script, address, token)
        try:
            await harness.wait_for_agents("parrot", "clock")
            talker = await harness.client("talk")
            assert contents(await within_timeout(talker.send("Hi", agent="clock"))) == [
                "You said Hi"
            ]
            async with aclosing(talker.watch()) as events:
                sending = asyncio.ensure_future(talker.send("Hang", agent="clock"))
                while not (
                    isinstance(event := await within_timeout(anext(events)), ChatMessageChanged)
                    and event.message.content == "You said Hang"
                ):
                    pass
            process.kill()
            said = await within_timeout(sending)
            assert contents(said)[-1] == "The remote agent clock has left the chat."
            await harness.wait_for_agents("parrot")
        finally:
            if process.returncode is None:
                process.kill()
            await process.wait()
