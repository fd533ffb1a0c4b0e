"""The parts that a coding session is opened with: workspace, log, agent, the debugger's run."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import AgentStepperError, AgentStopped, CodingSessionError, WorkspaceError
from ..llm_wire.conversation import ChatMessage
from ..llm_wire.events import TraceEvent
from ..sdk.async_stepper import AsyncAgentStepper
from ..sdk.base_stepper import set_current_stepper
from ..sdk.drivers import run_in_thread
from .options import CodingLimits, CodingOptions, override_limits, select_tools
from .orchestrator import AgentOrchestrator
from .policy import DefaultPolicyEngine, PolicyRulesFile, load_policy
from .policy.denied_files import FileDenials
from .session_list import CodingDataPaths
from .session_log import SessionLog, SessionStartEntry
from .session_sandbox import SessionSandbox
from .snapshots import Snapshots
from .tool_results import OutputStore
from .transcript import Listener, Transcript, load_messages
from .workspace import LocalWorkspace

if TYPE_CHECKING:
    from ..models.provider import ModelProvider


def open_workspace(folder: str, rules: PolicyRulesFile) -> LocalWorkspace:
    """Open a session's workspace, whose denied files no tool reads or changes.

    Args:
        folder: The workspace.
        rules: The rules that deny.

    Raises:
        CodingSessionError: The workspace is no folder, or can't be read.
    """
    try:
        return LocalWorkspace(folder, FileDenials(rules, Path(folder)))
    except OSError as error:
        raise CodingSessionError(
            f"The workspace {folder} can't be used: {error.strerror}."
        ) from None


async def begin_log(
    log: SessionLog, start_entry: SessionStartEntry, transcript: Transcript, warnings: list[str]
) -> list[ChatMessage]:
    """Load the conversation of a log, log that the session starts, and send warnings.

    Args:
        log: The session's log.
        start_entry: What the session is started with.
        transcript: Logs and sends the warnings.
        warnings: What a person should know of the settings; the log's own are added.

    Raises:
        CodingSessionError: The log can't be read or written.
    """
    try:
        # Of a long session it takes a while, and others may share the loop.
        messages = await asyncio.to_thread(load_messages, log.path, warnings.append)
        log.append(start_entry)
    except OSError as error:
        raise CodingSessionError(f"The session's log {log.path} can't be used: {error}.") from None
    for text in warnings:
        transcript.record_event(TraceEvent("warning", {"message": text}))
    return messages


def make_agent(
    start_entry: SessionStartEntry,
    folders: CodingDataPaths,
    workspace: LocalWorkspace,
    provider: ModelProvider,
    log: SessionLog,
    options: CodingOptions,
    rules: PolicyRulesFile,
    snapshots: Snapshots,
    session_sandbox: SessionSandbox,
) -> AgentOrchestrator:
    """Make a session's agent, with the policy that its options choose.

    Args:
        start_entry: What the session is started with.
        folders: The session's files.
        workspace: The folder that the agent works in.
        provider: Who serves the model.
        log: The session's log.
        options: The session's options.
        rules: What people allowed and denied for good.
        snapshots: Stores the workspace before each change.
        session_sandbox: What holds commands.

    Raises:
        PolicyRulesError: The chosen policy can't be used.
    """

    def save_rule(tool: str, args: Any, has_shell: bool) -> None:
        rules.allow_similar(tool, args, workspace, has_shell=has_shell)

    default = DefaultPolicyEngine(
        rules,
        workspace,
        auto_approve=options.get("auto_approve") or False,
        mode=session_sandbox.mode,
        is_confined=session_sandbox.is_confined,
        grants=session_sandbox.grants,
        recoverable_files=snapshots,
        can_send_signals=session_sandbox.can_send_signals,
    )
    return AgentOrchestrator(
        provider,
        start_entry.model,
        workspace,
        select_tools(options),
        load_policy(options.get("policy"), default),
        approver=options.get("approver"),
        on_tool_start=options.get("on_tool_start"),
        session_log=log,
        listeners=collect_listeners(options),
        limits=override_limits(options.get("limits") or CodingLimits(), options),
        temperature=options.get("temperature"),
        tool_choice=options.get("tool_choice"),
        outputs=OutputStore(folders.outputs(start_entry.session_id)),
        save_rule=save_rule,
        snapshots=snapshots,
        session_sandbox=session_sandbox,
    )


def collect_listeners(options: CodingOptions) -> tuple[Listener, ...]:
    """Return the listeners of a session's events."""
    listener = options.get("listener")
    return () if listener is None else (listener,)


class NoDebuggerError(AgentStepperError):
    """There is none to be had; the text says why."""


async def open_run(
    name: str, workspace: Path | None, *, step: bool, notice: str = ""
) -> AsyncAgentStepper:
    """Open a run in the discovered debugger.

    Args:
        name: The agent's name in the debugger.
        workspace: The folder whose changes are recorded, if possible.
        step: Whether the run begins by stepping. False: only a breakpoint or an approval halts the run.
        notice: A warning about the whole run, for a person.

    Raises:
        NoDebuggerError: No debugger was found, or several were, or the debugger refused the run.
    """
    try:
        try:
            return await _connect(name, workspace, step, notice)
        except WorkspaceError:  # what can't be watched can be worked in
            return await _connect(name, None, step, notice)
    except (AgentStepperError, OSError) as error:
        raise NoDebuggerError(str(error)) from None


async def join_run(dbg: AsyncAgentStepper, name: str, workspace: Path) -> AsyncAgentStepper:
    """Join a run that another owner opened and will close. Errors as of `open_run`.

    Args:
        dbg: The owner's AgentStepper.
        name: The agent's name in the debugger.
        workspace: The folder. If the owner watches the folder, changes are recorded once.
    """
    with set_current_stepper(dbg):
        return await open_run(
            name, workspace if dbg._find_watched_workspace(workspace) is None else None, step=False
        )


async def find_run_name(dbg: AsyncAgentStepper) -> str | None:
    """Return a run's name in the debugger, such as `Run #3 of code`; None: the name is unknown."""
    timeline = await run_in_thread(dbg._timeline)
    return None if timeline is None else timeline.run.name


async def end_stopped_run(dbg: AsyncAgentStepper) -> None:
    """End a run in which Stop was pressed, and say that it ends by that."""
    await dbg.__aexit__(AgentStopped, AgentStopped("The person pressed Stop."), None)


async def _connect(name: str, workspace: Path | None, step: bool, notice: str) -> AsyncAgentStepper:
    return await AsyncAgentStepper.connect(
        name,
        agent_workspace_path=workspace,
        stop_on_entry=False,
        mode="step" if step else "continue",
        notice=notice,
    )
