"""What the runtime asks of its store. Each method takes one value and gives one, so that it travels."""

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
    """Keeps the runtime's rows. Used on one event loop, which it never blocks.

    Times are passed in. A method that writes returns once what it wrote is kept as the backend promises
    (docs/guide/runtime-stores.md); asked for the same again, it changes nothing and answers the same.
    Tables are made on first use. What can't be kept or read raises `StoreError`.

    **The queue.** An action is *ready* where it is the first of its session's open ones whose time has
    come, and none of them is claimed under a lease that still lasts. The first is `agent_create`; then
    those of `protocol.runtime.CONTROL`; then by urgency, then in the order in which they were enqueued.
    Among ready ones of all sessions, claims go by urgency (higher first), then by that order. A session
    that an owner has under a lease that still lasts is claimed by that owner alone. The time of an
    action comes with its `not_before`; a creation whose time hasn't come lets no other action of its
    session be ready.

    **Routes.** An owner takes a session that nobody has, by `claim` or `adopt`, only where it fits the
    owner's offer by the rules of `protocol.routes`; what it has stays its own whatever it offers. The
    actions of a session that has ended are anybody's. What fits costs the same however much doesn't.
    """

    # ---- the queue ----------------------------------------------------------------------------------

    async def create(self, request: CreateAgentSession) -> AgentSessionCreated:
        """Make a session and enqueue its creation, unless there is a session of this id.

        Both are stored as they are given: those of a session from another store may be over already.

        Raises:
            CommandError: `unknown_conversation`: nothing was made.
        """

    async def enqueue(self, request: EnqueueActions) -> ActionList:
        """Enqueue actions; of one whose id or `idem_key` is known, the known one is answered. One that
        is over already is stored, and never claimed.

        Raises:
            CommandError: `unknown_session`: nothing was enqueued.
        """

    async def claim(self, request: ClaimAction) -> ClaimedAction:
        """Claim the next ready action, and take its session where that is live and nobody has it: its
        epoch grows by one.

        An action whose lease is over is ready again, with `attempts` counted.
        """

    async def renew(self, request: RenewLeases) -> RenewedLeases:
        """Make the leases of the sessions that the owner names, and of all actions that it has, last
        until then, and say what that is.

        A lease that was over lasts again, unless somebody else took the session or the action, or the
        owner handed the session over.
        """

    async def adopt(self, request: AdoptSessions) -> AdoptedSessions:
        """Take sessions that run, are paused or are stopping and whose owner's lease is over; of those
        that need the same, the oldest first.

        The epoch of each grows by one. Those that are only `created` wait for their action. A step
        that was under way when the owner was lost is counted, here and in `claim`, by the rules of
        `protocol.step_losses`: a session whose step was lost too often ends instead.
        """

    async def release(self, request: ReleaseLeases) -> None:
        """Let no lease of an owner, or of some of its sessions, last longer than until then; epochs
        stay.

        How the owner ended stands in the loss of each of its sessions that is taken over; the first
        that is told counts.
        """

    async def retry(self, request: RetrySession) -> AgentState:
        """Let a session that ended as an error go on, with the step that failed and no tries behind it:
        a worker adopts it. One that is live is answered as it stands.

        Raises:
            CommandError: `unknown_session`; `session_over`: it ended otherwise.
        """

    async def retry_action(self, request: RetryAction) -> ActionList:
        """Enqueue the payload of a failed action again, in a new action.

        Returns:
            The new action and the failed one; of an action that was retried before, what there is.

        Raises:
            CommandError: `unknown_action`; `action_not_failed`.
        """

    async def discard_action(self, request: DiscardAction) -> ActionList:
        """Take a failed action from the dead letters; it stays listed as discarded.

        One that is delayed or periodic is cancelled by the rules of `schedules.cancel`: of a series that
        any of its occurrences names, also the first one's id where that is gone, the one that is open. A
        session that it was to create has ended as stopped. A series that has ended stays so.

        Returns:
            The action as it stands now.

        Raises:
            CommandError: `unknown_action`; `action_not_failed`.
        """

    async def write(self, request: SessionWrite) -> SessionWriteResult:
        """Keep a step, a snapshot, messages, cursors and the end of actions, all or none; see
        `SessionWrite`. Cursors move as by `advance`; one whose message is gone stays.

        Where the written snapshot isn't live any more, its owner's lease on the session ends, and no
        other snapshot takes its place. Where a periodic action ends, its next occurrence is enqueued,
        once, by the rules of `schedules.make_next_occurrence`.

        Raises:
            CommandError: `stale_epoch`: somebody else has the session now; `session_over`: it has ended,
                with another snapshot than this; `unknown_session`;
                `unknown_conversation`; `stale_claim`: an action that it finishes is another owner's by
                now, or another session's; `duplicate_step`: another step stands at its place.
        """

    async def prune(self, request: PruneRows) -> PrunedRows:
        """Delete what is kept long enough, up to a number of rows; called again until nothing is left.

        A session goes that has ended and has no action that is open, with its actions and its steps: by
        when it was updated last. Where it takes part in a conversation, it has left. A conversation goes
        that no session is left of, neither as its own nor as one that takes part, with all that was said
        there. What is live, and what that needs, never goes. A store on disk leaves no byte of it in its
        files, once it is idle or closed.
        """

    # ---- conversations ------------------------------------------------------------------------------

    async def save_conversation(self, request: Conversation) -> Conversation:
        """Keep a conversation, in the place of the one of its id."""

    async def join(self, request: Participant) -> Participant:
        """Add a participant; who is there already (and hasn't left) is answered as it stands.

        Raises:
            CommandError: `unknown_conversation`.
        """

    async def leave(self, request: EndParticipation) -> Participant:
        """A participant leaves.

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
        """How far a session has read."""

    async def changes(self, request: ChangeQuery) -> ChangedRows:
        """Rows that changed after a number, each as it stands now, in the order of their last changes.

        A row's last change alone counts: the store remembers no others, and none of a row that is gone.
        Leases, and how far a session has read, are no changes. Numbers grow with each change that can
        be read, and none is given twice. Where nothing changed, `last` is the newest number that the
        store has given: less than `after` says that `after` is another store's. A row that is damaged
        is left out, and logged.
        """

    async def loads(self, request: LoadQuery) -> RouteLoads:
        """How many live sessions there are and who has them, by what they need of a worker."""

    async def fleet(self, request: FleetQuery) -> FleetReport:
        """How all sessions stand, by counts, and a page of them; see `FleetQuery` and `FleetReport`.

        Statuses are those of `protocol.fleet.find_fleet_status`, errors are grouped by
        `protocol.fleet.group_errors`. Sessions come the newest (by `created_at`) first.
        """

    async def info(self) -> RuntimeStoreInfo:
        """Where it keeps, and how much is open."""

    async def close(self) -> None:
        """Finish what was begun, and let go. Idempotent."""


@runtime_checkable
class SharedRuntimeStore(RuntimeStore, Protocol):
    """A store that several Cores have at once: what one keeps, the others read."""

    def follow(self, on_change: Callable[[ChangedRows | None], None]) -> None:
        """Say what other Cores change, from now on until the store is closed.

        Args:
            on_change: Gets rows that others changed, once they are kept; none at all where a lease was
                changed alone. Gets None where some may have been missed, as at the beginning.
        """


#: Every method that travels, by its name.
METHODS: Final = STORE_CALLS
