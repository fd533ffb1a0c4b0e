"""The client's methods that create and steer background agents, by actions in the Core's queue."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ...protocol import runtime_methods as methods
from ...protocol.runtime import (
    Action,
    ActionKind,
    ActionStatus,
    AgentLimits,
    AgentState,
    Delivery,
    Hearing,
    Json,
    SessionStatus,
)
from ...protocol.runtime_requests import (
    ActionEnqueued,
    CreateAgentPayload,
    DestroyPayload,
    InputPayload,
    InterruptPayload,
    NewAction,
    RetryAgentSession,
    RetryFailedAction,
)
from ...protocol.runtime_store_messages import DEFAULT_LIMIT, ActionQuery, DiscardAction
from ...rpc.service_client import ServiceClient
from .pages import read_pages

Member = TypeVar("Member", bound=StrEnum)


def make_id() -> str:
    """Make an id for a request, so that a repeated request is executed only once."""
    return str(uuid.uuid4())


def find_enum_member(kind: type[Member], name: str) -> Member:
    """Find a member of a protocol enumeration by its value.

    Args:
        kind: The enumeration.
        name: The value.

    Raises:
        ValueError: The enumeration has no such value; the message lists the values.
    """
    try:
        return kind(name)
    except ValueError:
        known = ", ".join(kind)
        raise ValueError(f"{name!r} isn't a {kind.__name__}: choose one of {known}.") from None


def decode_statuses(statuses: str | Sequence[str]) -> tuple[SessionStatus, ...]:
    """Decode one session status, or several."""
    names = (statuses,) if isinstance(statuses, str) else statuses
    return tuple(find_enum_member(SessionStatus, name) for name in names)


@dataclass(frozen=True)
class Schedule:
    """When an action is due, and how often: see `NewAction`."""

    not_before: float | None = None
    every: float | None = None
    cron: str | None = None


class ActionClient:
    """The client's methods that enqueue and list actions."""

    _core: ServiceClient  # asks the Core

    async def create_agent(
        self,
        agent_id: str,
        moniker: str,
        config: Json = None,
        *,
        session_id: str | None = None,
        conversation_id: str | None = None,
        stop_on_done: bool | None = None,
        max_steps: int | None = None,
        max_runtime_s: float | None = None,
        retries: int = 0,
        backoff_s: float = 1.0,
        max_attempts: int = 3,
        step_timeout_s: float | None = None,
        urgency: int = 0,
        delivery: str = "push",
        hears: str = "users",
        metadata: Json = None,
        step: bool = False,
        requires: str | Sequence[str] = (),
        moniker_version: str | None = None,
        not_before: float | None = None,
        every: float | None = None,
        cron: str | None = None,
    ) -> str:
        """Create a session of a background agent. It begins as soon as a worker has claimed it.

        With `every` or `cron` another session is created each time, by an action whose `series_id`
        is the id of the first action. `discard_action` with the id of any of these actions ends
        that.

        Args:
            agent_id: The agent's name; an agent may have many sessions.
            moniker: The installed name of the moniker that executes the steps: `llm`, `joke`,
                `coding`.
            config: The moniker's configuration.
            session_id: The id of the session. If the session exists, it is returned and none is
                created.
            conversation_id: The conversation that the session joins.
            stop_on_done: Whether the session ends when a step reports that it is done; None: as the
                moniker declares.
            max_steps: The most steps that the session executes.
            max_runtime_s: The most seconds that the session runs.
            retries: How often a failed step is tried again.
            backoff_s: Seconds before the first retry; each further retry doubles them.
            max_attempts: How often a step is begun whose worker dies, before the session ends as an
                error.
            step_timeout_s: Seconds after which a try of a step is cancelled and counts as failed.
                The time for which a person halts the step doesn't count, here and in
                `max_runtime_s`.
            urgency: Sessions of a higher urgency are claimed first.
            delivery: Whether the messages of the conversation are passed to the session (`push`),
                or the session reads them (`pull`).
            hears: Whose messages are passed to a `push` session: those of people only (`users`), or
                those of other sessions as well (`all`).
            metadata: JSON data that is stored with the action.
            step: Whether the session halts in the debugger before its first step.
            requires: Labels that the worker must have (`agentstepper worker --label gpu`). If no
                worker has them, or the moniker, the session waits: `status` says for what.
            moniker_version: The version that the moniker must have; None: any.
            not_before: The earliest begin, in POSIX seconds.
            every: Seconds between two sessions, at least 1. The first session begins at
                `not_before`, or at once.
            cron: The times at which sessions begin, as a cron expression in UTC: `0 3 * * mon`.

        Returns:
            The session's id; for a series, the id of the first session.
        """
        payload = CreateAgentPayload(
            moniker=moniker,
            moniker_version=moniker_version,
            requires=(requires,) if isinstance(requires, str) else tuple(requires),
            config=config,
            conversation_id=conversation_id,
            delivery=find_enum_member(Delivery, delivery),
            hears=find_enum_member(Hearing, hears),
            limits=AgentLimits(
                stop_on_done=stop_on_done,
                max_steps=max_steps,
                max_runtime_s=max_runtime_s,
                retries=retries,
                backoff_s=backoff_s,
                max_attempts=max_attempts,
                step_timeout_s=step_timeout_s,
            ),
            step=step,
        )
        enqueued = await self._enqueue(
            ActionKind.CREATE,
            payload,
            session_id or make_id(),
            agent_id,
            urgency,
            Schedule(not_before, every, cron),
            metadata,
        )
        return enqueued.session_id

    async def pause(
        self,
        *,
        session_id: str | None = None,
        agent_id: str | None = None,
        urgency: int = 0,
        metadata: Json = None,
        not_before: float | None = None,
        every: float | None = None,
        cron: str | None = None,
    ) -> Action:
        """Pause a session: no further step begins; a step in progress is finished.

        `create_agent` describes the arguments that set the time, here and in the methods below.
        """
        schedule = Schedule(not_before, every, cron)
        return await self._act(
            ActionKind.PAUSE, None, session_id, agent_id, urgency, schedule, metadata
        )

    async def resume(
        self,
        *,
        session_id: str | None = None,
        agent_id: str | None = None,
        urgency: int = 0,
        metadata: Json = None,
        not_before: float | None = None,
        every: float | None = None,
        cron: str | None = None,
    ) -> Action:
        """Resume a paused session."""
        schedule = Schedule(not_before, every, cron)
        return await self._act(
            ActionKind.RESUME, None, session_id, agent_id, urgency, schedule, metadata
        )

    async def interrupt(
        self,
        guidance: str,
        *,
        session_id: str | None = None,
        agent_id: str | None = None,
        urgency: int = 0,
        metadata: Json = None,
        not_before: float | None = None,
        every: float | None = None,
        cron: str | None = None,
    ) -> Action:
        """Guide the next step of a session only; of several texts the last one counts."""
        payload, schedule = InterruptPayload(guidance=guidance), Schedule(not_before, every, cron)
        return await self._act(
            ActionKind.INTERRUPT, payload, session_id, agent_id, urgency, schedule, metadata
        )

    async def send_input(
        self,
        text: str,
        *,
        session_id: str | None = None,
        agent_id: str | None = None,
        urgency: int = 0,
        metadata: Json = None,
        not_before: float | None = None,
        every: float | None = None,
        cron: str | None = None,
    ) -> Action:
        """Add a text to the input of a session's next step.

        An input that is due later isn't posted to the session's conversation.
        """
        payload, schedule = InputPayload(text=text), Schedule(not_before, every, cron)
        return await self._act(
            ActionKind.INPUT, payload, session_id, agent_id, urgency, schedule, metadata
        )

    async def destroy(
        self,
        *,
        session_id: str | None = None,
        agent_id: str | None = None,
        urgency: int = 0,
        metadata: Json = None,
        timeout_s: float = 10.0,
        not_before: float | None = None,
    ) -> Action:
        """End a session; a step in progress is cancelled after `timeout_s` seconds."""
        payload, schedule = DestroyPayload(timeout_s=timeout_s), Schedule(not_before)
        return await self._act(
            ActionKind.DESTROY, payload, session_id, agent_id, urgency, schedule, metadata
        )

    async def retry(self, session_id: str) -> AgentState:
        """Resume a session that ended as an error, at the failed step, with all its retries.

        Args:
            session_id: The session. A live session stays as it is.

        Raises:
            CommandError: `unknown_session`; `session_over`: the session ended otherwise.
        """
        return await self._core.call(methods.RETRY, RetryAgentSession(session_id=session_id))

    async def retry_action(self, id: str) -> Action:
        """Enqueue a failed action again. `actions(status="failed")` lists the failed actions.

        Args:
            id: The id of the failed action.

        Returns:
            The action that replaces it.

        Raises:
            CommandError: `unknown_action`; `action_not_failed`.
        """
        retried = await self._core.call(methods.RETRY_ACTION, RetryFailedAction(id=id))
        return retried.actions[0]

    async def discard_action(self, id: str) -> Action:
        """Discard a failed action, or cancel a delayed or periodic one.

        The action is still listed, as `discarded`.

        Args:
            id: The id of the action; of a periodic action, any occurrence. An occurrence that a
                worker executes is finished, and no other one follows.

        Raises:
            CommandError: `unknown_action`; `action_not_failed`.
        """
        discarded = await self._core.call(methods.DISCARD_ACTION, DiscardAction(id=id))
        return discarded.actions[0]

    async def _act(
        self,
        kind: ActionKind,
        payload: Struct | None,
        session_id: str | None,
        agent_id: str | None,
        urgency: int,
        schedule: Schedule,
        metadata: Json,
    ) -> Action:
        """Enqueue an action for a session that there is."""
        enqueued = await self._enqueue(
            kind, payload, session_id, agent_id, urgency, schedule, metadata
        )
        return enqueued.action

    async def _enqueue(
        self,
        kind: ActionKind,
        payload: Struct | None,
        session_id: str | None,
        agent_id: str | None,
        urgency: int,
        schedule: Schedule,
        metadata: Json,
    ) -> ActionEnqueued:
        request = NewAction(
            kind=kind,
            agent_id=agent_id,
            session_id=session_id,
            urgency=urgency,
            payload=msgspec.to_builtins(payload),
            metadata=metadata,
            idem_key=make_id(),  # so that it can be asked again
            not_before=schedule.not_before,
            every=schedule.every,
            cron=schedule.cron,
        )
        return await self._core.call(methods.ENQUEUE_ACTION, request)

    async def actions(
        self,
        *,
        id: str | None = None,
        session_id: str | None = None,
        agent_id: str | None = None,
        kind: str | None = None,
        status: str | None = None,
        limit: int = DEFAULT_LIMIT,
        offset: int = 0,
        series_id: str | None = None,
    ) -> list[Action]:
        """List actions, oldest first: whether each is done, and why one failed.

        With `series_id`, list the occurrences of a periodic action.
        """
        request = ActionQuery(
            id=id,
            session_id=session_id,
            agent_id=agent_id,
            kind=None if kind is None else find_enum_member(ActionKind, kind),
            status=None if status is None else find_enum_member(ActionStatus, status),
            series_id=series_id,
        )

        async def read_page(limit: int, offset: int) -> tuple[tuple[Action, ...], bool]:
            page = replace(request, limit=limit, offset=offset)
            found = await self._core.call(methods.ACTIONS, page)
            return found.actions, found.more

        return await read_pages(read_page, limit, offset)
