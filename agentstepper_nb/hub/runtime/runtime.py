"""The Core's side of agents that run on their own: one door to their store.

What is asked is checked, done, and told to whoever watches, in this order. What changes something is
carried through once it was begun, even where who asked is gone: else the store would have what nobody
was told of.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Callable, Coroutine
from typing import Any, Final, TypeVar

import uuid_utils

from ...errors import AgentStepperError
from ...protocol.runtime import Conversation, ConversationMessage, Cursor, Participant
from ...protocol.runtime_asks import (
    ActionQuery,
    Actions,
    Adopt,
    Claim,
    Claimed,
    ConversationQuery,
    Conversations,
    CursorAt,
    CursorQuery,
    MessageQuery,
    Messages,
    ParticipantQuery,
    Participants,
    Release,
    Renew,
    Renewed,
    Sessions,
    SessionsOf,
    StateQuery,
    States,
    StepQuery,
    Steps,
    Write,
    Written,
)
from ...protocol.runtime_wire import (
    Acted,
    AskStatus,
    CreateAgent,
    LeaveConversation,
    NewAction,
    NewConversation,
    NewMessage,
    NewParticipant,
    Notice,
    ReadOn,
    RuntimeStatus,
    SetConversation,
    Wake,
    Wakes,
    WatchTopic,
)
from ...store.runtime.base import RuntimeStore
from .acting import Acting
from .kit import Kit
from .membership import Membership
from .news import News
from .reading import Reading
from .talking import Talking
from .topics import Topics
from .waking import Waking
from .watching import watch
from .working import Working

Answer = TypeVar("Answer")

#: Seconds that leases last on where a worker's connection broke: it may come back.
GRACE_S: Final = 2.0


def _new_id() -> str:
    return str(uuid_utils.uuid7())


class Runtime:
    """All that is asked of the runtime's store, with the rules around it. Used on one event loop.

    What its methods answer and refuse is told where they are done: `acting`, `membership`, `talking`,
    `reading`, `working`. What the store raises passes through.

    Args:
        store: Keeps the rows; it is closed with this.
        log: Gets what is passed over without an error.
        clock: Gives POSIX seconds.
        new_id: Gives ids.

    Attributes:
        on_need: Called where there is work, and nobody that does it: it starts a worker, say.
        store_is_there: Whether the store answers without a worker that would have to be started for it.
        check_agent: Refuses agents that may not be created here, or gives them as they may. Called on
            a thread.
    """

    def __init__(
        self,
        store: RuntimeStore,
        log: logging.Logger,
        *,
        clock: Callable[[], float] = time.time,
        new_id: Callable[[], str] = _new_id,
    ) -> None:
        self.on_need: Callable[[], None] = _nobody
        self.store_is_there: Callable[[], bool] = lambda: True
        self.check_agent: Callable[[CreateAgent], CreateAgent] = lambda agent: agent
        self._store = store
        self._log = log
        self._clock = clock
        self._topics = Topics()
        self._waking = Waking(self._deserted)
        self._doing: set[asyncio.Task[Any]] = set()
        kit = Kit(store, log, clock, new_id, self._tell)
        self._reading = Reading(store)
        self._acting = Acting(kit, lambda agent: self.check_agent(agent))
        self._membership = Membership(kit)
        self._talking = Talking(kit)
        self._working = Working(kit)

    async def start(self) -> None:
        """See whether there is work that waits for a worker."""
        await self._look()

    async def close(self) -> None:
        """End all streams, finish what was begun, and close the store. Idempotent."""
        self._topics.close()
        self._waking.close()
        while self._doing:
            await asyncio.wait(set(self._doing))
        await self._store.close()

    # ---- what clients ask ---------------------------------------------------------------------------

    async def act(self, ask: NewAction) -> Acted:
        """Enqueue an action; `agent_create` makes its session too. See `acting`."""
        return await self._whole(self._acting.act(ask))

    async def create_conversation(self, ask: NewConversation) -> Conversation:
        """Begin a conversation, unless there is one of this id."""
        return await self._whole(self._membership.create(ask))

    async def set_conversation(self, ask: SetConversation) -> Conversation:
        """Change a conversation's title, tags or status."""
        return await self._whole(self._membership.set(ask))

    async def join(self, ask: NewParticipant) -> Participant:
        """Add a user or a session to a conversation, unless it is there."""
        return await self._whole(self._membership.join(ask))

    async def leave(self, ask: LeaveConversation) -> Participant:
        """Let a participant leave, unless it has."""
        return await self._whole(self._membership.leave(ask.conversation_id, ask.participant_id))

    async def say(self, ask: NewMessage) -> ConversationMessage:
        """Post what a user says, and hand it to the sessions that take part."""
        return await self._whole(self._talking.say(ask))

    async def read_on(self, ask: ReadOn) -> Messages:
        """Give a session what it hasn't read of a conversation, and note that it has."""
        return await self._whole(self._talking.read_on(ask))

    async def advance(self, ask: Cursor) -> Cursor:
        """Note how far a session has read; never back."""
        return await self._whole(self._talking.advance(ask))

    # ---- what anybody may read ----------------------------------------------------------------------

    async def actions(self, ask: ActionQuery) -> Actions:
        """Actions, the oldest first."""
        return await self._reading.actions(ask)

    async def states(self, ask: StateQuery) -> States:
        """Snapshots, the newest first."""
        return await self._reading.states(ask)

    async def steps(self, ask: StepQuery) -> Steps:
        """Steps, by iteration and seq."""
        return await self._reading.steps(ask)

    async def sessions(self, ask: SessionsOf) -> Sessions:
        """An agent's sessions, the newest first."""
        return await self._reading.sessions(ask)

    async def conversations(self, ask: ConversationQuery) -> Conversations:
        """Conversations, the newest first."""
        return await self._reading.conversations(ask)

    async def participants(self, ask: ParticipantQuery) -> Participants:
        """Participants of a conversation, in the order in which they joined."""
        return await self._reading.participants(ask)

    async def messages(self, ask: MessageQuery) -> Messages:
        """Messages of a conversation, the oldest first."""
        return await self._reading.messages(ask)

    async def cursor(self, ask: CursorQuery) -> CursorAt:
        """How far a session has read."""
        return await self._reading.cursor(ask)

    async def status(self, ask: AskStatus | None = None) -> RuntimeStatus:
        """Where the rows are, how much is open, and who is there for it; this starts no worker."""
        info = await self._store.info() if self.store_is_there() else None
        return RuntimeStatus(dispatchers=len(self.dispatchers), store=info)

    def watch(self, ask: WatchTopic) -> AsyncGenerator[Notice, None]:
        """Tell what happens in a topic, from its last known rows on; see `Notice`.

        Raises:
            CommandError: `unknown_topic`; `unknown_session`, `unknown_conversation`.
        """
        return watch(self._topics, self._reading, ask.topic)

    # ---- what workers ask ---------------------------------------------------------------------------

    async def claim(self, ask: Claim) -> Claimed:
        """Claim the next action that is ready."""
        return await self._whole(self._working.claim(ask))

    async def renew(self, ask: Renew) -> Renewed:
        """Make an owner's leases last on."""
        return await self._whole(self._working.renew(ask))

    async def adopt(self, ask: Adopt) -> States:
        """Take sessions that lost their worker."""
        adopted = await self._whole(self._working.adopt(ask))
        if adopted.states:  # what was claimed of them may be claimed again
            self._waking.wake()
        return adopted

    async def release(self, ask: Release) -> None:
        """Let go of all that an owner has, now or at the latest at `until`."""
        await self._whole(self._working.release(ask))
        self._waking.wake()

    async def write(self, ask: Write) -> Written:
        """Keep what became of a session."""
        return await self._whole(self._working.write(ask))

    def wakes(self, ask: Wakes) -> AsyncGenerator[Wake, None]:
        """Say where something may be ready: once at the start, and then each time. A reader that is
        behind is told once. Who reads this is taken for a dispatcher.
        """
        return self._waking.read(ask.owner)

    async def left(self, owner: str, *, dead: bool) -> None:
        """A worker is gone: what it has is soon, or at once, anybody's.

        Args:
            owner: As its claims name it.
            dead: Whether its process is known to have ended. Otherwise it may come back, or is back:
                an owner that reads `wakes` keeps what it has.
        """
        if not dead and owner in self.dispatchers:
            return
        until = self._clock() + (0 if dead else GRACE_S)
        await self._whole(self._store.release(Release(owner=owner, until=until)))
        self._waking.wake()

    @property
    def dispatchers(self) -> frozenset[str]:
        """The owners that read `wakes` now."""
        return self._waking.owners

    # ---- telling ------------------------------------------------------------------------------------

    def _tell(self, news: News) -> None:
        """Tell who watches and who works; called in the order in which the store answered."""
        self._topics.publish(news)
        if news.ready:
            self._waking.wake()
        if news.work and not self.dispatchers:
            self.on_need()

    def _deserted(self) -> None:
        """The last dispatcher has left."""
        self._begin(self._look_again())

    async def _look_again(self) -> None:
        try:
            await self._look()
        except (OSError, AgentStepperError) as error:
            self._log.warning("whether agents wait for a worker can't be told: %s", error)

    async def _look(self) -> None:
        """Ask for a dispatcher where there is work and none of them."""
        info = await self._store.info()
        if (info.live or info.open) and not self.dispatchers:
            self.on_need()

    async def _whole(self, doing: Coroutine[Any, Any, Answer]) -> Answer:
        """Do it to its end, even where who waits for it is cancelled."""
        return await asyncio.shield(self._begin(doing))

    def _begin(self, doing: Coroutine[Any, Any, Answer]) -> asyncio.Task[Answer]:
        task = asyncio.get_running_loop().create_task(doing)
        self._doing.add(task)
        task.add_done_callback(self._doing.discard)
        return task


def _nobody() -> None:
    """Nobody starts workers here."""
