"""`BackgroundAgent`: a session of a background agent as an agent of a chat."""

from __future__ import annotations

import asyncio
import itertools
import uuid
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any, ClassVar, Final

import msgspec

from ...errors import CommandError
from ...protocol.chat import AgentName, AgentOutput, Message, MessageType
from ...protocol.runtime import (
    LIVE_STATUSES,
    Action,
    ActionStatus,
    AgentState,
    AgentStep,
    SessionStatus,
)
from ...protocol.runtime_requests import TopicEvent
from ...runtime.client import AsyncAgents
from ...runtime.session_writer import StepRunnerState
from .. import message_types
from ..connector import InterpreterABC, Item, Turn

#: Makes a session's id of a chat session's: the same whenever that is opened again.
_ID_NAMESPACE: Final = uuid.UUID("0b4c1a5e-6f55-4c0e-9a0c-7d1f3f2c8a10")
#: The text shown as AutoChat's message where the chat waits for the next step without a message.
_NEXT: Final = "The next step."
_PAUSED: Final = (
    "The session is paused: it answers once it is resumed, in the view of the sessions or by "
    "`agents.resume(session_id={id!r})`. Stop ends the wait; it keeps what it was told."
)
_RESTARTED: Final = "The session had ended: this is another one, which begins anew."


class BackgroundAgent(InterpreterABC):
    """Answers in a chat by a background agent's session, which runs in a worker of the Core.

    ::

        chat = Chat(BackgroundAgent(create={"agent_id": "joker", "moniker": "joke"}))
        chat.send("Cats.")

    A message becomes the session's input. The answer is the output of the step that gets the input:
    its text, or else its data as JSON. The session goes on during and after the answer; Stop in the
    chat only ends the wait. The session's steps are recorded in a run of their own.

    Args:
        session_id: The id of an existing session. Give either this or `create`.
        create: The arguments of `AsyncAgents.create_agent` by their names, or `(agent_id, moniker,
            config)`. Each session of the chat creates a background session at its first message. If
            that session has ended, the next message creates another one.
        url: The Core's URL; None: the running Core is discovered.
        token: The control token; None: the token is looked up.
        name: The agent's name in the chat; None: the background agent's name, or `session`.
        role: One of the roles of `chat.roles`.
        description: One line for people, and for agents that hand off.
        continuation_prompt: The input that AutoChat sends; None: no input is sent, and the answer
            has the steps since the last one that was shown, or waits for the next one.

    Raises:
        ValueError: Neither `session_id` nor `create` is given, or both are.
    """

    summary: ClassVar[str] = "a session of a background agent"

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
            raise ValueError("Name the session, or say with create= what to create, but not both.")
        self.name = name or self._create.get("agent_id") or "session"
        self.role = role
        self.description = description or "runs in the background, a step after the other"
        self.continuation_prompt = continuation_prompt or _NEXT
        self._has_continuation_prompt = continuation_prompt is not None
        self._session_id = session_id
        self._where = (url, token)
        self._agents: AsyncAgents | None = None
        self._connecting = asyncio.Lock()
        self._states: dict[str, AgentState] = {}  # by the chat's sessions
        self._next_iterations: dict[str, int] = {}  # by sessions of the queue: steps that were told

    def run_id(self, session_id: str) -> str | None:
        """The id of the session's run in the debugger; None before the first message."""
        state = self._states.get(session_id)
        return None if state is None else state.run_id

    async def chat(self, message: Message, turn: Turn) -> AsyncGenerator[Item, None]:
        """Answer a message; see `InterpreterABC.chat`."""
        agents, chat = await self._connected(), turn.session_id
        silent = turn.is_continuation and not self._has_continuation_prompt
        before = self._states.get(chat)
        state = await self._find_session(agents, chat, should_restart=not silent)
        if before is not None and before.session_id != state.session_id:
            yield _note(_RESTARTED)
        next_iteration = self._next_iterations.get(state.session_id)
        waiting = StepWaiter(
            agents,
            state,
            None if silent else message_types.format_message_text(message),
            next_iteration,
        )
        try:
            async with aclosing(waiting.steps()) as steps:
                async for step in steps:
                    if step is None:
                        yield _note(_PAUSED.format(id=state.session_id))
                        continue
                    for piece in describe_step(step):
                        yield piece
        finally:
            self._states[chat] = waiting.state
            self._next_iterations[state.session_id] = waiting.next_iteration

    async def on_session_closed(self, session_id: str) -> None:
        """Forget the chat's session; the background session goes on."""
        state = self._states.pop(session_id, None)
        if state is not None and self._create:
            self._next_iterations.pop(state.session_id, None)

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

    async def _find_session(
        self, agents: AsyncAgents, chat: str, *, should_restart: bool
    ) -> AgentState:
        """The session that answers, as it stands.

        Args:
            agents: The Core's agents.
            chat: The session of the chat.
            should_restart: Whether another one is created where ours has ended.

        Raises:
            CommandError: `unknown_session`; what else the Core says.
        """
        known = self._states.get(chat)
        if self._session_id is not None:
            state = await agents.state(self._session_id)
        elif known is not None and not should_restart:
            state = await agents.state(known.session_id)
        else:
            state = await self._create_session(agents, chat)
        self._states[chat] = state
        return state

    async def _create_session(self, agents: AsyncAgents, chat: str) -> AgentState:
        """The session that was created for a chat's, or a new one where that has ended."""
        for attempt in itertools.count():
            id = str(uuid.uuid5(_ID_NAMESPACE, f"{chat}/{self.name}/{attempt}"))
            # Creating is idempotent: where there is one, nothing is.
            await agents.create_agent(**{**self._create, "session_id": id})
            state = await agents.state(id)
            if state.status in LIVE_STATUSES:
                break
        return state


