"""The coding agent as an agent of a chat.

The coding agent's package doesn't import the chat. An entry point names the coding agent, and this
module defines the interface that the chat needs.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol, Unpack

from ... import typed_json
from ...entry_point_loader import EntryPointLoader
from ...errors import CodingSessionError, CommandError
from ...protocol.chat import AgentName, AgentOutput, Message
from ...protocol.coding_settings import CodingSettings, SettingsDict
from .. import message_types
from ..connector import Turn
from ..streams import AnswerChannel, StreamingAgent
from .model_prompts import shorten_text

if TYPE_CHECKING:
    from ...models.provider import ModelProvider
    from ...sdk.async_stepper import AsyncAgentStepper

#: The entry points of what keeps conversations of its own: each makes a `AgentConversations`.
ENTRY_POINT_GROUP: Final = "agentstepper_nb.conversations"
_CODING: Final = "coding"


class AnswerReceiver(Protocol):
    """The receiver of an answer and of the confirmations within the answer."""

    def send(self, output: AgentOutput) -> None:
        """There is more of it."""

    def replace_text(self, text: str) -> None:
        """The text that was said last is this one, in truth."""

    async def request_choice(self, text: str, choices: Sequence[str], details: Any) -> str:
        """Ask the person to choose, after all earlier output. Returns the choice.

        Cancelling the task withdraws the request.
        """


class AgentConversation(Protocol):
    """One conversation with the coding agent, which stores its own history."""

    @property
    def notice(self) -> str:
        """A warning if no sandbox confines the agent's commands; "" if one does."""

    async def answer(
        self, prompt: str, receiver: AnswerReceiver, dbg: AsyncAgentStepper | None
    ) -> None:
        """Answer a prompt. Cancelling it ends the answer, and what it runs; it raises what ends it."""

    async def close(self) -> None:
        """End it; it may be opened again."""


class AgentConversations(Protocol):
    """Opens conversations."""

    async def open(
        self, name: str, *, workspace: Path, data_dir: Path, root: str
    ) -> AgentConversation:
        """Open the one of a name; `root` comes before paths of the workspace in what it says."""

    async def close(self) -> None:
        """Close the resources that the conversations share, after all conversations are closed."""


