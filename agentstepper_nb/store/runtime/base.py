"""What the runtime asks of its store. Each method takes one value and gives one, so that it travels."""

from __future__ import annotations

from typing import Final, Protocol

from ...protocol.runtime import Conversation, ConversationCursor, Participant
from ...protocol.runtime_methods import STORE_CALLS
from ...protocol.runtime_store_messages import (
    ActionList,
    ActionQuery,
    AdoptSessions,
    AgentSessionCreated,
    AgentSessionList,
    AgentSessionQuery,
    AgentStateList,
    AgentStepList,
    ClaimAction,
    ClaimedAction,
    ConversationList,
    ConversationMessageList,
    ConversationQuery,
    CreateAgentSession,
    CursorQuery,
    CursorResult,
    EndParticipation,
    EnqueueActions,
    MessageQuery,
    ParticipantList,
    ParticipantQuery,
    PostMessage,
    ReleaseLeases,
    RenewedLeases,
    RenewLeases,
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

    **The queue.** An action is *ready* where it is the first of its session's open ones, and none of
    them is claimed under a lease that still lasts. The first is `agent_create`; then those of
    `protocol.runtime.CONTROL`; then by urgency, then in the order in which they were enqueued. Among
    ready ones of all sessions, claims go by urgency (higher first), then by that order. A session that
    an owner has under a lease that still lasts is claimed by that owner alone.
    """

    # ---- the queue ----------------------------------------------------------------------------------

    async def create(self, request: CreateAgentSession) -> AgentSessionCreated:
        """Make a session and enqueue its creation, unless there is a session of this id.

        Raises:
            CommandError: `unknown_conversation`: nothing was made.
        """

    async def enqueue(self, request: EnqueueActions) -> ActionList:
        """Enqueue actions; of one whose id or `idem_key` is known, the known one is answered.

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

        A lease that was over lasts again, unless somebody else took the session or the action.
        """

    async def adopt(self, request: AdoptSessions) -> AgentStateList:
        """Take sessions that run, are paused or are stopping and whose owner's lease is over.

        The epoch of each grows by one. Those that are only `created` wait for their action.
        """

    async def release(self, request: ReleaseLeases) -> None:
        """Let no lease of an owner last longer than until then; epochs stay."""

    async def write(self, request: SessionWrite) -> SessionWriteResult:
        """Keep a step, a snapshot, messages and the end of actions, all or none; see `SessionWrite`.

        Where the written snapshot isn't live any more, its owner's lease on the session ends, and no
        other snapshot takes its place.

        Raises:
            CommandError: `stale_epoch`: somebody else has the session now; `session_over`: it has ended,
                with another snapshot than this; `unknown_session`;
                `unknown_conversation`; `stale_claim`: an action that it finishes is another owner's by
                now, or another session's; `duplicate_step`: another step stands at its place.
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

    async def info(self) -> RuntimeStoreInfo:
        """Where it keeps, and how much is open."""

    async def close(self) -> None:
        """Finish what was begun, and let go. Idempotent."""


#: Every method that travels, by its name.
METHODS: Final = STORE_CALLS
