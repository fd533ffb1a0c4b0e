"""A session of the coding agent: model, workspace, policy, log and debugger under one roof."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypedDict, Unpack

from msgspec.structs import replace

from ..errors import SessionError
from ..llm_wire.conversation import ChatMessage
from ..llm_wire.events import TraceEvent
from ..models import registry
from ..sdk.flow import new_id
from .approvals import Approver
from .calls import Tools
from .debugging import NoDebuggerError, end_stopped, join_run, open_run, run_name
from .entries import Mode, SessionEnd, SessionStart
from .folders import Folders
from .limits import Limits
from .log_reader import load_messages
from .orchestrator import AgentOrchestrator, RunResult
from .outputs import OutputStore
from .policy import DefaultPolicyEngine, PolicyEngine, RuleBook, chosen_policy
from .policy.named import Factory
from .session_log import SessionLog
from .tools import default_tools
from .transcript import Listener, Transcript
from .workspace import LocalWorkspace

if TYPE_CHECKING:
    from ..models.base import ModelProvider
    from ..sdk.aclient import AsyncAgentStepper


class Options(TypedDict, total=False):
    """What `CodingSession.create` and `resume` take beside what they need."""

    auto_approve: bool  # approve whatever would be asked; what is denied stays denied
    max_iterations: int | None  # questions to the model that one prompt may take; `limits` has more
    approver: Approver | None  # somebody to ask, besides the debugger's view
    approval_timeout: float | None  # seconds that a person has to answer; None is without end
    debugger: bool  # whether to look for one
    step: bool  # whether its run begins stepping
    listener: Listener | None  # called with each event as it happens
    limits: Limits
    tools: Tools  # in place of `default_tools`
    shell: bool  # whether commands may ask for a shell, of `default_tools`
    policy: PolicyEngine | Factory | str | None  # see `chosen_policy`; None: the default one


class CodingSession:
    """A conversation about a workspace. Made by `create` or `resume`; used on one event loop.

    ::

        session = await CodingSession.create(
            workspace=Path("repo"),
            provider="openai",
            model="gpt-5-mini",
            data_dir=data_dir(),
            mode="run",
        )
        async with session:
            result = await session.run("Fix the failing test.")

    Attributes:
        id: Its id, by which it is resumed.
        run_id: The id of its run in the debugger; None where there is none.
        run_name: What the debugger calls that run.
        no_debugger: Why there is no debugger, where one was looked for.
    """

    def __init__(
        self,
        id: str,
        agent: AgentOrchestrator,
        log: SessionLog,
        provider: ModelProvider,
        messages: list[ChatMessage],
        options: Options,
        workspace: Path,
    ) -> None:
        self.id = id
        self.run_id: str | None = None
        self.run_name: str | None = None
        self.no_debugger: str | None = None
        self._agent = agent
        self._log = log
        self._provider = provider
        self._messages = tuple(messages)
        self._options = options
        self._workspace = workspace
        self._turn = asyncio.Lock()
        self._closed = False
        self._joined = False  # the debugger's run is somebody else's
        self._stopped = False  # in the debugger

    # ---- opening ------------------------------------------------------------------------------------

    @classmethod
    async def create(
        cls,
        *,
        workspace: Path,
        provider: str | ModelProvider,
        model: str,
        data_dir: Path,
        mode: Mode,
        session_id: str | None = None,
        **options: Unpack[Options],
    ) -> CodingSession:
        """Begin a session.

        Args:
            workspace: The folder that the agent works in, and may not leave.
            provider: Who serves the model: a name as `--provider` has it, or a provider.
            model: The model's name there.
            data_dir: The folder that keeps logs and rules, outside of the workspace.
            mode: Where it is used, for the log.
            session_id: Its id; a new one where none is given.
            options: See `Options`.

        Raises:
            SessionError: The workspace is no folder, or the log can't be opened or is there already.
            ModelError: There is no such provider, or it can't be used here.
        """
        id = session_id or new_id()
        path = Folders(data_dir).log(id)
        if path.exists():
            raise SessionError(f"There is a session {id} already: resume it.")
        start = SessionStart(
            session_id=id,
            mode=mode,
            resumed=False,
            provider=provider if isinstance(provider, str) else provider.name,
            model=model,
            workspace=_resolved(workspace),
        )
        return await cls._open(start, data_dir, provider, options)

    @classmethod
    async def resume(
        cls,
        id: str,
        *,
        data_dir: Path,
        mode: Mode,
        workspace: Path | None = None,
        provider: str | ModelProvider | None = None,
        model: str | None = None,
        **options: Unpack[Options],
    ) -> CodingSession:
        """Go on with a session, from its log.

        Args:
            id: Its id.
            data_dir: The folder that keeps its log.
            mode: Where it is used now.
            workspace: Its folder, where that was moved.
            provider: Who serves the model now; who did before where none is given.
            model: The model now; likewise.
            options: See `Options`.

        Raises:
            SessionError: There is no such session, or another process has it open.
            ModelError: As for `create`.
        """
        kept = Folders(data_dir).summary(id)
        chosen = provider or kept.provider
        start = SessionStart(
            session_id=id,
            mode=mode,
            resumed=True,
            provider=chosen if isinstance(chosen, str) else chosen.name,
            model=model or kept.model,
            workspace=kept.workspace if workspace is None else _resolved(workspace),
        )
        return await cls._open(start, data_dir, chosen, options)

    @classmethod
    async def _open(
        cls,
        start: SessionStart,
        data_dir: Path,
        provider: str | ModelProvider,
        options: Options,
    ) -> CodingSession:
        workspace = _workspace(start.workspace)
        serves = registry.create(provider, start.model) if isinstance(provider, str) else provider
        log = SessionLog(Folders(data_dir).log(start.session_id))
        try:
            messages = await _begin(log, start, _listeners(options))
            agent = _agent(start, data_dir, workspace, serves, log, options)
            session = cls(start.session_id, agent, log, serves, messages, options, workspace.root)
            if options.get("debugger", True):
                await session._open_debugger()
        except BaseException:
            log.close()
            raise
        return session

    # ---- answering ----------------------------------------------------------------------------------

    @property
    def messages(self) -> tuple[ChatMessage, ...]:
        """The conversation so far, also while it grows."""
        return self._agent.messages if self._agent.running else self._messages

    @property
    def running(self) -> bool:
        """Whether a prompt is being answered."""
        return self._turn.locked()

    async def run(self, prompt: str) -> RunResult:
        """Answer a prompt; see `AgentOrchestrator.run`.

        Args:
            prompt: What a person asks for.

        Raises:
            SessionError: The session is closed, or answers another prompt.
        """
        if self._turn.locked():
            raise SessionError("This session is answering already: wait for it, or cancel it.")
        async with self._turn:
            if self._closed:
                raise SessionError("This session is closed: resume it.")
            if self._stopped:
                self._stopped = False
                await self._open_debugger()
            try:
                result = await self._agent.run(prompt, self._messages)
            finally:
                self._messages = self._agent.messages
                self._await_message()
            if result.stopped:
                await self._end_stopped()
            return result

    async def cancel(self) -> None:
        """End the answer that is being given, if there is one; returns once it has ended."""
        self._agent.cancel()
        async with self._turn:
            pass

    async def close(self) -> None:
        """Cancel what is being answered, and close log, debugger's run and connections. Idempotent."""
        if self._closed:
            return
        self._closed = True
        await self.cancel()
        try:
            try:
                await self._provider.close()
            finally:  # whatever a provider of somebody's own does
                if self._agent.dbg is not None:
                    await self._agent.dbg.close()
        finally:
            with suppress(OSError):  # nobody reads it but people
                self._log.append(SessionEnd(reason="closed"))
            self._log.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.close()

    # ---- the debugger -------------------------------------------------------------------------------

    async def take_part(self, dbg: AsyncAgentStepper | None) -> None:
        """Be in somebody else's run, and no longer in the one before; what was said stays.

        Args:
            dbg: Whose run it is; None: the next prompts are in none.
        """
        async with self._turn:
            left, self._agent.dbg, self.run_id, self.run_name = self._agent.dbg, None, None, None
            self._stopped = False
            if left is not None:
                await left.close()
            if dbg is not None:
                await self._open_debugger(dbg)

    async def _open_debugger(self, theirs: AsyncAgentStepper | None = None) -> None:
        name, step = f"code {self._workspace.name}", self._options.get("step", False)
        try:
            if theirs is not None:
                dbg = await join_run(theirs, name, self._workspace)
            else:
                dbg = await open_run(name, self._workspace, step=step)
        except NoDebuggerError as error:
            self.no_debugger = str(error)
            return
        self._agent.dbg, self._joined = dbg, theirs is not None
        self.run_id = dbg.run_id
        self.run_name = await run_name(dbg)
        self._await_message()

    def _await_message(self) -> None:
        """Tell the debugger that nothing runs between prompts; whose run is another's says so itself."""
        if self._agent.dbg is not None and not self._joined:
            self._agent.dbg._live().link.await_message()

    async def _end_stopped(self) -> None:
        """Stop ends the debugger's run, not the session: the next prompt has a new one."""
        dbg, self._agent.dbg, self.run_id, self.run_name = self._agent.dbg, None, None, None
        self._stopped = True
        if dbg is not None:
            await end_stopped(dbg)


