"""The services that the parts of the runtime share, and the row updates that they publish."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from ...errors import CommandError
from ...protocol.runtime import (
    LIVE_STATUSES,
    Action,
    ActionStatus,
    AgentState,
    AgentStep,
    Conversation,
    ConversationMessage,
    Participant,
    SessionStatus,
)
from ...store.runtime.base import RuntimeStore


@dataclass(frozen=True, kw_only=True)
class RowUpdates:
    """Rows in their present state in the store."""

    states: tuple[AgentState, ...] = ()
    steps: tuple[AgentStep, ...] = ()
    actions: tuple[Action, ...] = ()
    messages: tuple[ConversationMessage, ...] = ()
    participants: tuple[Participant, ...] = ()
    conversations: tuple[Conversation, ...] = ()

    def needs_worker(self, now: float) -> bool:
        """Whether an action waits to be claimed, or a session to be adopted.

        Args:
            now: Actions that are due later need none yet, in POSIX seconds.
        """
        return any(
            action.status is ActionStatus.QUEUED and is_due(action, now) for action in self.actions
        ) or any(
            state.status is SessionStatus.RUNNING and state.owner is None for state in self.states
        )

    def find_next_due(self, now: float) -> float | None:
        """When the first of the actions is due that wait for their time; None: none does."""
        return min(
            (
                action.not_before
                for action in self.actions
                if action.status is ActionStatus.QUEUED
                and action.not_before is not None
                and action.not_before > now
            ),
            default=None,
        )

    @property
    def has_claimable_action(self) -> bool:
        """Whether an action may have become claimable: an action was added or has ended, or a worker has
        released a session.
        """
        return any(action.status is not ActionStatus.CLAIMED for action in self.actions) or any(
            state.status not in LIVE_STATUSES for state in self.states
        )


_NAMESPACE: Final = uuid.UUID("6c1f0c53-7a7e-4a52-9d4f-0f6f6f4b3d6e")


@dataclass(frozen=True)
class RuntimeServices:
    """The services that the parts of the runtime share.

    Args:
        store: The store of the rows.
        log: Receives failures that raise no error.
        clock: Returns POSIX seconds.
        new_id: Makes ids.
        publish: Publishes changed rows. Call it right after the store's answer, so that the rows are
            published in the order in which they were stored.
        wake: Wakes all dispatchers to look for work.
        list_halted_runs: Lists the ids of runs that are halted, or were when their agent was lost.
        list_present_owners: Lists the connected workers, as their claims name them.
    """

    store: RuntimeStore
    log: logging.Logger
    clock: Callable[[], float]
    new_id: Callable[[], str]
    publish: Callable[[RowUpdates], None]
    wake: Callable[[], None]
    list_halted_runs: Callable[[], Iterable[str]] = tuple
    list_present_owners: Callable[[], Iterable[str]] = tuple


ResultT = TypeVar("ResultT")


async def wait_shielded(task: asyncio.Task[ResultT]) -> ResultT:
    """Return the result of a task that runs to its end even if the caller is cancelled.

    After that, a refusal is ignored; any other failure is logged by the event loop.

    Args:
        task: The task.
    """
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        task.add_done_callback(_report_failure)
        raise


def _report_failure(task: asyncio.Task[Any]) -> None:
    if task.cancelled() or (error := task.exception()) is None:
        return
    if not isinstance(error, CommandError):
        message = f"{task.get_name()} failed, for which nobody waits any more"
        task.get_loop().call_exception_handler({"message": message, "exception": error})


def is_due(action: Action, now: float) -> bool:
    """Whether an action may be executed now: it isn't delayed, or its time has come."""
    return action.not_before is None or action.not_before <= now


def derive_id(*names: str) -> str:
    """Derive an id from names: the same names give the same id, which makes an operation idempotent.

    Args:
        names: The names that identify the object.
    """
    return str(uuid.uuid5(_NAMESPACE, "\0".join(names)))
