"""The coding agent in a chat: each conversation there has a session of its own here.

The chat doesn't know this package, nor this one the chat: it finds `CodingConversations` by an
entry point, and says itself what it needs of it.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import AsyncIterator, Sequence
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, Unpack, cast

import msgspec

from ..llm_wire.conversation import ModelRequest
from ..llm_wire.events import AgentEvent, TraceEvent
from ..protocol.chat import AgentOutput
from ..protocol.coding_settings import SettingsDict
from .approvals import ApprovalDecision, ApprovalRequest
from .chat_outputs import ChatOutputWriter, OutputReceiver, limit_value
from .options import CodingOptions
from .orchestrator import TurnResult
from .policy import PolicyEngine
from .policy.engine import PolicyFactory
from .session import CodingSession
from .tool import Risk
from .tools import make_default_tools

if TYPE_CHECKING:
    from ..models.provider import ModelProvider
    from ..sdk.async_stepper import AsyncAgentStepper


#: Makes a session's id of a conversation's name: the same whenever it is opened again.
_IDS: Final = uuid.UUID("f4f1a3c8-2b0e-4f43-8a55-0d5f2f4f3b6e")
_TICKS: Final = re.compile("`+")


class _Answer(Enum):
    """What a person may answer; the value is the button's text."""

    ALLOW = "Allow"
    ALWAYS = "Always allow here"
    DENY = "Deny"
    CONFIRM = "Yes, call it"


class ChatParticipant(OutputReceiver, Protocol):
    """The receiver of an answer and of the confirmations within the answer."""

    async def request_choice(self, text: str, choices: Sequence[str], details: Any) -> str:
        """Ask the person to choose, after all earlier output. Returns the choice.

        Cancelling the task withdraws the request.
        """


class ChatOptions(SettingsDict, total=False):
    """The options of coding sessions in a chat, besides the model; see `CodingOptions`."""

    policy: PolicyEngine | PolicyFactory | str | None


class CodingConversations:
    """Opens conversations with the coding agent.

    Args:
        provider: Who serves the model: a name, as `--provider` has it, or a provider, which is then
            closed with this.
        model: The model's name there.
        options: See `ChatOptions`.
    """

    def __init__(
        self, *, provider: str | ModelProvider, model: str, **options: Unpack[ChatOptions]
    ) -> None:
        self._provider = provider
        self._model = model
        self._options = options

    async def open(
        self, name: str, *, workspace: Path, data_dir: Path, root: str = ""
    ) -> CodingConversation:
        """Open a conversation, where there was one of this name with all that was said in it.

        Args:
            name: What it is called, as no other is in this data folder.
            workspace: The folder that the agent works in, and may not leave.
            data_dir: The folder that keeps logs and rules.
            root: What comes before a path of the workspace in the chat; see `ChatOutputWriter`.

        Raises:
            CodingSessionError: The workspace is no folder, or the session's log can't be used.
            ModelError: There is no such provider, or it can't be used here.
        """
        chat = CodingConversation(root)
        own: CodingOptions = {
            "tools": make_default_tools(shell=self._options.get("shell"), images=True),
            "on_tool_start": chat.on_tool_start,
            "approver": chat,
            "listener": chat.on_event,
            "debugger": False,  # until an answer brings one
        }
        chat.session = await CodingSession.open(
            str(uuid.uuid5(_IDS, name)),
            workspace=workspace,
            provider=self._share_provider(),
            model=self._model,
            data_dir=data_dir,
            mode="chat",
            **cast(CodingOptions, {**self._options, **own}),
        )
        return chat

    async def close(self) -> None:
        """Close the provider, once the conversations are closed."""
        if not isinstance(self._provider, str):
            await self._provider.close()

    def _share_provider(self) -> str | ModelProvider:
        """What serves the next session."""
        return self._provider if isinstance(self._provider, str) else _LentProvider(self._provider)


