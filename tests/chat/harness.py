"""An interpreter with agents whose answers a test writes, and those who listen to it and debug it."""

from __future__ import annotations

import asyncio
import base64
import json
import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import msgspec
import pytest
from msgspec.structs import replace

from agentstepper_nb.chat.allowed_paths import AllowedPaths
from agentstepper_nb.chat.backend import UserInput
from agentstepper_nb.chat.connector import AnswerItems, InterpreterABC, Turn
from agentstepper_nb.chat.interpreter import Interpreter
from agentstepper_nb.chat.remote.key_file import KEYS_FILE
from agentstepper_nb.chat.remote.tokens import ChatTokens
from agentstepper_nb.errors import CommandError, ProtocolError
from agentstepper_nb.protocol.chat import (
    AgentOutput,
    ChatAgentChanged,
    ChatEvent,
    ChatMessageChanged,
    ChatMessageDelta,
    ChatSessionChanged,
    ChatSessionInfo,
    ChatSessionSnapshot,
    Message,
    State,
    TurnEnding,
)
from tests.coding.debugged_agent import AsyncLiveView

#: Seconds that a test waits for what should be there at once.
TIMEOUT_S: Final = 60.0

#: The folder of who keeps nothing.
NOWHERE: Final = Path("nowhere")

Answers = Callable[[Message, Turn], AnswerItems]


class ScriptedAgent(InterpreterABC):
    """An agent that answers as a test says.

    Args:
        answer: Gives the answer, as `chat` does; or its items.
        name: What it is called.
        role: Its role.
        go_on: Its continuation prompt.

    Attributes:
        given: What it was given: messages, each with what was beside it.
        ended_in: The sessions whose end it was told of.
        closes: How often it was closed.
    """

    def __init__(
        self,
        answer: Answers | Iterable[Any] = ("Yes.",),
        name: str = "actor",
        role: str = "AGENT_EXECUTOR",
        go_on: str | None = "Continue.",
    ) -> None:
        self.name = name
        self.role = role
        self.continuation_prompt = go_on
        self.given: list[tuple[Message, Turn]] = []
        self.ended_in: list[str] = []
        self.closes = 0
        self._answer = answer

    def chat(self, message: Message, turn: Turn) -> AnswerItems:
        self.given.append((message, turn))
        if callable(self._answer):
            return self._answer(message, turn)
        return iter(self._answer) if not isinstance(self._answer, str) else iter([self._answer])

    async def on_session_closed(self, session_id: str) -> None:
        self.ended_in.append(session_id)

    async def close(self) -> None:
        self.closes += 1


class GatedAnswer:
    """An answer that waits where it is told to.

    Attributes:
        reached: Set once the answer waits.
        opened: Lets it go on.
        closed: Whether the answer was closed or cancelled.
    """

    def __init__(self, before: Iterable[Any] = (), after: Iterable[Any] = ()) -> None:
        self.reached = asyncio.Event()
        self.opened = asyncio.Event()
        self.closed = False
        self._before, self._after = tuple(before), tuple(after)

    async def __call__(self, message: Message, turn: Turn) -> AsyncIterator[Any]:
        try:
            for item in self._before:
                yield item
            self.reached.set()
            await self.opened.wait()
            for item in self._after:
                yield item
        finally:
            self.closed = True


class EventCollector:
    """A session, put together from what is told of it alone.

    Attributes:
        events: All that was told.
    """

    def __init__(self) -> None:
        self.events: list[ChatEvent] = []
        self.info: ChatSessionInfo | None = None
        self._messages: dict[str, Message] = {}

    @property
    def messages(self) -> tuple[Message, ...]:
        """As the interpreter's: the newest, as many as it says."""
        assert self.info is not None
        return (
            tuple(self._messages.values())[-self.info.messages_in_memory :]
            if self.info.messages_in_memory
            else ()
        )

    @property
    def states(self) -> list[State]:
        """The states it was in, in order."""
        infos = [
            event.session
            for event in self.events
            if isinstance(event, ChatSessionSnapshot | ChatSessionChanged)
        ]
        states = [info.state for info in infos]
        return [state for i, state in enumerate(states) if i == 0 or state is not states[i - 1]]

    @property
    def phases(self) -> list[tuple[str, str]]:
        """Which agent was where, in order."""
        changes = [event.agent for event in self.events if isinstance(event, ChatAgentChanged)]
        return [(agent.name, agent.phase.value) for agent in changes]

    def __call__(self, event: ChatEvent) -> None:
        self.events.append(event)
        match event:
            case ChatSessionSnapshot(session=info, messages=messages):
                self.info = info
                self._messages = {each.id: each for each in messages}
            case ChatSessionChanged(session=info):
                self.info = info
            case ChatMessageChanged(message=message):
                self._messages[message.id] = message
            case ChatMessageDelta(message_id=id, text=text):
                known = self._messages[id]
                self._messages[id] = replace(known, content=known.content + text)