def _arguments(create: Mapping[str, Any] | tuple[Any, ...] | None) -> dict[str, Any]:
    """What a session is created with, by name; nothing where none is."""
    if isinstance(create, tuple):
        return dict(zip(("agent_id", "moniker", "config"), create, strict=False))
    return {} if create is None else dict(create)


#: Steps that one answer has at most, where it has all since the last one.
MAX_STEPS: Final = 20
#: Characters of a step's data that are shown.
MAX_DATA_CHARS: Final = 200_000


class StepWaiter:
    """Waits for the step that answers a message, or for a session's next steps.

    Args:
        agents: The Core's background agents.
        state: The session's present state.
        text: The message to the session; None: no message, wait for the next steps.
        next_iteration: The first step that the chat hasn't received; None: the session's next step.

    Attributes:
        state: The session's last received snapshot.
        next_iteration: The first step that the chat hasn't received yet.
    """

    def __init__(
        self, agents: AsyncAgents, state: AgentState, text: str | None, next_iteration: int | None
    ) -> None:
        self.state = state
        self.next_iteration = state.iteration if next_iteration is None else next_iteration
        self._agents = agents
        self._text = text
        self._from = state.iteration if text is not None else self.next_iteration
        self._action: Action | None = None
        self._sent_steps: AgentState | None = None  # the session as it was told
        self._steps: list[AgentStep] = []

    async def steps(self) -> AsyncGenerator[AgentStep | None, None]:
        """The steps that answer. None is given once, where it pauses before that.

        Raises:
            CommandError: `session_over`: it has ended before it answered; what else the Core says.
        """
        paused = False
        async with aclosing(self._agents.watch(f"session:{self.state.session_id}")) as notices:
            async for notice in notices:
                await self._receive(notice)
                found = self._answer()
                for step in found:
                    self.next_iteration = step.iteration + 1
                    yield step
                if found:
                    return
                self._check()
                if self.state.status is SessionStatus.PAUSED and not paused:
                    paused = True
                    yield None

    async def _receive(self, notice: TopicEvent) -> None:
        if notice.event == "begin":
            await self._begin(notice)
            return
        for state in notice.states:
            self.state = state
        for action in notice.actions:
            self._about(action)
        self._steps += [step for step in notice.steps if step.iteration >= self._from]

    async def _begin(self, notice: TopicEvent) -> None:
        """From here on nothing is missed; before it, something may have been."""
        for state in notice.states:
            self.state = state
        if self._text is not None and self._action is None:
            self._check()
            self._from, session = self.state.iteration, self.state.session_id
            self._action = await self._agents.send_input(self._text, session_id=session)
            return
        self._steps = await self._agents.list_agent_steps(
            self.state.session_id, min_iteration=self._from, limit=MAX_STEPS
        )
        if self._action is not None:
            for action in await self._agents.actions(id=self._action.id):
                self._about(action)

    def _about(self, action: Action) -> None:
        if self._action is None or action.id != self._action.id:
            return
        self._action = action
        if action.status is ActionStatus.DONE and self._sent_steps is None:
            self._sent_steps = self.state

    def _answer(self) -> list[AgentStep]:
        if self._text is None:
            return self._steps
        return next(([step] for step in self._steps if self._has_received_text(step)), [])

    def _has_received_text(self, step: AgentStep) -> bool:
        """Whether a step was given the text. In the debugger a person may have edited what it was given:
        then it is the first one whose frame was made after the session was told.
        """
        text, state_received = self._text, self._sent_steps
        if text is not None and isinstance(step.guidance, str) and text in step.guidance:
            return True
        if state_received is None or step.iteration < state_received.iteration:
            return False
        under_way = StepRunnerState.from_state(state_received).pending_guidance is not None
        return step.iteration > state_received.iteration or (
            step.guidance is not None and not under_way
        )

    def _check(self) -> None:
        action, state = self._action, self.state
        if action is not None and action.status is ActionStatus.FAILED:
            raise CommandError(
                "session_over",
                f"The session did not take the message: {action.error or 'no reason is given'}",
            )
        if state.status not in LIVE_STATUSES:
            raise describe_end(state)


def describe_end(state: AgentState) -> CommandError:
    """Make the error of a message to a session that has ended."""
    note = state.last_error or StepRunnerState.from_state(state).end_reason
    why = f": {note}" if note else "."
    return CommandError(
        "session_over",
        f"The session {state.session_id} of {state.agent_id} has ended ({state.status}) "
        f"after {state.iteration} steps{why} Create another session to continue.",
    )


def describe_step(step: AgentStep) -> list[AgentOutput]:
    """Convert a step to output for the chat: its text, or else its data.

    Args:
        step: The step.

    Raises:
        CommandError: `session_over`: the step failed.
    """
    if step.error is not None:
        raise CommandError(
            "session_over",
            f"Step {step.iteration} failed and ended the session: {step.error}",
        )
    said = [_make_output(step)]
    if step.status not in LIVE_STATUSES:
        note = f" {step.notes}" if step.notes else ""
        said.append(_note(f"The session has ended with this step ({step.status}).{note}"))
    return said


def _make_output(step: AgentStep) -> AgentOutput:
    if step.text:
        return AgentOutput(content=step.text)
    if step.data is not None:
        return AgentOutput(
            type=MessageType.CODE.value, content=_json(step.data), language="json", format="result"
        )
    return _note(f"Step {step.iteration} returned no text. {step.notes or ''}".rstrip())


def _note(text: str) -> AgentOutput:
    return AgentOutput(role="system", content=text)


def _json(value: Any) -> str:
    text = msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
    if len(text) <= MAX_DATA_CHARS:
        return text
    return f"{text[:MAX_DATA_CHARS]}\n[… {len(text):,} characters in all]"
