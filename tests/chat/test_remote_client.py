"""Scripts that talk to a chat from outside, through a Core that runs, and what they are answered."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from agentstepper_nb.chat import outputs
from agentstepper_nb.chat.connector import Turn
from agentstepper_nb.chat.remote.client import ReplyCollector
from agentstepper_nb.errors import CommandError
from agentstepper_nb.hub import AgentStepperCore
from agentstepper_nb.protocol.chat import (
    ChatMessageChanged,
    ChatSessionChanged,
    ChatSessionSnapshot,
    Message,
)
from tests.chat.chats import FunctionTestAgent, HeldAnswer, contents, interpreter, within_timeout
from tests.chat.harness import PNG, expect_refusal
from tests.chat.remote_harness import remote_harness

# ---- scripts ----------------------------------------------------------------------------------------


async def test_a_script_talks(tmp_path: Path, worker_core: AgentStepperCore) -> None:
    async def paint(message: Message, turn: Turn) -> Any:
        yield "Here: "
        yield outputs.image(PNG, alt="a dot")

    async with remote_harness(
        tmp_path, FunctionTestAgent(), FunctionTestAgent(paint, "painter")
    ) as harness:
        client = await harness.client("talk")
        assert client.session_id == harness.session
        assert (client.scope, client.agent_name) == (("talk",), None)
        assert 0 < client.expires_at - time.time() < 3700
        assert contents(await within_timeout(client.send("Hello"))) == ["You said: Hello"]
        assert contents(await within_timeout(client.send("Again"))) == ["You said: Again"]
        _, picture = await within_timeout(client.send("A dot", agent="painter"))
        assert (await within_timeout(client.read_image(picture.id))).data == PNG
        assert contents(await within_timeout(client.messages()))[:4] == [
            "Hello",
            "You said: Hello",
            "Again",
            "You said: Again",
        ]
        earlier = await within_timeout(client.read_earlier_messages(picture.id, 2))
        assert (contents(earlier.messages), earlier.more) == (["A dot", "Here: "], True)
        assert (await within_timeout(client.info())).messages == 7
        with expect_refusal("unknown_agent", "no agent called 'nobody'"):
            await within_timeout(client.send("Hi", agent="nobody"))


async def test_a_script_chooses_and_stops(tmp_path: Path, worker_core: AgentStepperCore) -> None:
    async def careful(message: Message, turn: Turn) -> Any:
        for what in ("one", "two"):
            choice = yield outputs.confirmation(f"Shall I do {what}?", ("Yes", "No"))
            yield f"{what}: {choice}"

    held = HeldAnswer("Wait")
    async with remote_harness(
        tmp_path, FunctionTestAgent(careful, "careful"), FunctionTestAgent(held, "slow")
    ) as harness:
        client = await harness.client("talk")
        assert contents(await within_timeout(client.send("Go"))) == ["Shall I do one?"]
        with pytest.raises(CommandError, match="'Maybe' is not a choice"):
            await within_timeout(client.choose("Maybe"))
        assert contents(await within_timeout(client.choose("Yes"))) == [
            "one: Yes",
            "Shall I do two?",
        ]
        waiting = (await within_timeout(client.info())).waiting
        assert contents(await within_timeout(client.choose("No", waiting))) == ["two: No"]
        with expect_refusal("not_waiting"):
            await within_timeout(client.choose("Yes"))
        sending = asyncio.ensure_future(client.send("Go", agent="slow"))
        await within_timeout(held.reached.wait())
        with expect_refusal("session_busy"):
            await within_timeout(client.send("Me too"))
        await within_timeout(client.stop())
        assert contents(await within_timeout(sending)) == ["Wait"]


async def test_who_watches_sees_what_others_say(
    tmp_path: Path, worker_core: AgentStepperCore
) -> None:
    async with remote_harness(tmp_path) as harness:
        watcher, talker = await harness.client("watch"), await harness.client("talk")
        async with aclosing(watcher.watch()) as events:
            assert isinstance(await within_timeout(anext(events)), ChatSessionSnapshot)
            await within_timeout(talker.send("Hello"))
            said = set()
            while "You said: Hello" not in said:
                event = await within_timeout(anext(events))
                said |= {event.message.content} if isinstance(event, ChatMessageChanged) else set()
        with expect_refusal("watch_only", "This login may watch the chat"):
            await within_timeout(watcher.send("Hello"))


@pytest.mark.slow
def test_a_script_without_a_loop(tmp_path: Path, worker_core: AgentStepperCore) -> None:
    """In a process of its own, as people run it: it talks, reads, and is turned away."""
    script = (
        "import sys\n"
        "from agentstepper_nb.chat import ChatClient\n"
        "from agentstepper_nb.errors import ConnectionLostError\n"
        "with ChatClient.connect(*sys.argv[1:3]) as chat:\n"
        "    for message in chat.send('Hello'):\n"
        "        print(message.agent_name, message.content)\n"
        "    print(len(chat.messages()), next(iter(chat.watch())).session.id == chat.session_id)\n"
        "try:\n"
        "    ChatClient.connect(sys.argv[1], 'nonsense')\n"
        "except ConnectionLostError as error:\n"
        "    print(error)\n"
    )

    async def main() -> str:
        async with remote_harness(tmp_path) as harness:
            address = await harness.remote_access.open()
            command = [sys.executable, "-c", script, address, harness.tokens.issue(harness.session)]
            process = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE)
            out, _ = await process.communicate()
            return out.decode()

    answer, counted, refused = asyncio.run(main()).splitlines()
    assert (answer, counted) == ("parrot You said: Hello", "2 True")
    assert "(401): invalid_token: The chat token wasn't issued by this chat." in refused


# ---- what an answer is ------------------------------------------------------------------------------


def test_replies_are_what_follows(tmp_path: Path) -> None:
    async def sessions() -> None:
        async with interpreter(tmp_path) as made:
            session = str(made.create_session())
            infos.append(made.info(session))
            made.change_state_running(session)
            infos.append(made.info(session))

    infos: list[Any] = []
    asyncio.run(sessions())
    is_awaiting_user, runs = infos

    def message(id: str, at: float, **fields: Any) -> Message:
        given = {"role": "assistant", "content": id, **fields}
        return Message(id=id, session_id="s", created_at=at, **given)

    asked = message("asked", 2.0, role="user")
    replies = ReplyCollector(asked)
    assert not replies.add(ChatSessionChanged(session=is_awaiting_user)), "that is from before"
    assert not replies.add(ChatMessageChanged(message=message("old", 1.0)))
    assert not replies.add(ChatMessageChanged(message=asked))
    assert not replies.add(ChatMessageChanged(message=message("a", 3.0)))
    assert not replies.add(ChatSessionChanged(session=runs))
    begin = ChatSessionSnapshot(session=runs, messages=(asked, message("b", 4.0)))
    assert not replies.add(begin)
    assert contents(replies.messages) == ["b"], "the other was removed"
    trimmed = ChatSessionSnapshot(
        session=is_awaiting_user, messages=(message("c", 5.0), message("u", 5.0, role="user"))
    )
    assert replies.add(trimmed)
    assert contents(replies.messages) == ["b", "c"]
