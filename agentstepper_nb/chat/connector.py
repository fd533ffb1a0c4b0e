"""The interface of the agents of a chat, which answer a message piece by piece."""

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

#: The entry point group of installed connectors: subclasses of `InterpreterABC`, or factories.
ENTRY_POINT_GROUP: Final = "agentstepper_nb.connectors"


@dataclass(frozen=True)
class Handoff:
    """Hands the turn to another agent. A SUPERVISOR or CREW yields a handoff as its last item.

    Args:
        agent_name: The name of the next agent.
        text: The message to the next agent; None: the message that is being answered.
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


#: An item of an answer: a text, a piece, a mapping that a converter makes a piece of, a replacement of
#: the text in progress, or a handoff.
Item = str | AgentOutput | Handoff | TextReplacement | dict[str, object]
#: The items of an answer. A generator that yields a CONFIRMATION is sent the person's choice.
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
    #: One line of description, for lists of connectors.
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
