"""A session of the queue as an agent of a chat."""

from __future__ import annotations

import asyncio
import itertools
import uuid
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any, ClassVar, Final

from ...protocol.chat import AgentName, Message, Piece
from ...protocol.runtime import LIVE, AgentState
from ...runtime.client import AsyncAgents
from .. import kinds
from ..connector import InterpreterABC, Item, Turn
from .steps import Waiting, pieces

#: Makes a session's id of a chat session's: the same whenever that is opened again.
_IDS: Final = uuid.UUID("0b4c1a5e-6f55-4c0e-9a0c-7d1f3f2c8a10")
#: What AutoChat is shown to say where nothing is said, and the next step is waited for.
_NEXT: Final = "The next step."
_PAUSED: Final = (
    "The session is paused: it answers once it is resumed, in the view of the sessions or by "
    "`agents.resume(session_id={id!r})`. Stop ends the wait; it keeps what it was told."
)
_ANEW: Final = "The session had ended: this is another one, which begins anew."


class QueueSession(InterpreterABC):
    """A session of an agent that runs on its own, in a worker of the Core.

    ::

        chat = Chat(QueueSession(create={"agent_id": "joker", "moniker": "joke"}))
        chat.send("Cats.")

    A message is its input, and the answer is what the step says that is given it: its text, else its
    data as JSON. The session goes on meanwhile and after; Stop in the chat ends the wait, and nothing
    else. Its steps stand in a run of their own in the debugger.

    Args:
        session_id: The session; or
        create: What one is created with at the first message, for each session of the chat: the
            arguments of `AsyncAgents.create_agent` by their names, or `(agent_id, moniker, config)`.
            Where it has ended, the next message creates another one.
        url: Where the Core is; None: the one that is running.
        token: Its control token; None: it is looked for.
        name: What it is called in the chat; None: the agent's name, or `session`.
        role: A word of `chat.roles`.
        description: A line for people, and for agents that hand on.
        continuation_prompt: What AutoChat tells it; None: nothing, it gives the steps since the last one
            that was told, or waits for the next.

    Raises:
        ValueError: Neither a session nor what to create is named, or both are.
    """

    summary: ClassVar[str] = "a session of an agent that runs on its own"

    def __init__(
        self,
        session_id: str | None = None,
        *,
        create: Mapping[str, Any] | tuple[Any, ...] | None = None,
        url: str | None = None,
        token: str | None = None,
        name: str | None = None,
        role: str = AgentName.AGENT_EXECUTOR.value,
        description: str = "",
        continuation_prompt: str | None = None,
    ) -> None:
        self._create = _arguments(create)
        if (session_id is None) == (not self._create):
            raise ValueError("Name the session, or by create= what to create; one of the two.")
        self.name = name or self._create.get("agent_id") or "session"
        self.role = role
        self.description = description or "runs on its own, a step after the other"
        self.continuation_prompt = continuation_prompt or _NEXT
        self._session_id = session_id
        self._where = (url, token)
        self._agents: AsyncAgents | None = None
        self._connecting = asyncio.Lock()
        self._states: dict[str, AgentState] = {}  # by the chat's sessions
        self._heard: dict[str, int] = {}  # by sessions of the queue: steps that were told

    def run_id(self, session_id: str) -> str | None:
        """The session's run in the debugger, once it was talked with."""
        state = self._states.get(session_id)
        return None if state is None else state.run_id

    async def chat(self, message: Message, turn: Turn) -> AsyncGenerator[Item, None]:
        """Answer a message; see `InterpreterABC.chat`."""
        agents, chat = await self._connected(), turn.session_id
        # What AutoChat says, unless a person has edited it.
        silent = message.role == "system" and message.content == _NEXT
        before = self._states.get(chat)
        state = await self._standing(agents, chat, again=not silent)
        if before is not None and before.session_id != state.session_id:
            yield _note(_ANEW)
        heard = self._heard.get(state.session_id)
        waiting = Waiting(agents, state, None if silent else kinds.as_text(message), heard)
        try:
            async with aclosing(waiting.steps()) as steps:
                async for step in steps:
                    if step is None:
                        yield _note(_PAUSED.format(id=state.session_id))
                        continue
                    for piece in pieces(step):
                        yield piece
        finally:
            self._states[chat] = waiting.state
            self._heard[state.session_id] = waiting.heard

    async def ended(self, session_id: str) -> None:
        """Forget the chat's session; the queue's lives on."""
        state = self._states.pop(session_id, None)
        if state is not None and self._create:
            self._heard.pop(state.session_id, None)

    async def close(self) -> None:
        """Close the connection to the Core."""
        agents, self._agents = self._agents, None
        if agents is not None:
            await agents.close()

    async def _connected(self) -> AsyncAgents:
        async with self._connecting:  # sessions may be answered at once
            if self._agents is None:
                self._agents = await AsyncAgents.connect(*self._where)
            return self._agents

    async def _standing(self, agents: AsyncAgents, chat: str, *, again: bool) -> AgentState:
        """The session that answers, as it stands.

        Args:
            agents: The Core's agents.
            chat: The session of the chat.
            again: Whether another one is created where ours has ended.

        Raises:
            CommandError: `unknown_session`; what else the Core says.
        """
        known = self._states.get(chat)
        if self._session_id is not None:
            state = await agents.state(self._session_id)
        elif known is not None and not again:
            state = await agents.state(known.session_id)
        else:
            state = await self._created(agents, chat)
        self._states[chat] = state
        return state

    async def _created(self, agents: AsyncAgents, chat: str) -> AgentState:
        """The session that was created for a chat's, or a new one where that has ended."""
        for life in itertools.count():
            id = str(uuid.uuid5(_IDS, f"{chat}/{self.name}/{life}"))
            # Creating is idempotent: where there is one, nothing is.
            await agents.create_agent(**{**self._create, "session_id": id})
            state = await agents.state(id)
            if state.status in LIVE:
                break
        return state


def _arguments(create: Mapping[str, Any] | tuple[Any, ...] | None) -> dict[str, Any]:
    """What a session is created with, by name; nothing where none is."""
    if isinstance(create, tuple):
        return dict(zip(("agent_id", "moniker", "config"), create, strict=False))
    return {} if create is None else dict(create)


def _note(text: str) -> Piece:
    return Piece(role="system", content=text)
