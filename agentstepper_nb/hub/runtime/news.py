"""What became new: rows that the store has kept, to be told."""

from __future__ import annotations

from dataclasses import dataclass

from ...protocol.runtime import (
    LIVE,
    Action,
    ActionStatus,
    AgentState,
    AgentStep,
    Conversation,
    ConversationMessage,
    Participant,
)


@dataclass(frozen=True, kw_only=True)
class News:
    """Rows as they stand in the store now."""

    states: tuple[AgentState, ...] = ()
    steps: tuple[AgentStep, ...] = ()
    actions: tuple[Action, ...] = ()
    messages: tuple[ConversationMessage, ...] = ()
    participants: tuple[Participant, ...] = ()
    conversations: tuple[Conversation, ...] = ()

    @property
    def work(self) -> bool:
        """Whether an action waits to be claimed."""
        return any(action.status is ActionStatus.QUEUED for action in self.actions)

    @property
    def ready(self) -> bool:
        """Whether there may be something to claim that there wasn't before: where an action came or is
        over, or a session that its worker lets go of.
        """
        return any(action.status is not ActionStatus.CLAIMED for action in self.actions) or any(
            state.status not in LIVE for state in self.states
        )
