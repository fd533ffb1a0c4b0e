"""A turn: a message is answered, by one agent or by several that hand it on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from ...protocol.chat import Ending, Message
from .. import kinds
from ..connector import InterpreterABC
from ..session import House, Session
from .failing import explained, is_stop, was_cancelled
from .outlet import Outlet
from .part import AgentsPart
from .routing import HandOns

#: Seconds that a turn which was cancelled has to end, before it is cancelled again.
GRACE_S: Final = 2.0
#: How often it is cancelled before it is left alone.
CANCELS: Final = 2


class Turn:
    """One turn of a session, which has begun. It ends once, whatever its agents do.

    Args:
        session: The session.
        house: What it shares with others.
        message: What is to be answered; it was said.
        agent: Whom it is for.
        ended: Called once it has ended, and the session stands in STOP.
    """

    def __init__(
        self,
        session: Session,
        house: House,
        message: Message,
        agent: InterpreterABC,
        ended: Callable[[Turn], None],
    ) -> None:
        self.session = session
        self.agent = agent
        self.had_confirmation = False
        self._house = house
        self._message = message
        self._ended = ended
        self._outlets: list[Outlet] = []
        self._part: AgentsPart | None = None
        self._over = False
        name = f"chat session {session.id}"
        # In the interpreter's own context: what surrounds who said something isn't the turn's.
        self._task = asyncio.create_task(self._run(), name=name, context=house.context.copy())
        self._task.add_done_callback(lambda _: self._finish(Ending.STOPPED))

    def outlet(self) -> Outlet:
        """What is said from now on."""
        outlet = Outlet(self.cancel)
        self._outlets.append(outlet)
        return outlet

    def say(self, message: Message) -> None:
        """Something is said; once the turn is over, it isn't."""
        if self._over:
            return
        self.session.say(message)
        for outlet in self._outlets:
            outlet.put(message)

    def cancel(self) -> None:
        """End it, as soon as it lets itself be ended: what it does at its end isn't disturbed."""
        if not self._task.cancelling():
            self._task.cancel()

    async def stop(self, grace_s: float | None = None) -> None:
        """End it, and wait until it has; one that doesn't end is left alone, and says nothing more.

        Args:
            grace_s: Seconds that it has to end, each time it is cancelled; None: `GRACE_S`.
        """
        self.cancel()
        if self._task is asyncio.current_task():
            return
        grace = GRACE_S if grace_s is None else grace_s
        for _ in range(CANCELS):
            if (await asyncio.wait({self._task}, timeout=grace))[0]:
                break
            self._task.cancel()
        else:
            self._house.log.error(
                "chat session %s: its turn doesn't end, though it was cancelled; it is left alone",
                self.session.id,
            )
        self._finish(Ending.STOPPED)

    async def _run(self) -> None:
        try:
            await self._answer()
        except BaseException as error:
            self._finish(await self._failed(error))
        else:  # an agent may go on to its end over being cancelled
            self._finish(Ending.STOPPED if was_cancelled() else Ending.DONE)

    async def _answer(self) -> None:
        agent = self.agent
        hand_ons = HandOns(self.session.agents, self.agent)
        message = self._message
        await self.session.recording.begin_turn()
        while True:
            part = self._part = AgentsPart(self.session, self._house, agent, message, self.say)
            try:
                hand_on = await part.run()
            finally:
                self.had_confirmation = self.had_confirmation or part.had_confirmation
            if hand_on is None or self._over or was_cancelled():
                return
            agent = hand_ons.follow(agent, hand_on)
            if hand_on.text is not None:
                message = kinds.check(part.blank(content=hand_on.text))
                self.say(message)

    async def _failed(self, error: BaseException) -> Ending:
        if self._over or was_cancelled():
            if isinstance(error, Exception):
                self._house.log.warning(
                    "%s failed as it was stopped.", self.agent.name, exc_info=error
                )
            return Ending.STOPPED
        if is_stop(error):
            await self.session.recording.stopped()
            return Ending.STOPPED
        # A person reads it in the conversation; where the code failed, who wants to know.
        self._house.log.info("A turn of %s failed.", self.agent.name, exc_info=error)
        self.say(
            Message(
                id=self._house.new_id(),
                session_id=self.session.id,
                role="system",
                content=explained(error),
                format="error",
                created_at=self._house.clock(),
            )
        )
        return Ending.ERROR

    def _finish(self, ending: Ending) -> None:
        if self._over:
            return
        if self._part is not None:
            self._part.close()
        self._over = True
        if ending is not Ending.DONE:
            self.session.recording.withdraw()
        self.session.end(ending)
        for outlet in self._outlets:
            outlet.end()
        self._part, self._outlets = None, []
        self._ended(self)
