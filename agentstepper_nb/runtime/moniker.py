"""`Moniker`: the base class of the code that executes a background agent's steps."""

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

#: The entry point group of installed monikers. Each names a subclass of `Moniker`, or a factory.
ENTRY_POINT_GROUP: Final = "agentstepper_nb.monikers"


@dataclass
class MonikerContext:
    """The context in which a moniker executes a session's steps.

    Args:
        agent_id: The agent's id.
        session_id: The session's id.
        config: The configuration that the session was created with.
        data_dir: This installation's data folder; monikers create their own folders in it.
        dbg: The session's run in the debugger; None: no run. Model queries and tool calls that a
            step makes through it can be stepped.
        log: The worker's log.
        model_gate: Delays model queries whose rate the Core limits; None: no limit.
        conversation_id: The conversation that the session was created in; None: no conversation.
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
        """Return the messages of others since this session's last read, oldest first.

        The reading mark is stored together with the step, so that each message is read in exactly
        one step that counts. A step that fails, or whose worker is lost, reads the messages again
        when it is begun again. A second call in one step continues after the first one.

        Args:
            conversation_id: The conversation; None: the one that the session was created in.
            limit: The most messages to return, 1 to 1,000.

        Raises:
            AgentStepperError: The session was created in no conversation, and none is named; or the
                Core refuses.
        """
        reader = self.messages or MessageReader(self.session_id, self.conversation_id, None)
        return await reader.read(conversation_id, limit)

    def limit_calls(self, provider: ModelProvider) -> ModelProvider:
        """Wrap a model provider so that its queries wait for the rate that the Core allows.

        Args:
            provider: The provider.
        """
        if self.model_gate is None:
            return provider
        return RateLimitedProvider(provider, self.model_gate, lambda: self.dbg, self.log)


class Moniker:
    """Executes the steps of one session, one at a time. Subclass it, and name it as an entry point.

    Attributes:
        name: The moniker's name in the queue.
        version: The moniker's version, for sessions that ask for one
            (`create_agent(moniker_version=…)`).
        stop_on_done: Whether a session ends at a step that is `done`, unless its limits say
            otherwise: True for agents that come to an end, False for agents that go on.
        cooperative: Whether the steps may share an event loop with those of other sessions. Such
            steps await everything that takes long, never block or end the process, and use no code
            that may crash it. The steps of other monikers run in a process of their own per
            session.
    """

    name: ClassVar[str]
    version: ClassVar[str] = ""
    stop_on_done: ClassVar[bool] = True
    cooperative: ClassVar[bool] = False

    def __init__(self, task: MonikerContext) -> None:
        self.task = task

    @classmethod
    def check(cls, config: Any) -> None:
        """Refuse a configuration that can't work, when a session is created.

        Raises:
            ValueError: What is wrong, for a person.
        """

    async def step(self, frame: FrameIn) -> FrameOut:
        """Execute one step. An exception makes the step an error, after the retries of the limits.

        Args:
            frame: The step, the state of the step before and, once, guidance.
        """
        raise NotImplementedError

    def step_interval_s(self) -> float:
        """Return the seconds to wait before the next step; a stop, pause or interrupt ends it."""
        return 0.0

    async def close(self) -> None:
        """Release all resources: the session or its worker ends."""


#: Makes a moniker for a session.
MonikerFactory = Callable[[MonikerContext], Moniker]
