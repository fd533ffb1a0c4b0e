"""Waiting for a step of a session of the queue, and what it comes to in a chat."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any, Final

import msgspec

from ...errors import CommandError
from ...protocol.chat import MessageType, Piece
from ...protocol.runtime import LIVE, Action, ActionStatus, AgentState, AgentStep, SessionStatus
from ...protocol.runtime_wire import Notice
from ...runtime.client import AsyncAgents
from ...runtime.keeping import Context

#: Steps that one answer has at most, where it has all since the last one.
MOST_STEPS: Final = 20
#: Characters of a step's data that are shown.
MOST_DATA: Final = 200_000


class Waiting:
    """Waits for the step that is given a message, or for the next ones of all.

    Args:
        agents: The Core's agents.
        state: The session, as it stands.
        text: What the session is told; None: nothing, and its next steps are waited for.
        heard: Steps that were heard already, by their number: those from this on are waited for.

    Attributes:
        state: The session, as it stands by what was told last.
        heard: As the argument, once there was an answer.
    """

    def __init__(
        self, agents: AsyncAgents, state: AgentState, text: str | None, heard: int | None
    ) -> None:
        self.state = state
        self.heard = state.iteration if heard is None else heard
        self._agents = agents
        self._text = text
        self._from = state.iteration if text is not None else self.heard
        self._action: Action | None = None
        self._told: AgentState | None = None  # the session as it was told
        self._steps: list[AgentStep] = []

    async def steps(self) -> AsyncGenerator[AgentStep | None, None]:
        """The steps that answer. None is given once, where it pauses before that.

        Raises:
            CommandError: `session_over`: it has ended before it answered; what else the Core says.
        """
        paused = False
        async with aclosing(self._agents.watch(f"session:{self.state.session_id}")) as notices:
            async for notice in notices:
                await self._hear(notice)
                found = self._answer()
                for step in found:
                    self.heard = step.iteration + 1
                    yield step
                if found:
                    return
                self._check()
                if self.state.status is SessionStatus.PAUSED and not paused:
                    paused = True
                    yield None

    async def _hear(self, notice: Notice) -> None:
        if notice.event == "begin":
            await self._begin(notice)
            return
        for state in notice.states:
            self.state = state
        for action in notice.actions:
            self._about(action)
        self._steps += [step for step in notice.steps if step.iteration >= self._from]

    async def _begin(self, notice: Notice) -> None:
        """From here on nothing is missed; before it, something may have been."""
        for state in notice.states:
            self.state = state
        if self._text is not None and self._action is None:
            self._check()
            self._from, session = self.state.iteration, self.state.session_id
            self._action = await self._agents.send_input(self._text, session_id=session)
            return
        self._steps = await self._agents.list_agent_steps(
            self.state.session_id, min_iteration=self._from, limit=MOST_STEPS
        )
        if self._action is not None:
            for action in await self._agents.actions(id=self._action.id):
                self._about(action)

    def _about(self, action: Action) -> None:
        if self._action is None or action.id != self._action.id:
            return
        self._action = action
        if action.status is ActionStatus.DONE and self._told is None:
            self._told = self.state

    def _answer(self) -> list[AgentStep]:
        if self._text is None:
            return self._steps
        return next(([step] for step in self._steps if self._is_given(step)), [])

    def _is_given(self, step: AgentStep) -> bool:
        """Whether a step was given the text. In the debugger a person may have edited what it was given:
        then it is the first one whose frame was made after the session was told.
        """
        text, told = self._text, self._told
        if text is not None and isinstance(step.guidance, str) and text in step.guidance:
            return True
        if told is None or step.iteration < told.iteration:
            return False
        under_way = Context.of(told).given is not None
        return step.iteration > told.iteration or (step.guidance is not None and not under_way)

    def _check(self) -> None:
        action, state = self._action, self.state
        if action is not None and action.status is ActionStatus.FAILED:
            raise CommandError(
                "session_over", f"The session wasn't told: {action.error or 'nothing says why'}"
            )
        if state.status not in LIVE:
            raise over(state)


def over(state: AgentState) -> CommandError:
    """What is said of a session that has ended, and doesn't answer any more."""
    note = state.last_error or Context.of(state).note
    why = f": {note}" if note else "."
    return CommandError(
        "session_over",
        f"The session {state.session_id} of {state.agent_id} has ended ({state.status}) after "
        f"{state.iteration} steps{why} Create another one, and talk with that.",
    )


def pieces(step: AgentStep) -> list[Piece]:
    """What a step says: its text, else its data.

    Args:
        step: The step.

    Raises:
        CommandError: `session_over`: it failed.
    """
    if step.error is not None:
        raise CommandError(
            "session_over",
            f"The step {step.iteration} failed, and the session has ended with it: {step.error}",
        )
    said = [_said(step)]
    if step.status not in LIVE:
        note = f" {step.notes}" if step.notes else ""
        said.append(_note(f"With this the session has ended ({step.status}).{note}"))
    return said


def _said(step: AgentStep) -> Piece:
    if step.text:
        return Piece(content=step.text)
    if step.data is not None:
        return Piece(
            type=MessageType.CODE.value, content=_json(step.data), language="json", format="result"
        )
    return _note(f"The step {step.iteration} said nothing. {step.notes or ''}".rstrip())


def _note(text: str) -> Piece:
    return Piece(role="system", content=text)


def _json(value: Any) -> str:
    text = msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
    if len(text) <= MOST_DATA:
        return text
    return f"{text[:MOST_DATA]}\n[… {len(text):,} characters in all]"
