"""What the parts of the runtime work with, and the news that they tell."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from ...protocol.runtime import (
    LIVE_STATUSES,
    Action,
    ActionStatus,
    AgentState,
    AgentStep,
    Conversation,
    ConversationMessage,
    Participant,
)
from ...store.runtime.base import RuntimeStore


@dataclass(frozen=True, kw_only=True)
class RowUpdates:
    """Rows as they stand in the store now."""

    states: tuple[AgentState, ...] = ()
    steps: tuple[AgentStep, ...] = ()
    actions: tuple[Action, ...] = ()
    messages: tuple[ConversationMessage, ...] = ()
    participants: tuple[Participant, ...] = ()
    conversations: tuple[Conversation, ...] = ()

    @property
    def has_queued_action(self) -> bool:
        """Whether an action waits to be claimed."""
        return any(action.status is ActionStatus.QUEUED for action in self.actions)

    @property
    def has_claimable_action(self) -> bool:
        """Whether there may be something to claim that there wasn't before: where an action came or is
        over, or a session that its worker lets go of.
        """
        return any(action.status is not ActionStatus.CLAIMED for action in self.actions) or any(
            state.status not in LIVE_STATUSES for state in self.states
        )


_NAMESPACE: Final = uuid.UUID("6c1f0c53-7a7e-4a52-9d4f-0f6f6f4b3d6e")


@dataclass(frozen=True)
class RuntimeServices:
    """What the parts of the runtime work with.

    Args:
        store: Keeps the rows.
        log: Gets what is passed over without an error.
        clock: Gives POSIX seconds.
        new_id: Gives ids.
        tell: Tells what became new. To be called right after the store has answered, so that it is
            told in the order in which it was kept.
        wake: Lets all dispatchers look for work.
    """

    store: RuntimeStore
    log: logging.Logger
    clock: Callable[[], float]
    new_id: Callable[[], str]
    publish: Callable[[RowUpdates], None]
    wake: Callable[[], None]


def derive_id(*names: str) -> str:
    """An id that follows from names: who does the same again finds what it did.

    Args:
        names: What it is the id of.
    """
    return str(uuid.uuid5(_NAMESPACE, "\0".join(names)))