class CodingConversation:
    """One conversation of a chat with the coding agent. The conversation is its session's approver.

    Args:
        root: See `CodingConversations.open`.

    Attributes:
        session: The session.
    """

    session: CodingSession
    name: Final = "chat"

    def __init__(self, root: str) -> None:
        self._root = root
        self._dbg: AsyncAgentStepper | None = None  # whose run the session is in
        self._participant: ChatParticipant | None = None
        self._output_writer: ChatOutputWriter | None = None
        self._early_events: list[
            AgentEvent
        ] = []  # as the session was opened, with nobody there yet

    async def answer(
        self, prompt: str, participant: ChatParticipant, dbg: AsyncAgentStepper | None
    ) -> None:
        """Answer a prompt. Cancelling the task ends the answer and its commands.

        A chat abandons an answer that doesn't end soon after its cancellation, for example while a
        command is being killed. The next answer therefore waits for that end.

        Args:
            prompt: The person's prompt.
            participant: Receives the answer and the requests for approval.
            dbg: The run in the debugger that shows the answer; None: no run.

        Raises:
            AgentStopped: Stop was pressed in the debugger.
            ToolDeniedError: A person denied a question to the model there.
            CodingSessionError: There is no answer. The message has the reason.
        """
        await self.session.cancel()
        self._participant, self._output_writer = (
            participant,
            ChatOutputWriter(participant, self._root),
        )
        for event in self._early_events:
            self._output_writer.on_event(event)
        self._early_events = []
        try:
            await self._join_run(dbg)
            result = await self.session.run(prompt)
        finally:
            self._participant = self._output_writer = None
        result.raise_for_error()
        if result.reason == "max_iterations":
            participant.send(AgentOutput(role="system", content=_format_limit_notice(result)))

    @property
    def notice(self) -> str:
        """A warning if no sandbox confines the agent's commands; "" if one does."""
        return self.session.sandbox.warning

    async def close(self) -> None:
        """Close the session; its log stays."""
        await self.session.close()

    def on_event(self, event: AgentEvent) -> None:
        """The session's listener."""
        if self._output_writer is not None:
            self._output_writer.on_event(event)
        elif isinstance(event, TraceEvent) and event.kind in ("warning", "sandbox"):
            self._early_events.append(event)

    def on_tool_start(self, tool: str, args: Any) -> None:
        """A tool begins to carry out a call."""
        if self._output_writer is not None:
            self._output_writer.on_tool_start(tool, args)

    async def request_decision(self, request: ApprovalRequest) -> ApprovalDecision:
        """Request an approval. See `Approver`."""
        always = (_Answer.ALWAYS,) if request.rule else ()
        details = msgspec.to_builtins(request) | {"args": limit_value(request.args)}
        answers = (_Answer.ALLOW, *always, _Answer.DENY)
        answer = await self._choice(_question(request), answers, details)
        approved = answer is not _Answer.DENY
        if approved and request.risk is Risk.HIGH:
            # Other words at other places: pressed twice, the same button or number denies.
            answers = (_Answer.DENY, _Answer.CONFIRM)
            confirmed = await self._choice(_confirmation(request), answers, details)
            approved = confirmed is _Answer.CONFIRM
        return ApprovalDecision(approved=approved, always=approved and answer is _Answer.ALWAYS)

    async def _choice(self, text: str, answers: Sequence[_Answer], details: Any) -> _Answer:
        """Ask the person, whose choice is a button's text."""
        assert self._participant is not None
        return _Answer(
            await self._participant.request_choice(
                text, tuple(each.value for each in answers), details
            )
        )

    async def _join_run(self, dbg: AsyncAgentStepper | None) -> None:
        """Be in a run: after a Stop, or where the debugger came or went, it is another one."""
        if dbg is self._dbg:
            return
        await self.session.attach_to_run(dbg)
        self._dbg = dbg if self.session.run_id is not None else None


class _LentProvider:
    """Somebody's provider, which a session doesn't close."""

    def __init__(self, provider: ModelProvider) -> None:
        self._provider = provider
        self.name = provider.name
        self.takes_temperature = getattr(provider, "takes_temperature", True)

    def stream(self, request: ModelRequest) -> AsyncIterator[AgentEvent]:
        return self._provider.stream(request)

    async def close(self) -> None:
        pass


def _format_limit_notice(result: TurnResult) -> str:
    questions = "1 question" if result.iterations == 1 else f"{result.iterations} questions"
    return (
        f"The agent stopped after {questions} to the model, the limit for one message. Say "
        "“Go on.” to continue."
    )


def _confirmation(request: ApprovalRequest) -> str:
    """What a person is asked once more, of high risk."""
    return f"The risk is high. Call `{request.tool}` anyway?\n\n{_call(request)}"


def _question(request: ApprovalRequest) -> str:
    """What a person is asked, in words."""
    why = f"{request.policy_reason} The risk is {request.risk}."
    question_text = f"Allow the call of `{request.tool}`? {why}\n\n{_call(request)}"
    return (
        f"{question_text}\n\n“{_Answer.ALWAYS.value}”: {request.rule}."
        if request.rule
        else question_text
    )


def _call(request: ApprovalRequest) -> str:
    """The command as it is, or the arguments as JSON."""
    match request.args:
        case {"command": str(command)} if len(request.args) == 1:
            return _fenced(command, "bash")
        case args:
            json = msgspec.json.encode(limit_value(args))
            return _fenced(msgspec.json.format(json, indent=2).decode(), "json")


def _fenced(text: str, language: str) -> str:
    """Text that a model wrote, parted from what we say: no line of it ends the fence."""
    longest = max(map(len, _TICKS.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"