class ChatHarness:
    """An interpreter, one session of it, and who listens to that.

    Attributes:
        interpreter: The interpreter.
        session: The session's id.
        fold: Listens to it from its beginning.
    """

    def __init__(self, interpreter: Interpreter, session: str | None = None) -> None:
        self.interpreter = interpreter
        self.session = session or str(interpreter.create_session())
        self.fold = EventCollector()
        interpreter.attach(self.session, self.fold)

    @property
    def info(self) -> ChatSessionInfo:
        """The session."""
        return self.interpreter.info(self.session)

    @property
    def messages(self) -> tuple[Message, ...]:
        """What was said."""
        return self.interpreter.messages(self.session)

    @property
    def transcript(self) -> list[tuple[str, str]]:
        """Who said what."""
        return [(each.role, each.content) for each in self.messages]

    def send(self, content: str, to: str | None = None) -> Any:
        """Say something; the answer's stream."""
        given = UserInput(content=content, agent_name=to)
        return self.interpreter.process_message(self.session, given)

    async def send_and_read(self, content: str = "Hello.", to: str | None = None) -> list[Message]:
        """Say something, and read the answer to its end."""
        async with asyncio.timeout(TIMEOUT_S):
            return [each async for each in self.send(content, to) if each.final]

    async def stop(self) -> None:
        """End the turn."""
        await self.interpreter.stop(self.session)

    async def wait_until(self, so: Callable[[ChatSessionInfo], object]) -> ChatSessionInfo:
        """Wait until the session is so."""
        changed = asyncio.Event()
        detach = self.interpreter.attach(self.session, lambda event: changed.set())
        try:
            async with asyncio.timeout(TIMEOUT_S):
                while not so(self.info):
                    changed.clear()
                    await changed.wait()
        finally:
            detach()
        return self.info

    async def wait_for_user_turn(self, ending: TurnEnding | None = None) -> ChatSessionInfo:
        """Wait until no turn is under way, and none will be."""

        info = await self.wait_until(lambda info: info.state is State.STATE_STOP)
        assert ending in (None, info.ending)
        return info


@asynccontextmanager
async def harness(
    folder: Path, *agents: InterpreterABC, **options: Any
) -> AsyncIterator[ChatHarness]:
    """An interpreter with a session, without a debugger unless it is asked for."""
    numbers = count(1)
    given = {
        "debugger": False,
        "allowed": AllowedPaths([]),
        "data_dir": folder,
        "new_id": lambda: f"m{next(numbers)}",
        **options,
    }
    interpreter = Interpreter(agents or (ScriptedAgent(),), **given)
    try:
        yield ChatHarness(interpreter)
    finally:
        await interpreter.close()


def unstored_harness(*agents: ScriptedAgent, **options: Any) -> Any:
    """An interpreter that writes nothing."""
    return harness(NOWHERE, *agents, store=False, **options)


def expect_refusal(code: str, match: str | None = None) -> Any:
    """What a refusal is like."""
    refusals = (CommandError, ProtocolError)
    return pytest.raises(refusals, match=match, check=lambda error: error.code == code)


#: What was shown, with no edit.
SAME = ...


def debugged_harness(*agents: ScriptedAgent, **options: Any) -> Any:
    """An interpreter whose turns are halted one by one."""
    return harness(NOWHERE, *agents, store=False, **{"debugger": True, "step": True, **options})


async def step_through_turn(view: AsyncLiveView, *edits: Any) -> None:
    """Step through a turn: its beginning and its end, with edits."""
    for edit in edits:
        await view.wait_for_halt()
        await view.step_async(edit)


def make_shown_message(content: str, role: str = "assistant", **fields: Any) -> dict[str, Any]:
    """A message as the debugger shows it."""
    return {"role": role, "type": "MESSAGE", "content": content, **fields}


PNG: Final = b"\x89PNG\r\n\x1a\n"
JPEG: Final = b"\xff\xd8\xff\xe0"
GIF: Final = b"GIF89a"
WEBP: Final = b"RIFF\x00\x00\x00\x00WEBP"
PICTURES: Final = {"image/png": PNG, "image/jpeg": JPEG, "image/gif": GIF, "image/webp": WEBP}


def message(content: str = "", **fields: Any) -> Message:
    """A message of a session "s", with fields that are given."""
    given = {"id": "m1", "session_id": "s", "role": "assistant", "created_at": 1.0, **fields}
    return Message(content=content, **given)


def make_numbered_messages(count: int, **fields: Any) -> list[Message]:
    """Messages one after another, "text 0" and so on."""
    return [message(f"text {n}", id=f"m{n}", created_at=2.0 + n, **fields) for n in range(count)]


def session(**fields: Any) -> ChatSessionInfo:
    """A session that is new."""
    given = {"id": str(uuid4()), "title": "T", "state": State.STATE_INIT}
    return ChatSessionInfo(**{**given, "created_at": 1.0, "updated_at": 1.0, **fields})


def make_output_message(piece: AgentOutput, **fields: Any) -> Message:
    """The message that a piece would be."""
    given = msgspec.structs.asdict(piece)
    del given["is_new_block"]  # says how it is put together, not what it is
    return message(**{**given, **fields})


HOUR = 3600.0

#: Why a token is refused that no key of the desk has signed, or not so.
NONE = "wasn't issued by this chat"


def token_refusal(chat_tokens: ChatTokens, token: Any) -> str:
    """Why a token is refused."""
    with pytest.raises(CommandError) as caught:
        chat_tokens.check(token)
    assert caught.value.code == "invalid_token"
    assert caught.value.message.endswith(
        "Create a new token where the chat runs: chat.issue_token()."
    )
    return caught.value.message.removeprefix("The chat token ").partition(".")[0]


def tokens_at(folder: Path, seconds: float) -> ChatTokens:
    """A desk whose clock is off."""
    return ChatTokens(folder, clock=lambda: time.time() + seconds)


def signing_key(folder: Path) -> bytes:
    """The key that signs, as who reads the folder has it."""
    kept = json.loads((folder / KEYS_FILE).read_text())
    return base64.b64decode(kept["keys"][-1]["secret"])
