"""Actions: creating agents, and steering them; and how clients say the words of the protocol."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from enum import StrEnum
from typing import TypeVar

import msgspec
from msgspec import Struct

from ...protocol import runtime_methods as methods
from ...protocol.runtime import (
    Action,
    ActionKind,
    ActionStatus,
    AgentLimits,
    Delivery,
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
)
from ...protocol.runtime_store_messages import DEFAULT_LIMIT, ActionQuery
from ...rpc.service_client import ServiceClient

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
        urgency: int = 0,
        delivery: str = "push",
        step: bool = False,
    ) -> str:
        """Create a session of an agent; it begins as soon as a worker has taken it.

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
            urgency: Higher ones are taken first.
            delivery: Whether it is told of what is said in the conversation (`push`), or reads (`pull`).
            step: Whether it halts before its first step in the debugger.

        Returns:
            The session's id.
        """
        payload = CreateAgentPayload(
            moniker=moniker,
            config=config,
            conversation_id=conversation_id,
            delivery=find_enum_member(Delivery, delivery),
            limits=AgentLimits(
                stop_on_done=stop_on_done,
                max_steps=max_steps,
                max_runtime_s=max_runtime_s,
                retries=retries,
                backoff_s=backoff_s,
            ),
            step=step,
        )
        enqueued = await self._enqueue(
            ActionKind.CREATE, payload, session_id or make_id(), agent_id, urgency
        )
        return enqueued.session_id

    async def pause(
        self, *, session_id: str | None = None, agent_id: str | None = None, urgency: int = 0
    ) -> Action:
        """Let a session do no more steps; the one that is under way is finished."""
        return (await self._enqueue(ActionKind.PAUSE, None, session_id, agent_id, urgency)).action

    async def resume(
        self, *, session_id: str | None = None, agent_id: str | None = None, urgency: int = 0
    ) -> Action:
        """Let a paused session go on."""
        return (await self._enqueue(ActionKind.RESUME, None, session_id, agent_id, urgency)).action

    async def interrupt(
        self,
        guidance: str,
        *,
        session_id: str | None = None,
        agent_id: str | None = None,
        urgency: int = 0,
    ) -> Action:
        """Guide the next step of a session, and that one only; the last word before it counts."""
        payload = InterruptPayload(guidance=guidance)
        return (
            await self._enqueue(ActionKind.INTERRUPT, payload, session_id, agent_id, urgency)
        ).action

    async def send_input(
        self,
        text: str,
        *,
        session_id: str | None = None,
        agent_id: str | None = None,
        urgency: int = 0,
    ) -> Action:
        """Tell the next step of a session something, after what it is told already."""
        payload = InputPayload(text=text)
        return (
            await self._enqueue(ActionKind.INPUT, payload, session_id, agent_id, urgency)
        ).action

    async def destroy(
        self,
        *,
        session_id: str | None = None,
        agent_id: str | None = None,
        urgency: int = 0,
        timeout_s: float = 10.0,
    ) -> Action:
        """End a session: its step has so many seconds to end before it is cancelled."""
        payload = DestroyPayload(timeout_s=timeout_s)
        return (
            await self._enqueue(ActionKind.DESTROY, payload, session_id, agent_id, urgency)
        ).action

    async def _enqueue(
        self,
        kind: ActionKind,
        payload: Struct | None,
        session_id: str | None,
        agent_id: str | None,
        urgency: int,
    ) -> ActionEnqueued:
        request = NewAction(
            kind=kind,
            agent_id=agent_id,
            session_id=session_id,
            urgency=urgency,
            payload=msgspec.to_builtins(payload),
            idem_key=make_id(),  # so that it can be asked again
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
    ) -> list[Action]:
        """Actions, the oldest first: whether they are done, and why one failed."""
        request = ActionQuery(
            id=id,
            session_id=session_id,
            agent_id=agent_id,
            kind=None if kind is None else find_enum_member(ActionKind, kind),
            status=None if status is None else find_enum_member(ActionStatus, status),
            limit=limit,
            offset=offset,
        )
        return list((await self._core.call(methods.ACTIONS, request)).actions)