class CodingAgent(StreamingAgent):
    """The coding agent in a chat: it reads and changes files and runs commands in a folder.

    ::

        chat = Chat(CodingAgent(provider="openai", model="gpt-5-mini"), workspace="repo")
        chat.send("Fix the failing test.")

    A session of the chat is a coding session with a log of its own, which `agentstepper code` can
    resume. If the chat session is opened again, the coding session goes on. The agent also gets the
    messages that others posted meanwhile.

    The agent's model queries, tool calls and approval requests are recorded inside of the turn. An
    approval is decided by the first answer, in the debugger or in the chat. The agent's
    conversation keeps edits of its queries and results; an edit of the turn's end changes the chat
    only.

    Args:
        workspace: The folder that the agent works in and may not leave; None: the chat's folder.
        provider: The model's provider: a name as `--provider` takes it, or a provider object, which
            is closed with this agent.
        model: The name by which the provider serves the model.
        name: The agent's name in the chat.
        role: One of the roles of `chat.roles`.
        description: One line for people, and for agents that hand off.
        policy: A policy that replaces the default one: a policy, a function that makes one, or the
            name of an installed one.
        settings: The settings of a coding session; see `CodingSettings`.

    Raises:
        msgspec.ValidationError: A setting doesn't exist, or is out of its bounds.
    """

    continuation_prompt: str | None = "Go on."
    summary: ClassVar[str] = "the coding agent, on a folder"
    settings: ClassVar[type[CodingSettings]] = CodingSettings

    def __init__(
        self,
        workspace: str | os.PathLike[str] | None = None,
        *,
        provider: str | ModelProvider,
        model: str,
        name: str = "coder",
        role: str = AgentName.AGENT_EXECUTOR.value,
        description: str = "",
        policy: Any = None,
        **settings: Unpack[SettingsDict],
    ) -> None:
        typed_json.convert(settings, CodingSettings)
        self.name = name
        self.role = role
        self.description = description or "reads, changes and runs what is in a folder"
        self._workspace = None if workspace is None else Path(workspace).expanduser()
        self._options = {
            "provider": provider,
            "model": model,
            "policy": policy,
            **settings,
        }
        self._conversations: AgentConversations | None = None
        self._open: dict[str, AgentConversation] = {}  # by the chat's sessions

    async def answer(self, message: Message, turn: Turn, channel: AnswerChannel) -> None:
        """Answer a message; see `StreamingAgent.answer`."""
        prompt = _prompt(message, turn.window, self.name)
        conversation = await self._conversation(turn)
        await conversation.answer(prompt, channel, turn.dbg)

    def notice(self, session_id: str) -> str:
        """The conversation's warning if no sandbox confines its commands. See `InterpreterABC`."""
        conversation = self._open.get(session_id)
        return "" if conversation is None else conversation.notice

    async def on_session_closed(self, session_id: str) -> None:
        """Close the conversation; its log stays."""
        conversation = self._open.pop(session_id, None)
        if conversation is not None:
            await conversation.close()

    async def close(self) -> None:
        """Close all of them."""
        for session_id in list(self._open):
            await self.on_session_closed(session_id)
        if self._conversations is not None:
            await self._conversations.close()

    async def _conversation(self, turn: Turn) -> AgentConversation:
        found = self._open.get(turn.session_id)
        if found is None:
            workspace = self._workspace or turn.workspace
            if workspace is None:
                raise CodingSessionError(
                    f"The agent {self.name} has no folder to work in: name one by `workspace=`."
                )
            if self._conversations is None:
                self._conversations = await asyncio.to_thread(_conversations, self._options)
            found = await self._conversations.open(
                f"{turn.session_id}/{self.name}",
                workspace=workspace,
                data_dir=turn.data_dir,
                root=_root(workspace, turn.workspace),
            )
            self._open[turn.session_id] = found
        return found


def _conversations(options: dict[str, Any]) -> AgentConversations:
    """What keeps the coding agent's conversations. It is imported for that: not on an event loop."""
    try:
        make = EntryPointLoader[Callable[..., AgentConversations]](
            ENTRY_POINT_GROUP, "kind of conversation"
        ).find(_CODING)
    except CommandError as error:
        text = f"The coding agent can't be imported: install agentstepper_nb again. {error}"
        raise CodingSessionError(text) from error
    return make(**options)


def _root(workspace: Path, shown: Path | None) -> str:
    """What comes before the paths of a folder, so that the chat finds what they name."""
    same = shown is not None and shown.resolve() == workspace.resolve()
    return "" if same else f"{workspace.resolve()}/"


def _prompt(message: Message, window: Sequence[Message], name: str) -> str:
    """What the agent is told: a message, after what others said since it last heard of them."""
    unheard = list(window)
    for number, each in enumerate(window):
        if each.agent_name == name and each.role != "user":
            unheard = list(window[number + 1 :])
    unheard = [each for each in unheard if each.agent_name != name]
    if not any(each.role in ("assistant", "computer") for each in unheard):
        return message_types.format_message_text(message)  # it is the only one who answers
    said = "\n\n".join(
        f"{_who(each)}: {shorten_text(message_types.format_message_text(each))}" for each in unheard
    )
    return (
        f"Meanwhile this was said in the conversation that you take part in:\n\n{said}\n\n"
        f"Now you are told:\n\n{message_types.format_message_text(message)}"
    )


def _who(message: Message) -> str:
    if message.role != "user":
        return message.agent_name or message.role
    return f"The person, to {message.agent_name}" if message.agent_name else "The person"
