"""The interface of the runtime's store. Each method has one argument and one result, both encodable."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol, runtime_checkable

from ...protocol.fleet import FleetQuery, FleetReport
from ...protocol.routes import LoadQuery, RouteLoads
from ...protocol.runtime import AgentState, Conversation, ConversationCursor, Participant
from ...protocol.runtime_methods import STORE_CALLS
from ...protocol.runtime_store_messages import (
    ActionList,
    ActionQuery,
    AdoptedSessions,
    AdoptSessions,
    AgentSessionCreated,
    AgentSessionList,
    AgentSessionQuery,
    AgentStateList,
    AgentStepList,
    ChangedRows,
    ChangeQuery,
    ClaimAction,
    ClaimedAction,
    ConversationList,
    ConversationMessageList,
    ConversationQuery,
    CreateAgentSession,
    CursorQuery,
    CursorResult,
    DiscardAction,
    EndParticipation,
    EnqueueActions,
    MessageQuery,
    ParticipantList,
    ParticipantQuery,
    PostMessage,
    PrunedRows,
    PruneRows,
    ReleaseLeases,
    RenewedLeases,
    RenewLeases,
    RetryAction,
    RetrySession,
    RuntimeStoreInfo,
    SessionWrite,
    SessionWriteResult,
    StateQuery,
    StepQuery,
)


class RuntimeStore(Protocol):
    """Stores the runtime's rows. Used on one event loop, which it never blocks.

    Times are arguments. A method that writes returns once its data is stored as the backend promises
    (docs/guide/runtime-stores.md); a repeated request changes nothing and returns the same result.
    Tables are created on first use. `StoreError` is raised if data can't be written or read.

    **The queue.** An action is *ready* if it is the first of its session's open and due actions, and
    none of them is claimed under a valid lease. The first is `agent_create`; then those of
    `protocol.runtime.CONTROL`; then by urgency, then in the order in which they were enqueued. Among the
    ready actions of all sessions, claims go by urgency (higher first), then by that order. A session
    that an owner has under a valid lease is claimed by that owner only. An action is due from its
    `not_before` on; while a session's creation isn't due, no other action of the session is ready.

    **Routes.** An owner takes a session without an owner, by `claim` or `adopt`, only if the session
    fits the owner's offer by the rules of `protocol.routes`; an owner keeps its sessions whatever it
    offers. Any owner may claim the actions of an ended session. The cost of finding fitting sessions
    doesn't depend on the number of others.
    """

    # ---- the queue ----------------------------------------------------------------------------------

    async def create(self, request: CreateAgentSession) -> AgentSessionCreated:
        """Create a session and enqueue its creation, unless the session id exists.

        Both are stored unchanged: those of a session from another store may have ended already.

        Raises:
            CommandError: `unknown_conversation`: nothing was created.
        """

    async def enqueue(self, request: EnqueueActions) -> ActionList:
        """Enqueue actions; for a known id or `idem_key`, the existing action is returned. An action that
        has ended already is stored, and never claimed.

        Raises:
            CommandError: `unknown_session`: nothing was enqueued.
        """

    async def claim(self, request: ClaimAction) -> ClaimedAction:
        """Claim the next ready action, and take its session if that is live and has no owner: its epoch
        grows by one.

        An action whose lease has expired is ready again, with `attempts` counted.
        """

    async def renew(self, request: RenewLeases) -> RenewedLeases:
        """Extend the leases of the named sessions, and of all actions of the owner, and return both.

        An expired lease is renewed, unless another owner has taken the session or the action, or the
        owner has handed the session over.
        """

    async def adopt(self, request: AdoptSessions) -> AdoptedSessions:
        """Take running, paused or stopping sessions whose owner's lease has expired; of those with the
        same requirements, the oldest first.

        The epoch of each grows by one. Sessions in status `created` wait for their action. A step in
        progress when the owner was lost is counted, here and in `claim`, by the rules of
        `protocol.step_losses`: a session whose step was lost too often ends instead.
        """

    async def release(self, request: ReleaseLeases) -> None:
        """Shorten the leases of an owner, or of some of its sessions, to a given time; epochs don't
        change.

        The owner's ending is stored in the loss of each of its sessions that is taken over; the first
        report counts.
        """

    async def retry(self, request: RetrySession) -> AgentState:
        """Resume a session that ended with an error, at the failed step with its attempts reset: a
        worker adopts it. A live session is returned unchanged.

        Raises:
            CommandError: `unknown_session`; `session_over`: the session ended otherwise.
        """

    async def retry_action(self, request: RetryAction) -> ActionList:
        """Enqueue the payload of a failed action again, in a new action.

        Returns:
            The new action and the failed one; for an action that was retried before, the existing ones.

        Raises:
            CommandError: `unknown_action`; `action_not_failed`.
        """

    async def discard_action(self, request: DiscardAction) -> ActionList:
        """Discard a failed action from the dead letters; it stays listed as discarded.

        A delayed or periodic action is cancelled by the rules of `schedules.cancel`: any occurrence of a
        series, also the first one's id if its row is deleted, stands for the open occurrence. A session
        that the action would have created ends as stopped. A series that has ended doesn't change.

        Returns:
            The action's present state.

        Raises:
            CommandError: `unknown_action`; `action_not_failed`.
        """

    async def write(self, request: SessionWrite) -> SessionWriteResult:
        """Store a step, a snapshot, messages, cursors and the end of actions, all or none; see
        `SessionWrite`. Cursors move as by `advance`; a cursor whose message is deleted doesn't move.

        If the written snapshot isn't live, the owner's lease on the session ends, and no other snapshot
        replaces it. When a periodic action ends, its next occurrence is enqueued, once, by the rules of
        `schedules.make_next_occurrence`.

        Raises:
            CommandError: `stale_epoch`: another owner has the session now; `session_over`: the session
                has ended with another snapshot; `unknown_session`; `unknown_conversation`;
                `stale_claim`: an action that it finishes belongs to another owner by now, or to another
                session; `duplicate_step`: another step has this position.
        """

    async def prune(self, request: PruneRows) -> PrunedRows:
        """Delete expired rows, up to a number of rows; called again until none is left.

        An ended session without open actions is deleted with its actions and steps, by the time of its
        last update; it leaves its conversations. A conversation is deleted with its messages when no
        session is left that belongs to it or participates in it. Live sessions, and the rows that they
        need, are never deleted. A store on disk leaves no byte of deleted rows in its files, once it is
        idle or closed.
        """

    # ---- conversations ------------------------------------------------------------------------------

    async def save_conversation(self, request: Conversation) -> Conversation:
        """Store a conversation, and replace the one with the same id."""

    async def join(self, request: Participant) -> Participant:
        """Add a participant; one that is present already is returned unchanged.

        Raises:
            CommandError: `unknown_conversation`.
        """

    async def leave(self, request: EndParticipation) -> Participant:
        """Record that a participant has left.

        Raises:
            CommandError: `unknown_participant`.
        """

    async def post(self, request: PostMessage) -> SessionWriteResult:
        """Append a message and enqueue actions, all or none; both are known by their ids.

        Raises:
            CommandError: `unknown_conversation`; `unknown_session`.
        """

    async def advance(self, request: ConversationCursor) -> ConversationCursor:
        """Note how far a session has read; never back.

        Raises:
            CommandError: `unknown_message_id`: the conversation has no such message.
        """

    # ---- reading ------------------------------------------------------------------------------------

    async def actions(self, request: ActionQuery) -> ActionList:
        """Actions, the oldest first."""

    async def states(self, request: StateQuery) -> AgentStateList:
        """Snapshots, the newest (by `created_at`) first."""

    async def steps(self, request: StepQuery) -> AgentStepList:
        """Steps, by iteration and seq."""

    async def sessions(self, request: AgentSessionQuery) -> AgentSessionList:
        """An agent's sessions, the newest first; those without a snapshot from their steps."""

    async def conversations(self, request: ConversationQuery) -> ConversationList:
        """Conversations, the newest first."""

    async def participants(self, request: ParticipantQuery) -> ParticipantList:
        """Participants of a conversation, in the order in which they joined."""

    async def messages(self, request: MessageQuery) -> ConversationMessageList:
        """Messages of a conversation, the oldest first.

        Raises:
            CommandError: `unknown_message_id`: `after` names none of this conversation.
        """

    async def cursor(self, request: CursorQuery) -> CursorResult:
        """Read a session's read cursor."""

    async def changes(self, request: ChangeQuery) -> ChangedRows:
        """Read the rows that changed after a number, in their present state, in the order of their last
        changes.

        Only a row's last change is stored, and none of a deleted row. Leases and read cursors are no
        changes. Numbers grow with each readable change, and each is used once. If nothing changed,
        `last` is the newest number of the store: less than `after` means that `after` is another
        store's. A damaged row is left out, and logged.
        """

    async def loads(self, request: LoadQuery) -> RouteLoads:
        """Count the live sessions by their owner and their requirements."""

    async def fleet(self, request: FleetQuery) -> FleetReport:
        """Count all sessions by their state, and list a page of them; see `FleetQuery` and
        `FleetReport`.

        Statuses are those of `protocol.fleet.find_fleet_status`, errors are grouped by
        `protocol.fleet.group_errors`. Sessions are listed newest first, by `created_at`.
        """

    async def info(self) -> RuntimeStoreInfo:
        """Report the store's location, and the number of open actions and sessions."""

    async def close(self) -> None:
        """Finish the calls in progress, and close the store. Idempotent."""


@runtime_checkable
class SharedRuntimeStore(RuntimeStore, Protocol):
    """A store that several Cores use at once: each reads the others' changes."""

    def follow(self, on_change: Callable[[ChangedRows | None], None]) -> None:
        """Report the changes of other Cores, from now on until the store is closed.

        Args:
            on_change: Called with rows that others changed, once they are stored; with no rows if only a
                lease changed. Called with None if changes may have been missed, as at the beginning.
        """


#: Every method that travels, by its name.
METHODS: Final = STORE_CALLS
