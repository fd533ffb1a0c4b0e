"""Agents that do what agents shouldn't: the turn ends, says why, and the session goes on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from agentstepper_nb.chat import outputs
from agentstepper_nb.chat.connector import Handoff, TextReplacement, Turn
from agentstepper_nb.chat.limits import ChatLimits
from agentstepper_nb.errors import ProtocolError
from agentstepper_nb.protocol.chat import AgentOutput, Message, MessageType, TurnEnding
from tests.chat.harness import NOWHERE, PNG, ChatHarness, ScriptedAgent, harness


def deep(levels: int) -> Any:
    value: Any = "at the bottom"
    for _ in range(levels):
        value = [value]
    return value


class HostileMapping(Mapping[str, Any]):
    """A mapping that fails wherever it is looked at."""

    def __getitem__(self, key: str) -> Any:
        raise OSError("no")

    def __iter__(self) -> Iterator[str]:
        raise OSError("no")

    def __len__(self) -> int:
        return 1


class UnhashableText(str):
    """A text that isn't quite one."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        raise OSError("no")


class BrokenIterator:
    """An iterator that neither goes on nor can be closed."""

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        raise GeneratorExit

    def close(self) -> None:
        raise SystemExit(1)


class OwnBaseException(BaseException):
    """An error that isn't an `Exception`."""


def raises(error: BaseException) -> Callable[[Message, Turn], Any]:
    async def answer(message: Message, turn: Turn) -> AsyncIterator[str]:
        yield "Half"
        raise error

    return answer


def gives(answer: Any) -> Callable[[Message, Turn], Any]:
    return lambda message, turn: answer


HOSTILE: dict[str, Any] = {
    "a content that is no text": [AgentOutput(content=5)],  # type: ignore[arg-type]
    "a type that is no word": [AgentOutput(type=["MESSAGE"])],  # type: ignore[arg-type]
    "an unknown role": [AgentOutput(content="x", role="root")],  # type: ignore[arg-type]
    "choices without number": [
        AgentOutput(type="CONFIRMATION", content="?", choices=tuple(map(str, range(10_000))))
    ],
    "a picture that is none": [outputs.image(b"<svg onload=alert(1)>")],
    "a huge picture": [outputs.image(PNG + bytes(11 * 1024 * 1024))],
    "arguments without bottom": [outputs.call("look", deep(5000))],
    "huge arguments": [outputs.call("look", ["x" * 1_100_000])],
    "a value that no JSON has": [outputs.call("look", object())],
    "a replacement that is no text": ["x", TextReplacement(5)],  # type: ignore[arg-type]
    "a strange mapping": [HostileMapping()],
    "a strange text": [{"type": UnhashableText("MESSAGE"), "content": "x"}],
    "a hand-on to nobody": [Handoff(5)],  # type: ignore[arg-type]
    "a hand-on with a strange text": [Handoff("actor", 5)],  # type: ignore[arg-type]
    "no answer at all": gives(object()),
    "a number": gives(5),
    "an iterator that fails": gives(BrokenIterator()),
    "an own error": raises(OwnBaseException("mine")),
    "an interrupt": raises(KeyboardInterrupt()),
    "the end of a generator": raises(GeneratorExit()),
    "the end of an iterator": raises(StopIteration()),
    "a group": raises(BaseExceptionGroup("all", [OwnBaseException("mine"), SystemExit(2)])),
}


@pytest.mark.parametrize("what", HOSTILE)
async def test_what_an_agent_should_not_do_ends_its_turn_alone(what: str) -> None:
    bad = ScriptedAgent(HOSTILE[what], "bad", role="CREW")
    async with harness(NOWHERE, ScriptedAgent(), bad, store=False) as home:
        before = asyncio.all_tasks()
        await home.send_and_read(to="bad")
        assert home.info.ending is TurnEnding.ERROR
        assert (home.messages[-1].role, home.messages[-1].format) == ("system", "error")
        check(home)
        assert asyncio.all_tasks() == before
        assert [each.content for each in await home.send_and_read()] == ["Yes."]
        check(home)


def check(home: ChatHarness) -> None:
    """What was told is what is there, and nothing of a turn is left."""
    assert home.fold.messages == home.messages
    assert home.fold.info == home.info
    assert all(message.final for message in home.messages)
    assert (home.info.speaking, home.info.waiting) == (None, None)


async def test_what_is_too_much_is_cut_and_the_rest_is_said() -> None:
    said = ["x" * 600_000, "y" * 5_000_000, "z", outputs.console("w" * 3_000_000)]
    async with harness(NOWHERE, ScriptedAgent(said), store=False) as home:
        await home.send_and_read()
        assert home.info.ending is TurnEnding.DONE
        _, text, console = home.messages
        assert len(text.content) == len(console.content) == 1_000_000
        assert (text.content[:1], console.type) == ("x", MessageType.CONSOLE)
        assert text.content.endswith("1,000,000 characters)")
        check(home)


@pytest.mark.slow
async def test_many_messages_are_few_in_memory_and_all_in_the_transcript() -> None:
    """INV-MEM-001's limit is soft: what goes from memory can still be read."""
    said = [outputs.console(str(n)) if n % 2 else str(n) for n in range(400)]
    async with harness(NOWHERE, ScriptedAgent(said), store=False) as home:
        await home.send_and_read()
        assert (home.info.messages_in_memory, home.info.messages) == (100, 401)
        page = home.interpreter.read_earlier_messages(home.session, home.messages[0].id, 3)
        assert [each.content for each in page.messages] == ["297", "298", "299"]
        check(home)


async def test_an_agent_that_hangs_as_it_is_closed_can_be_stopped() -> None:
    leave, hangs = asyncio.Event(), asyncio.Event()

    async def clings(message: Message, turn: Turn) -> AsyncIterator[Any]:
        try:
            yield Handoff("actor")
        finally:
            hangs.set()
            while not leave.is_set():
                with suppress(asyncio.CancelledError):
                    await leave.wait()

    agents = (ScriptedAgent(clings, "bad", role="CREW"), ScriptedAgent())
    limits = ChatLimits(turn_grace_s=0.01)
    async with harness(NOWHERE, *agents, store=False, limits=limits) as home:
        home.send("Go.")
        await hangs.wait()
        await home.stop()
        assert home.info.ending is TurnEnding.STOPPED
        assert [each.content for each in await home.send_and_read(to="actor")] == ["Yes."]
        check(home)
        leave.set()
        await asyncio.sleep(0)


async def test_what_an_agent_says_of_itself_is_asked_once() -> None:
    class Shy(ScriptedAgent):
        shy = False

        @property
        def description(self) -> str:  # type: ignore[override]
            if self.shy:
                raise OSError("no")
            return "shy"

    actor = Shy()
    async with harness(NOWHERE, actor, store=False) as home:
        actor.shy = True
        assert [each.content for each in await home.send_and_read()] == ["Yes."]
        check(home)


async def test_a_session_that_can_not_be_made_again_holds_nothing(tmp_path: Path) -> None:
    class Moody(ScriptedAgent):
        role_now = "OTHER"

        @property
        def role(self) -> str:  # type: ignore[override]
            return self.role_now

        @role.setter
        def role(self, word: str) -> None:
            pass

    moody = Moody()
    async with harness(tmp_path, ScriptedAgent()) as home:
        await home.send_and_read()
    async with harness(tmp_path, moody) as other:
        moody.role_now = "NOBODY"
        with pytest.raises(ProtocolError, match="NOBODY"):
            other.interpreter.open(home.session)
        moody.role_now = "OTHER"
        assert other.interpreter.open(home.session).messages == 2
