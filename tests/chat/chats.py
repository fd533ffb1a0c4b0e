"""Chats for tests, views of their sessions by the service, and answers read to their end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import pytest

from agentstepper_nb.chat.allowed_paths import AllowedPaths
from agentstepper_nb.chat.answer_adapter import iterate_answer
from agentstepper_nb.chat.chat import Chat
from agentstepper_nb.chat.connector import InterpreterABC, Item, Turn
from agentstepper_nb.chat.interpreter import Interpreter
from agentstepper_nb.chat.message_builder import MessageCollector
from agentstepper_nb.chat.service import ChatRight, ChatService
from agentstepper_nb.protocol.chat import (
    ChatAgentInfo,
    ChatMessageChanged,
    ChatMessageDelta,
    ChatSessionChanged,
    ChatSessionSnapshot,
    Message,
    NumberedChatEvent,
    State,
)
from agentstepper_nb.sdk.async_stepper import AsyncAgentStepper
from tests.chat.harness import GatedAnswer, ScriptedAgent

T = TypeVar("T")

Say = Callable[[Message, Turn], AsyncGenerator[Item, None]]


class FunctionTestAgent(ScriptedAgent):
    """Says what a function says.

    Args:
        say: The function; None: it says what it was told.
        name: The agent's.
    """

    def __init__(self, say: Say | None = None, name: str = "parrot") -> None:
        super().__init__(say or _echo, name, go_on="Go on.")


async def _echo(message: Message, turn: Turn) -> AsyncGenerator[Item, None]:
    yield f"You said: {message.content}"


class HeldAnswer(GatedAnswer):
    """An agent's function that begins to say something, and goes on when it is let."""

    def __init__(self, *pieces: Item) -> None:
        super().__init__(pieces or ("Wait",), [", and go."])


@asynccontextmanager
async def interpreter(
    tmp_path: Path, *agents: InterpreterABC, **how: Any
) -> AsyncIterator[Interpreter]:
    """An interpreter that keeps its transcripts in a folder, and isn't debugged."""
    made = Interpreter(
        agents or (FunctionTestAgent(),),
        data_dir=tmp_path,
        allowed=AllowedPaths([tmp_path]),
        **{"debugger": False, "store": False, **how},
    )
    try:
        yield made
    finally:
        await made.close()


@asynccontextmanager
async def served(
    tmp_path: Path, *agents: InterpreterABC, **how: Any
) -> AsyncIterator[tuple[Interpreter, ChatService, str, AsyncGenerator[Any, None]]]:
    """An interpreter, its service for who talks, a session, and the stream of that session."""
    async with interpreter(tmp_path, *agents, **how) as here:
        service, session = ChatService(here, ChatRight.TALK), str(here.create_session())
        async with aclosing(watch_session(service, session)) as stream:
            yield here, service, session, stream


async def request(service: ChatService, method: str, /, **params: Any) -> Any:
    """Ask a service once, as a line does; gives the answer as who asked reads it."""
    answer = await service.call(method, msgspec.Raw(msgspec.json.encode(params)))
    return answer


def watch_session(service: ChatService, session: str) -> AsyncGenerator[Any, None]:
    """A service's stream of a session."""
    return service.stream("watch", msgspec.Raw(msgspec.json.encode({"session": session})))


async def read_until(stream: AsyncGenerator[Any, None], done: Callable[[Any], bool]) -> list[Any]:
    """The items of a stream, up to the first that is wanted."""
    items = []
    async for item in stream:
        items.append(item)
        if done(item):
            return items
    raise AssertionError(f"it ended before: {items}")


async def within_timeout(work: Awaitable[T]) -> T:
    """What is awaited, which has to come."""
    async with asyncio.timeout(60):
        return await work


def is_turn_end(told: NumberedChatEvent) -> bool:
    """Whether a turn is over with this event."""
    event = told.event
    return isinstance(event, ChatSessionChanged) and event.session.state is State.STATE_STOP


