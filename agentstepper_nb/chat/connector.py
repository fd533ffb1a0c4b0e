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
    """Asks the person a question during an answer."""

    async def __call__(
        self, text: str, choices: Sequence[str] = ("Yes", "No"), *, details: object = None
    ) -> str:
        """Post a CONFIRMATION, and wait for the choice. Cancelling withdraws the CONFIRMATION.

        Args:
            text: The question.
            choices: The choices: at least two, or one to acknowledge.
            details: JSON values to show with the question.
        """


@dataclass(frozen=True)
class Turn:
    """The input of an agent beside the message that it answers.

    Args:
        session_id: The chat session's id.
        window: The earlier messages that the session's memory gives, oldest first.
        confirm: Asks the person a question during the answer.
        dbg: The session's run in the debugger, inside of this turn's event; None: no debugger.
        workspace: The session's working folder, if it has one.
        data_dir: This installation's data folder, where connectors may store their own data.
        log: The interpreter's log.
        agents: The session's agents, to which a SUPERVISOR or CREW may hand off.
        is_continuation: Whether AutoChat sent the message, with the agent's `continuation_prompt`
            as its text: no person wrote or edited it.
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
    """The interface by which an agent answers in chat sessions. Used on one event loop.

    ::

        class Parrot(InterpreterABC):
            name = "parrot"
            role = "OTHER"

            async def chat(self, message, turn):
                yield f"You said: {message.content}"

    Several sessions may be answered at once.

    Attributes:
        name: The agent's name in its sessions.
        role: One of the roles of `chat.roles`.
        agent_type: How the agent calls tools.
        description: One line for people, and for agents that hand off.
        continuation_prompt: The message that AutoChat sends to the agent; None: AutoChat does not
            continue this agent.
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
        """Answer a message. Closing or cancelling the returned iterator ends the answer.

        An exception ends the turn with an error: an `AgentStepperError` is shown by its message,
        any other exception by its type and message.

        Args:
            message: The message to answer, with a person's edit if there is one.
            turn: The session's context of the answer.
        """

    def run_id(self, session_id: str) -> str | None:
        """The id of the agent's own run in the debugger, beside the session's; None: it has none.

        Args:
            session_id: The chat session's id.
        """
        return None

    def notice(self, session_id: str) -> str:
        """A warning about this agent for the whole session, as "No sandbox: approvals …"; "": none.

        The view shows the words before the first colon, and the whole text as the explanation.

        Args:
            session_id: The chat session's id.
        """
        return ""

    async def on_session_closed(self, session_id: str) -> None:  # noqa: B027 - most keep nothing
        """A session was closed: release the data that is held for it.

        Args:
            session_id: The chat session's id.
        """

    async def close(self) -> None:  # noqa: B027
        """Release all resources: the interpreter ends."""
