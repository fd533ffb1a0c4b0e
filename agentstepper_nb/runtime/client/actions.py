"""Actions: creating agents, and steering them; and how clients say the words of the protocol."""

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
    """An id of the client's own: what has one can be asked again, and is done once."""
    return str(uuid.uuid4())


def find_enum_member(kind: type[Member], name: str) -> Member:
    """A word of the protocol's.

    Args:
        kind: Its kind.
        name: The word.

    Raises:
        ValueError: There is no such word; the text says which there are.
    """
    try:
        return kind(name)
    except ValueError:
        known = ", ".join(kind)
        raise ValueError(f"{name!r} isn't a {kind.__name__}: choose one of {known}.") from None


def decode_statuses(statuses: str | Sequence[str]) -> tuple[SessionStatus, ...]:
    """Statuses of sessions: one by its name, or several."""
    names = (statuses,) if isinstance(statuses, str) else statuses
    return tuple(find_enum_member(SessionStatus, name) for name in names)


@dataclass(frozen=True)
class Schedule:
    """When an action is due, and how often: see `NewAction`."""

    not_before: float | None = None
    every: float | None = None
    cron: str | None = None


class ActionClient:
    """What enqueues actions, and lists them."""

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
        """Create a session of an agent; it begins as soon as a worker has taken it.

        With `every` or `cron` another session is created each time, by an action that names the first
        one in its `series_id`, until `discard_action` is called with the id of any of them.

        Args:
            agent_id: The agent's name; it may have many sessions.
            moniker: What makes its steps, by its installed name: `llm`, `joke`, `coding`.
            config: What the moniker is told.
            session_id: The session's id. Creating with one that is known gives that session.
            conversation_id: A conversation that it takes part in.
            stop_on_done: Whether it ends where a step says that all is done; None: as the moniker
                declares.
            max_steps: How many steps it does at most.
            max_runtime_s: How many seconds it runs at most.
            retries: How often a step that failed is tried again.
            backoff_s: Seconds before the first of these; each doubles them.
            max_attempts: How often a step is begun that ends its worker, before its session ends as an
                error.
            step_timeout_s: Seconds after which a try of a step is cancelled, and counts as failed. The
                time for which a person halts it isn't counted, here and in `max_runtime_s`.
            urgency: Higher ones are taken first.
            delivery: Whether it is told of what is said in the conversation (`push`), or reads (`pull`).
            hears: Whether a session that is told hears people alone (`users`), or other sessions, too
                (`all`).
            metadata: What goes with the action, for whoever reads it.
            step: Whether it halts before its first step in the debugger.
            requires: Labels that its worker has to have (`agentstepper worker --label gpu`). Where no
                worker has them, or the moniker, it waits: `status` says for what.
            moniker_version: The version that the moniker has to have; None: any.
            not_before: When it begins at the earliest, in POSIX seconds.
            every: Seconds between two sessions, at least 1. The first begins at `not_before`, else at
                once.
            cron: The times at which a session begins, as cron writes them, in UTC: `0 3 * * mon`.

        Returns:
            The session's id; of periodic ones, the first session's.

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
        """Let a session do no more steps; the one that is under way is finished.

        For the arguments that say when, here and in the methods below, see `create_agent`.
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
        """Let a paused session go on."""
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
        """Guide the next step of a session, and that one only; the last word before it counts."""
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
        """Tell the next step of a session something, after what it is told already.

        An input that is due later isn't said in the session's conversation.
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
        """End a session: its step has so many seconds to end before it is cancelled."""
        payload, schedule = DestroyPayload(timeout_s=timeout_s), Schedule(not_before)
        return await self._act(
            ActionKind.DESTROY, payload, session_id, agent_id, urgency, schedule, metadata
        )

    async def retry(self, session_id: str) -> AgentState:
        """Let a session that ended as an error go on, with the step that failed and no tries behind it.

        Args:
            session_id: The session. One that is live stays as it is.

        Raises:
            CommandError: `unknown_session`; `session_over`: it ended otherwise.
        """
        return await self._core.call(methods.RETRY, RetryAgentSession(session_id=session_id))

    async def retry_action(self, id: str) -> Action:
        """Enqueue a failed action's payload again: `actions(status="failed")` lists those.

        Args:
            id: The failed action.

        Returns:
            The action that took its place.

        Raises:
            CommandError: `unknown_action`; `action_not_failed`.
        """
        retried = await self._core.call(methods.RETRY_ACTION, RetryFailedAction(id=id))
        return retried.actions[0]

    async def discard_action(self, id: str) -> Action:
        """Take a failed action from the dead letters, or cancel one that is delayed or periodic.

        It stays listed as `discarded`.

        Args:
            id: The action; of a periodic one, any occurrence. An occurrence that a worker is at ends as
                it would, and no other follows.

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
        """Actions, the oldest first: whether they are done, and why one failed; with `series_id`, the
        occurrences of a periodic one.
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