def list_contents(events: list[NumberedChatEvent]) -> list[tuple[str, str]]:
    """Who said what, as a reader of the events has it in the end."""
    found: dict[str, Message] = {}
    for told in events:
        match told.event:
            case ChatSessionSnapshot(messages=messages):
                found = {each.id: each for each in messages}
            case ChatMessageChanged(message=make_user_message):
                found[make_user_message.id] = make_user_message
            case ChatMessageDelta(message_id=id, text=text):
                grown = found[id].content + text
                found[id] = msgspec.structs.replace(found[id], content=grown)
    return [(each.role, each.content) for each in found.values()]


Make = Callable[..., Chat]


def no_debugger(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    """No debugger of whoever runs the tests is found."""
    for name in ("JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR"):
        monkeypatch.setenv(name, str(home / name.lower()))
    for name in ("AGENTSTEPPER_URL", "AGENTSTEPPER_WORKER_URL"):
        monkeypatch.delenv(name, raising=False)


def chats(folder: Path) -> Iterator[Make]:
    """Makes chats that aren't debugged, and closes them at the end: a fixture's body."""
    made: list[Chat] = []

    def make(*agents: Any, **how: Any) -> Chat:
        chat = Chat(
            *(agents or (FunctionTestAgent(),)), **{"debugger": False, "data_dir": folder, **how}
        )
        made.append(chat)
        return chat

    yield make
    for chat in made:
        chat.close()


def contents(messages: list[Message] | tuple[Message, ...]) -> list[str]:
    """What messages say."""
    return [message.content for message in messages]


def make_user_message(content: str = "Hello.", **fields: Any) -> Message:
    """A message that an agent is to answer."""
    given = {"id": "q", "session_id": "s", "role": "user", "created_at": 1.0, **fields}
    return Message(content=content, **given)


class ScriptedChoices:
    """Chooses what a test says, and keeps what was asked; None never answers.

    Attributes:
        waits: Set once something is asked that is never answered.
        withdrawn: Set once that is taken back.
    """

    def __init__(self, *choices: str | None) -> None:
        self.questions: list[tuple[str, tuple[str, ...], Any]] = []
        self.waits, self.withdrawn = asyncio.Event(), asyncio.Event()
        self._choices = list(choices)

    async def __call__(
        self, text: str, choices: Sequence[str] = ("Yes", "No"), *, details: object = None
    ) -> str:
        self.questions.append((text, tuple(choices), details))
        choice = self._choices.pop(0)
        if choice is not None:
            return choice
        self.waits.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.withdrawn.set()
        raise AssertionError


def make_turn(
    *window: Message,
    person: ScriptedChoices | None = None,
    dbg: AsyncAgentStepper | None = None,
    agents: Sequence[ChatAgentInfo] = (),
) -> Turn:
    """What there is beside the message."""
    return Turn(
        session_id="s",
        window=window,
        confirm=person or ScriptedChoices(),
        dbg=dbg,
        workspace=None,
        data_dir=Path("nowhere"),
        agents=tuple(agents),
    )


async def record_answer(
    agent: InterpreterABC,
    message: Message | str = "Hello.",
    turn: Turn | None = None,
    *,
    choice: str | None = None,
) -> list[Any]:
    """What it yields, to its end; each yield gives it the choice."""
    message = make_user_message(message) if isinstance(message, str) else message
    got: list[Any] = []
    async with aclosing(iterate_answer(lambda: agent.chat(message, turn or make_turn()))) as answer:
        sent = None
        while True:
            try:
                got.append(await answer.asend(sent))
            except StopAsyncIteration:
                return got
            sent = choice


def build_messages(given: Sequence[Any]) -> list[Message]:
    """The messages that items become."""
    gathered = MessageCollector()
    for item in given:
        gathered.add(item)
    gathered.close()
    return list(gathered.messages)
