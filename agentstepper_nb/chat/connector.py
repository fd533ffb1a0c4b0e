"""What an agent is to the interpreter: something that answers a message, piece by piece."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import AsyncIterable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final, Protocol

from ..protocol.chat import AgentName, AgentOutput, AgentType, ChatAgentInfo, Message

if TYPE_CHECKING:
    from ..sdk.async_stepper import AsyncAgentStepper

#: The entry points of installed connectors: subclasses of `InterpreterABC`, or what makes one.
ENTRY_POINT_GROUP: Final = "agentstepper_nb.connectors"


@dataclass(frozen=True)
class Handoff:
    """Another agent goes on, and with it the turn: yielded by a SUPERVISOR or CREW, as the last thing.

    Args:
        agent_name: Whose turn it is.
        text: What it is told; None: the message that is being answered.
    """

    agent_name: str
    text: str | None = None


@dataclass(frozen=True)
class TextReplacement:
    """The text that is being said is another: a person edited what a model answered, after it was told.

    Args:
        content: What the message says in place of all that was said of it.
    """

    content: str


#: What an answer is made of: text, pieces, mappings that a converter makes pieces of, a replacement of
#: the text that was being said, or a hand-on.
Item = str | AgentOutput | Handoff | TextReplacement | dict[str, object]
#: An answer, as it comes. A generator is sent the person's choice where it yields a CONFIRMATION.
AnswerItems = AsyncIterable[Item] | Iterable[Item]


class ConfirmCallback(Protocol):
    """Asks the person."""

    async def __call__(
        self, text: str, choices: Sequence[str] = ("Yes", "No"), *, details: object = None
    ) -> str:
        """Say a CONFIRMATION, and wait for the choice. Cancelling it withdraws it.

        Args:
            text: What is asked.
            choices: What may be chosen, two at least or one to acknowledge.
            details: JSON values to be shown with it.
        """


@dataclass(frozen=True)
class Turn:
    """What an agent is given beside the message.

    Args:
        session_id: The chat session.
        window: The messages before it that the session's memory gives, oldest first.
        confirm: Asks the person, in the middle of the answer.
        dbg: The session's run in the debugger, within this turn's event; None where there is none.
        workspace: The folder the session works in, if it has one.
        data_dir: The folder of this installation's runs, where connectors may keep what is theirs.
        log: The interpreter's.
        agents: The session's agents, whom a SUPERVISOR or CREW may hand on to.
        is_continuation: Whether AutoChat says the message, as the agent's `continuation_prompt` has
            it: no person said or edited it.
    """

    session_id: str
    window: tuple[Message, ...]
    confirm: ConfirmCallback
    dbg: AsyncAgentStepper | None
    workspace: Path | None
    data_dir: Path
    log: logging.Logger = field(default_factory=lambda: logging.getLogger("agentstepper_nb.chat"))
    agents: tuple[ChatAgentInfo, ...] = ()
    is_continuation: bool = False


class InterpreterABC(ABC):
    """Connects an agent to the interpreter. Used on one event loop; sessions may be answered at once.

    ::

        class Parrot(InterpreterABC):
            name = "parrot"
            role = "OTHER"

            async def chat(self, message, turn):
                yield f"You said: {message.content}"

    Attributes:
        name: What it is called in its sessions.
        role: A word of `chat.roles`.
        agent_type: How it calls tools.
        description: A line for people, and for agents that hand on.
        continuation_prompt: What AutoChat says to it; None: there is nothing to continue.
    """

    name: str
    role: str = AgentName.AGENT_EXECUTOR.value
    agent_type: AgentType = AgentType.TOOL_CALLING
    description: str = ""
    continuation_prompt: str | None = "Continue."
    #: A line for who looks which connectors there are.
    summary: ClassVar[str] = ""

    @abstractmethod
    def chat(self, message: Message, turn: Turn) -> AnswerItems:
        """Answer a message. Closing or cancelling what it returns ends the answer.

        Raising ends the turn with an error: `AgentStepperError`s are shown as they are, other exceptions
        by their type and text.

        Args:
            message: What to answer, with a person's edit in force.
            turn: What there is beside it.
        """

    def run_id(self, session_id: str) -> str | None:
        """A run of its own in the debugger, beside the session's; None where it has none.

        Args:
            session_id: The chat session.
        """
        return None

    def notice(self, session_id: str) -> str:
        """What a person must know of it all along, as "No sandbox: approvals …"; "" is nothing.

        The view warns with what stands before the first colon, and explains with all of it.

        Args:
            session_id: The chat session.
        """
        return ""

    async def on_session_closed(self, session_id: str) -> None:  # noqa: B027 - most keep nothing
        """A session was closed: let go of what is kept for it.

        Args:
            session_id: The chat session.
        """

    async def close(self) -> None:  # noqa: B027
        """The interpreter ends."""
