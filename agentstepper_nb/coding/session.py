"""`CodingSession`: one conversation with the coding agent, with its log, policy and run."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Self, Unpack

import msgspec

from ..errors import CodingSessionError
from ..llm_wire.conversation import ChatMessage
from ..llm_wire.events import TraceEvent
from ..models import registry
from ..protocol.coding_api import SandboxReport
from ..sdk.run_events import make_id
from .options import CodingOptions, check_options, find_unsupported_settings
from .orchestrator import AgentOrchestrator, TurnResult
from .policy import PolicyRulesFile
from .session_list import CodingDataPaths
from .session_log import SessionEndEntry, SessionLog, SessionMode, SessionStartEntry
from .session_sandbox import SessionSandbox, format_report, parse_sandbox_settings
from .session_setup import (
    NoDebuggerError,
    begin_log,
    collect_listeners,
    end_stopped_run,
    find_run_name,
    join_run,
    make_agent,
    open_run,
    open_workspace,
)
from .snapshots import Snapshots
from .transcript import Transcript

if TYPE_CHECKING:
    from ..models.provider import ModelProvider
    from ..sdk.async_stepper import AsyncAgentStepper

__all__ = ["CodingOptions", "CodingSession"]


class CodingSession:
    """A conversation with the coding agent about a workspace. Used on one event loop.

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

    Made by `create` or `resume`.

    Attributes:
        id: The session's id, by which it is resumed.
        run_id: The id of the session's run in the debugger; None: no run.
        run_name: The name of that run.
        sandbox: The sandbox of the session's commands.
        no_debugger: Why no debugger records the session, if one was looked for.
    """

    def __init__(
        self,
        id: str,
        agent: AgentOrchestrator,
        log: SessionLog,
        provider: ModelProvider,
        messages: list[ChatMessage],
        options: CodingOptions,
        workspace: Path,
        snapshots: Snapshots,
        session_sandbox: SessionSandbox,
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
        self._snapshots = snapshots
        self._session_sandbox = session_sandbox
        self._lock = asyncio.Lock()
        self._is_closed = False
        self._is_cancelled = False  # the answer, before the agent began it
        self._is_joined = False  # the debugger's run is somebody else's
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
        mode: SessionMode,
        session_id: str | None = None,
        **options: Unpack[CodingOptions],
    ) -> CodingSession:
        """Begin a session.

        Args:
            workspace: The folder that the agent works in and may not leave.
            provider: The model's provider: a name as `--provider` takes it, or a provider object.
            model: The name by which the provider serves the model.
            data_dir: The folder that stores logs and rules; it must be outside of the workspace.
            mode: Where the session is used; stored in the log.
            session_id: The session's id; None: a new id.
            options: See `CodingOptions`.

        Raises:
            CodingSessionError: The workspace is no folder, the log can't be opened or exists
                already, or a setting is out of its bounds.
            ModelError: The provider doesn't exist, or can't be used here.
        """
        id = session_id or make_id()
        path = CodingDataPaths(data_dir).log(id)
        if path.exists():
            raise CodingSessionError(f"The session {id} already exists: resume it.")
        start = SessionStartEntry(
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
        mode: SessionMode,
        workspace: Path | None = None,
        provider: str | ModelProvider | None = None,
        model: str | None = None,
        **options: Unpack[CodingOptions],
    ) -> CodingSession:
        """Resume a session from its log.

        Args:
            id: The session's id.
            data_dir: The folder that stores the session's log.
            mode: Where the session is used now.
            workspace: The session's folder, if it was moved.
            provider: The model's provider from now on; None: as before.
            model: The model from now on; None: as before.
            options: See `CodingOptions`.

        Raises:
            CodingSessionError: The session doesn't exist, or another process has it open.
            ModelError: As for `create`.
        """
        summary = CodingDataPaths(data_dir).summary(id)
        chosen = provider or summary.provider
        start = SessionStartEntry(
            session_id=id,
            mode=mode,
            resumed=True,
            provider=chosen if isinstance(chosen, str) else chosen.name,
            model=model or summary.model,
            workspace=summary.workspace if workspace is None else _resolved(workspace),
        )
        return await cls._open(start, data_dir, chosen, options)

    @classmethod
    async def open(
        cls,
        id: str,
        *,
        workspace: Path,
        provider: str | ModelProvider,
        model: str,
        data_dir: Path,
        mode: SessionMode,
        **options: Unpack[CodingOptions],
    ) -> CodingSession:
        """Resume a session, or begin it if it doesn't exist; arguments and errors as `create`."""
        is_known = CodingDataPaths(data_dir).log(id).exists()
        begin = partial(cls.resume, id) if is_known else partial(cls.create, session_id=id)
        return await begin(
            workspace=workspace,
            provider=provider,
            model=model,
            data_dir=data_dir,
            mode=mode,
            **options,
        )

    @classmethod
    async def _open(
        cls,
        start: SessionStartEntry,
        data_dir: Path,
        provider: str | ModelProvider,
        options: CodingOptions,
    ) -> CodingSession:
        check_options(options)
        folders = CodingDataPaths(data_dir)
        rules = PolicyRulesFile(folders.rules)
        workspace = open_workspace(start.workspace, rules)
        async with AsyncExitStack() as stack:  # closes what is open if the rest can't be opened
            if isinstance(provider, str):
                provider = registry.create_provider(provider, start.model)
                stack.push_async_callback(provider.close)
            log = stack.enter_context(SessionLog(folders.log(start.session_id)))
            transcript = Transcript((), log, collect_listeners(options))
            warnings = find_unsupported_settings(provider, options)
            messages = await begin_log(log, start, transcript, warnings)
            settings, root = parse_sandbox_settings(options), workspace.root
            session_sandbox = await asyncio.to_thread(
                SessionSandbox.open, settings, root, data_dir, start.session_id, rules
            )
            stack.callback(session_sandbox.close)
            snapshots = Snapshots(workspace.root, data_dir)
            agent = make_agent(
                start, folders, workspace, provider, log, options, rules, snapshots, session_sandbox
            )
            session = cls(
                start.session_id,
                agent,
                log,
                provider,
                messages,
                options,
                workspace.root,
                snapshots,
                session_sandbox,
            )
            stack.push_async_callback(session._close_run)
            report = msgspec.json.decode(msgspec.json.encode(session.sandbox))  # as the log has it
            transcript.record_event(TraceEvent("sandbox", report))
            if options.get("debugger", True):
                await session._open_debugger()
            stack.pop_all()
        return session

    # ---- answering ----------------------------------------------------------------------------------

    @property
    def messages(self) -> tuple[ChatMessage, ...]:
        """The conversation so far; it grows during an answer."""
        return self._agent.messages if self._agent.running else self._messages

    @property
    def sandbox(self) -> SandboxReport:
        """The sandbox of the session's commands."""
        return self._session_sandbox.report()

    @property
    def snapshots_dir(self) -> Path:
        """The git repository that stores the workspace's state before each change."""
        return self._snapshots.git_dir

    @property
    def running(self) -> bool:
        """Whether a prompt is being answered."""
        return self._lock.locked()

    async def run(self, prompt: str) -> TurnResult:
        """Answer a prompt; see `AgentOrchestrator.run`.

        Args:
            prompt: The person's request.

        Raises:
            CodingSessionError: The session is closed, or answers another prompt.
        """
        if self._lock.locked():
            raise CodingSessionError(
                "This session is already answering: wait for the answer, or cancel it."
            )
        async with self._lock:
            if self._is_closed:
                raise CodingSessionError("This session is closed: resume it.")
            self._is_cancelled = False
            if self._stopped:
                self._stopped = False
                await self._open_debugger()
            if self._is_cancelled:
                return TurnResult(
                    reason="cancelled", messages=self._messages, usage=None, iterations=0
                )
            try:
                result = await self._agent.run(prompt, self._messages)
            finally:
                self._messages = self._agent.messages
                self._await_message()
            if result.is_stopped:
                await self._end_stopped()
            return result

    async def cancel(self) -> None:
        """Cancel the answer in progress, if there is one; returns once the answer has ended."""
        self._is_cancelled = True
        self._agent.cancel()
        async with self._lock:
            pass

    async def close(self) -> None:
        """Cancel the answer, and close the log, the run and the connections. Idempotent."""
        if self._is_closed:
            return
        self._is_closed = True
        async with AsyncExitStack() as stack:  # also if cancelled; the last one is closed first
            stack.callback(self._close_log)
            stack.push_async_callback(asyncio.to_thread, self._session_sandbox.close)
            stack.push_async_callback(asyncio.to_thread, self._snapshots.close)
            stack.push_async_callback(self._close_run)
            stack.push_async_callback(self._provider.close)
            await self.cancel()

    def _close_log(self) -> None:
        with self._log, suppress(OSError):  # the entry is for people alone
            self._log.append(SessionEndEntry(reason="closed"))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.close()

    # ---- the debugger -------------------------------------------------------------------------------

    async def attach_to_run(self, dbg: AsyncAgentStepper | None) -> None:
        """Record the next prompts in another run; the conversation so far stays.

        Args:
            dbg: The AsyncAgentStepper of the run; None: the next prompts are recorded in no run.
        """
        async with self._lock:
            self._stopped = False
            previous_stepper = self._leave_run()
            if previous_stepper is not None:
                await previous_stepper.close()
            if dbg is not None:
                await self._open_debugger(dbg)

    async def _open_debugger(self, joined_stepper: AsyncAgentStepper | None = None) -> None:
        name, step = f"code {self._workspace.name}", self._options.get("step", False)
        try:
            if joined_stepper is not None:
                dbg = await join_run(joined_stepper, name, self._workspace)
            else:
                dbg = await open_run(name, self._workspace, step=step, notice=self.sandbox.warning)
        except NoDebuggerError as error:
            self.no_debugger = str(error)
            return
        self._agent.dbg, self._is_joined = dbg, joined_stepper is not None
        self._snapshots.use_debugger_workspace(dbg._find_watched_workspace(self._workspace))
        self.run_id = dbg.run_id
        self.run_name = await find_run_name(dbg)
        await dbg.post_debug_message("\n".join(format_report(self.sandbox)))
        self._await_message()

    def _await_message(self) -> None:
        """Tell the debugger that nothing runs between prompts; whose run is another's says so itself."""
        if self._agent.dbg is not None and not self._is_joined:
            self._agent.dbg._current_session().link.await_message()

    async def _close_run(self) -> None:
        if self._agent.dbg is not None:
            await self._agent.dbg.close()

    async def _end_stopped(self) -> None:
        """Stop ends the debugger's run, not the session: the next prompt has a new one."""
        self._stopped = True
        dbg = self._leave_run()
        if dbg is not None:
            await end_stopped_run(dbg)

    def _leave_run(self) -> AsyncAgentStepper | None:
        """Be in no run any more; returns the stepper of the run before, which is to be closed."""
        dbg, self._agent.dbg, self.run_id, self.run_name = self._agent.dbg, None, None, None
        self._snapshots.use_debugger_workspace(None)
        return dbg


def _resolved(folder: Path) -> str:
    return str(folder.resolve())
