"""A moniker: the function that does a session's steps, with a contract that doesn't change."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final

from ..models.provider import ModelProvider
from .frame import FrameIn, FrameOut
from .message_reader import MessageReader
from .model_gate import ModelGate, RateLimitedProvider

if TYPE_CHECKING:
    from ..protocol.runtime import ConversationMessage
    from ..sdk.async_stepper import AsyncAgentStepper

#: The entry points of installed monikers; each names a subclass of `Moniker`, or what makes one.
ENTRY_POINT_GROUP: Final = "agentstepper_nb.monikers"


@dataclass
class MonikerContext:
    """What a session's moniker works with.

    Args:
        agent_id: The agent.
        session_id: The session.
        config: As it was created with.
        data_dir: The folder of this installation's runs; monikers take folders of their own there.
        dbg: The debugger's run of the session; None where there is none. What a step asks of models
            and tools goes through it, so that it can be stepped.
        log: The worker's.
        model_gate: Where model calls wait that the Core limits; None: none are.
        conversation_id: The conversation that the session was created in; None: in none.
        messages: Reads conversations, for `read_messages`.
    """

    agent_id: str
    session_id: str
    config: Any
    data_dir: Path
    dbg: AsyncAgentStepper | None
    log: logging.Logger
    model_gate: ModelGate | None = None
    conversation_id: str | None = None
    messages: MessageReader | None = None

    async def read_messages(
        self, conversation_id: str | None = None, limit: int = 100
    ) -> list[ConversationMessage]:
        """What others said in a conversation since this session read last, the oldest first.

        That the messages were read is stored together with the step, so that each is read in exactly
        one step that counts: a step that fails, or whose worker is lost, reads them again when it is
        begun again. A second call in a step goes on where the first one ended.

        Args:
            conversation_id: The conversation; None: the one that the session was created in.
            limit: How many messages at most, 1 to 1000.

        Raises:
            AgentStepperError: The session was created in no conversation, and none is named; the Core
                refuses.
        """
        reader = self.messages or MessageReader(self.session_id, self.conversation_id, None)
        return await reader.read(conversation_id, limit)

    def limit_calls(self, provider: ModelProvider) -> ModelProvider:
        """A model provider whose calls wait where the Core limits how often the model may be asked.

        Args:
            provider: Serves the model.
        """
        if self.model_gate is None:
            return provider
        return RateLimitedProvider(provider, self.model_gate, lambda: self.dbg, self.log)


class Moniker:
    """Does the steps of one session, one at a time. Subclass it, and name the class as an entry point.

    Attributes:
        name: What it is called in the queue.
        version: Which one it is, for sessions that ask for one (`create_agent(moniker_version=…)`).
        stop_on_done: Whether a session ends at a step that is `done`, unless its limits say otherwise:
            True for what comes to an end, False for what goes on.
        cooperative: Whether its steps may share an event loop with those of other sessions: they await
            whatever takes longer than a moment, never block or end the process, and use no code that
            may crash it. Else each session's steps run alone in a process.
    """

    name: ClassVar[str]
    version: ClassVar[str] = ""
    stop_on_done: ClassVar[bool] = True
    cooperative: ClassVar[bool] = False

    def __init__(self, task: MonikerContext) -> None:
        self.task = task

    @classmethod
    def check(cls, config: Any) -> None:
        """Refuse a config that can't work, where a session is created.

        Raises:
            ValueError: What is wrong, for a person.
        """

    async def step(self, frame: FrameIn) -> FrameOut:
        """Do one step. Raising makes it an error step, after the retries that the limits give.

        Args:
            frame: The step, the state of the step before and, once, guidance.
        """
        raise NotImplementedError

    def step_interval_s(self) -> float:
        """Seconds to wait between two steps; a stop, a pause or an interrupt ends the wait."""
        return 0.0

    async def close(self) -> None:
        """The session ends, or its worker does."""


#: Makes a moniker for a session.
MonikerFactory = Callable[[MonikerContext], Moniker]
