"""The coding agent's loop: query the model, execute its tool calls, send it the results."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, Literal

from msgspec import Struct

from ..errors import (
    AgentStepperError,
    AgentStopped,
    CodingSessionError,
    ModelError,
    ToolDeniedError,
)
from ..llm_wire.answer_builder import add_usages, replace_surrogates
from ..llm_wire.conversation import ChatMessage, ModelRequest
from ..llm_wire.events import TraceEvent
from ..protocol.data_model import Usage
from .approvals import ApprovalRequester, Approver
from .model_queries import ModelQueries, make_system_prompt
from .options import CodingLimits
from .policy.engine import PolicyEngine
from .session_log import SessionLog
from .session_sandbox import SessionSandbox
from .snapshots import Snapshots
from .tool import ToolContext, ToolResult
from .tool_call_runner import RuleSaver, ToolCallRunner, ToolStartListener
from .tool_results import OutputStore
from .tools import ToolRegistry
from .transcript import Listener, Transcript
from .workspace import LocalWorkspace

if TYPE_CHECKING:
    from ..models.provider import ModelProvider
    from ..sdk.async_stepper import AsyncAgentStepper

log = logging.getLogger("agentstepper_nb.coding")

TurnEndReason = Literal["done", "max_iterations", "cancelled", "error"]

_STOPPED: Final = "A person pressed Stop in the debugger."
_ANSWER_CUT: Final = (
    "The answer was cut at the model's limit of tokens. Say “go on”, or ask for less at once."
)
_PROVIDER_CANCELLED: Final = "The model's provider was cancelled by its own code. Try again."
_NOT_EXECUTED: Final = ToolResult.failure(
    "This call was not carried out: the answer was cancelled."
)
_UNCERTAIN: Final = ToolResult.failure(
    "This call was cancelled before it had a result: what it did until then is done. Look before you "
    "call it again."
)


class TurnResult(Struct, frozen=True, kw_only=True):
    """The result of a prompt."""

    reason: TurnEndReason
    messages: tuple[ChatMessage, ...]  # the whole conversation, to go on from
    usage: Usage | None  # of all queries together, as far as it was told
    iterations: int  # queries to the model
    error: str | None = None  # for a person: why, where the reason isn't `done`
    is_stopped: bool = False  # whether Stop was pressed, so that the debugger's run is over

    def raise_for_error(self) -> None:
        """Raise the error that kept the prompt from being answered.

        An answer that was cut at a limit counts as an answer.

        Raises:
            AgentStopped: A person pressed Stop in the debugger.
            ToolDeniedError: A person denied a query to the model, or the prompt was cancelled.
            CodingSessionError: The prompt failed.
        """
        if self.is_stopped:
            raise AgentStopped(self.error)
        if self.reason == "cancelled":
            raise ToolDeniedError(self.error or "The prompt was cancelled.")
        if self.reason == "error":
            raise CodingSessionError(self.error or "The prompt failed and gave no reason.")


class AgentOrchestrator:
    """The coding agent's loop around a model and tools; answers one prompt at a time.

    ::

        agent = AgentOrchestrator(provider, "gpt-5-mini", workspace, make_default_tools(), policy)
        result = await agent.run("Fix the failing test.")
        result = await agent.run("Now add one more.", result.messages)

    Args:
        provider: The model's provider.
        model: The name by which the provider serves the model.
        workspace: The folder that tools may read and change.
        tools: The tools that the model may call.
        policy: Decides for each call whether it is allowed, denied, or needs an approval.
        approver: Asks a person for approvals, besides the debugger's view; None: only the view
            asks.
        on_tool_start: Called with a tool's name and arguments when a call is executed.
        dbg: An open `AsyncAgentStepper` that records each step; None: no debugger.
        session_log: The log of the session; None: nothing is logged.
        listeners: Called with each event as it happens.
        limits: The limits of an answer.
        outputs: Stores results that are too long for the model; None: their middle is dropped.
        save_rule: Called with the name and the arguments of a tool call that a person allows from
            now on, and whether a shell reads the tool's commands.
        system: The model's system prompt; None: that of `model_queries.make_system_prompt`.
        snapshots: Stores the workspace before each change; None: no snapshots are stored.
        temperature: As `ModelRequest` has it.
        tool_choice: As `ModelRequest` has it. A forced tool call is only asked of a prompt's first
            query: otherwise the model could never end.
        session_sandbox: The sandbox of commands; None: no command can be run.
    """

    def __init__(
        self,
        provider: ModelProvider,
        model: str,
        workspace: LocalWorkspace,
        tools: ToolRegistry,
        policy: PolicyEngine,
        *,
        approver: Approver | None = None,
        on_tool_start: ToolStartListener | None = None,
        dbg: AsyncAgentStepper | None = None,
        session_log: SessionLog | None = None,
        listeners: Sequence[Listener] = (),
        limits: CodingLimits | None = None,
        outputs: OutputStore | None = None,
        save_rule: RuleSaver | None = None,
        system: str | None = None,
        snapshots: Snapshots | None = None,
        temperature: float | None = None,
        tool_choice: str | None = None,
        session_sandbox: SessionSandbox | None = None,
    ) -> None:
        self.dbg = dbg  # may be another one for the next prompt
        self.model = model
        self._provider = provider
        self._workspace = workspace
        self._tools = tools
        self._policy = policy
        self._approver = approver
        self._on_tool_start = on_tool_start
        self._log = session_log
        self._listeners = tuple(listeners)
        self._limits = limits or CodingLimits()
        self._outputs = outputs
        self._save_rule = save_rule
        self._system = system
        self._snapshots = snapshots
        self._temperature = temperature
        self._tool_choice = tool_choice
        self._session_sandbox = session_sandbox
        self._task: asyncio.Task[TurnResult] | None = None
        self._cancel = asyncio.Event()
        self._transcript = Transcript()

    @property
    def messages(self) -> tuple[ChatMessage, ...]:
        """The conversation of the newest prompt so far."""
        return tuple(self._transcript.messages)

    @property
    def running(self) -> bool:
        """Whether a prompt is being answered."""
        return self._task is not None

    async def run(self, prompt: str, messages: Sequence[ChatMessage] | None = None) -> TurnResult:
        """Answer a prompt.

        Failures are in the result and in the log. Cancelling the task cancels the answer and raises
        CancelledError; `cancel` cancels the answer and gives a result. In both cases `messages`
        stays a conversation that can be continued.

        Args:
            prompt: The person's request.
            messages: The conversation to continue; None: a new conversation.

        Raises:
            RuntimeError: Another prompt is being answered.
        """
        if self._task is not None:
            raise RuntimeError(
                "This agent is already answering: wait for the answer, or cancel it."
            )
        self._cancel = asyncio.Event()
        self._transcript = Transcript(messages or (), self._log, self._listeners)
        turns = _Turns(self, self._transcript, self._cancel)
        self._task = asyncio.create_task(turns.run(replace_surrogates(prompt)))
        try:
            return await self._task
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                self._cancel.set()  # a tool's thread ends by nothing else
                raise
            if self._cancel.is_set():
                return turns.result("cancelled")
            return turns.failed("cancelled", _PROVIDER_CANCELLED)  # nobody asked for it
        finally:
            self._task = None

    def cancel(self) -> None:
        """Cancel the answer in progress: the query is aborted, and a running command is killed."""
        if self._task is not None:
            self._cancel.set()
            self._task.cancel()


class _Turns:
    """The turns of one prompt."""

    def __init__(
        self, agent: AgentOrchestrator, transcript: Transcript, cancel: asyncio.Event
    ) -> None:
        self._agent = agent
        self._transcript = transcript
        self._limits = limits = agent._limits
        session_sandbox = agent._session_sandbox
        report = None if session_sandbox is None else session_sandbox.report()
        self._system = agent._system
        if self._system is None:  # an empty one is a choice
            self._system = make_system_prompt(agent._workspace, report)
        self._usage: Usage | None = None
        self._iterations = 0
        self._queries = ModelQueries(agent._provider, transcript, agent.dbg, limits.idle_timeout_s)
        context = ToolContext(
            workspace=agent._workspace,
            cancellation=cancel,
            emit=transcript.record_event,
            output_limit_bytes=limits.output_limit_bytes,
            command_timeout_s=limits.command_timeout_s,
            outputs=agent._outputs,
            session_sandbox=session_sandbox,
        )
        self._calls = ToolCallRunner(
            agent._tools,
            agent._policy,
            context,
            transcript,
            ApprovalRequester(agent._approver, limits.approval_timeout_s),
            agent.dbg,
            limits.tool_timeout_s,
            agent._save_rule,
            agent._snapshots,
            agent._on_tool_start,
        )

    async def run(self, prompt: str) -> TurnResult:
        self._transcript.add_prompt(prompt)
        try:
            return self.result(await self._loop())
        except AgentStopped:
            return self.result("cancelled", _STOPPED, stopped=True)
        except ToolDeniedError as denied:  # a query: a denied call is a result
            why = f": {denied.reason}" if denied.reason else "."
            return self.result("cancelled", f"A person denied the query{why}")
        except ModelError as error:  # which was told
            return self.result("error", str(error))
        except AgentStepperError as error:
            return self.failed("debugger", str(error))
        except Exception as error:
            log.exception("A prompt failed.")
            return self.failed("internal", f"{type(error).__name__}: {error}")
        finally:
            self._close_calls()

    def failed(self, kind: str, text: str) -> TurnResult:
        self._record_error(kind, text)
        return self.result("error", text)

    def result(
        self, reason: TurnEndReason, error: str | None = None, stopped: bool = False
    ) -> TurnResult:
        self._close_calls()
        return TurnResult(
            reason=reason,
            messages=tuple(self._transcript.messages),
            usage=self._usage,
            iterations=self._iterations,
            error=error,
            is_stopped=stopped,
        )

    def _record_error(self, kind: str, text: str) -> None:
        self._transcript.record_event(TraceEvent("error", {"kind": kind, "message": text}))

    async def _loop(self) -> TurnEndReason:
        while self._iterations < self._limits.max_iterations:
            self._iterations += 1
            answer = await self._queries.send(self._request())
            self._usage = add_usages(self._usage, answer.usage)
            self._transcript.add_answer(answer.message)
            for call in answer.message.tool_calls:
                self._transcript.add_result(call.call_id, await self._calls.execute_call(call))
            if not answer.message.tool_calls:
                if answer.reason == "length":
                    self._record_error("cut", _ANSWER_CUT)
                    raise ModelError("cut", _ANSWER_CUT)
                return "done"
        return "max_iterations"

    def _request(self) -> ModelRequest:
        agent = self._agent
        return ModelRequest(
            model=agent.model,
            messages=tuple(self._transcript.messages),
            tools=agent._tools.specs(),
            system=self._system,
            max_tokens=self._limits.max_answer_tokens,
            temperature=agent._temperature,
            tool_choice=self._tool_choice(),
        )

    def _tool_choice(self) -> str | None:
        """Which tools the next answer may call: one that has to be called is called once a prompt."""
        choice = self._agent._tool_choice
        is_forced = choice not in (None, "auto", "none")
        return "auto" if is_forced and self._iterations > 1 else choice

    def _close_calls(self) -> None:
        """Give the calls that an end left open a result, so that every model takes the conversation."""
        result = _UNCERTAIN  # the first was under way
        for call_id in self._transcript.open_calls:
            self._transcript.add_result(call_id, result)
            result = _NOT_EXECUTED