def _resolved(folder: Path) -> str:
    return str(folder.resolve())


def _workspace(folder: str) -> LocalWorkspace:
    try:
        return LocalWorkspace(folder)
    except OSError as error:
        raise SessionError(f"The workspace {folder} can't be used: {error.strerror}.") from None


async def _begin(
    log: SessionLog, start: SessionStart, listeners: tuple[Listener, ...]
) -> list[ChatMessage]:
    """Read what the log has, and write that the session begins again."""
    warnings: list[str] = []
    try:
        # Of a long session it takes a while, and others may share the loop.
        messages = await asyncio.to_thread(load_messages, log.path, warnings.append)
        log.append(start)
    except OSError as error:
        raise SessionError(f"The session's log {log.path} can't be used: {error}.") from None
    transcript = Transcript((), log, listeners)
    for text in warnings:
        transcript.tell(TraceEvent("warning", {"message": text}))
    return messages


def _agent(
    start: SessionStart,
    data_dir: Path,
    workspace: LocalWorkspace,
    provider: ModelProvider,
    log: SessionLog,
    options: Options,
) -> AgentOrchestrator:
    folders = Folders(data_dir)
    rules = RuleBook(folders.rules)

    def remember(tool: str, args: Any) -> None:
        rules.always(tool, args, workspace)

    yes = options.get("auto_approve", False)
    default = DefaultPolicyEngine(rules, workspace, auto_approve=yes)
    return AgentOrchestrator(
        provider,
        start.model,
        workspace,
        options.get("tools") or default_tools(shell=options.get("shell", False)),
        chosen_policy(options.get("policy"), default),
        approver=options.get("approver"),
        session_log=log,
        listeners=_listeners(options),
        limits=_limits(options),
        outputs=OutputStore(folders.outputs(start.session_id)),
        remember=remember,
    )


def _listeners(options: Options) -> tuple[Listener, ...]:
    listener = options.get("listener")
    return () if listener is None else (listener,)


def _limits(options: Options) -> Limits:
    limits = options.get("limits") or Limits()
    iterations, patience = options.get("max_iterations"), options.get("approval_timeout")
    return replace(
        limits,
        iterations=limits.iterations if iterations is None else iterations,
        approval_time=limits.approval_time if patience is None else patience,
    )
