"""The parts that a coding session is opened with: workspace, log, sandbox report, agent."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from ..errors import SessionError
from ..llm_wire.conversation import ChatMessage
from ..llm_wire.events import TraceEvent
from ..protocol.coding import SandboxReport
from .confinement import Confinement
from .folders import Folders
from .log_reader import load_messages
from .options import Limits, Options, limited, tools_of
from .orchestrator import AgentOrchestrator
from .outputs import OutputStore
from .policy import DefaultPolicyEngine, RuleBook, chosen_policy
from .policy.denied import FileDenials
from .session_log import SessionLog, SessionStart
from .snapshots import Snapshots
from .transcript import Listener, Transcript
from .workspace import LocalWorkspace

if TYPE_CHECKING:
    from ..models.base import ModelProvider


def open_workspace(folder: str, rules: RuleBook) -> LocalWorkspace:
    """Open a session's workspace, whose denied files no tool reads or changes.

    Args:
        folder: The workspace.
        rules: The rules that deny.

    Raises:
        SessionError: The workspace is no folder, or can't be read.
    """
    try:
        return LocalWorkspace(folder, FileDenials(rules, Path(folder)))
    except OSError as error:
        raise SessionError(f"The workspace {folder} can't be used: {error.strerror}.") from None


async def begin_log(
    log: SessionLog, start: SessionStart, listeners: tuple[Listener, ...], warnings: list[str]
) -> list[ChatMessage]:
    """Load the conversation of a log, log that the session starts, and send warnings.

    Args:
        log: The session's log.
        start: What the session is started with.
        listeners: Who hears the warnings.
        warnings: What a person should know of the settings; the log's own are added.

    Raises:
        SessionError: The log can't be read or written.
    """
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


def send_sandbox(log: SessionLog, report: SandboxReport, listeners: tuple[Listener, ...]) -> None:
    """Log which sandbox a session has, and tell the listeners."""
    told = msgspec.json.decode(msgspec.json.encode(report))  # as the log has it
    Transcript((), log, listeners).tell(TraceEvent("sandbox", told))


def make_agent(
    start: SessionStart,
    folders: Folders,
    workspace: LocalWorkspace,
    provider: ModelProvider,
    log: SessionLog,
    options: Options,
    rules: RuleBook,
    snapshots: Snapshots,
    confinement: Confinement,
) -> AgentOrchestrator:
    """Make a session's agent, with the policy that its options choose.

    Args:
        start: What the session is started with.
        folders: The session's files.
        workspace: The folder that the agent works in.
        provider: Who serves the model.
        log: The session's log.
        options: The session's options.
        rules: What people allowed and denied for good.
        snapshots: Stores the workspace before each change.
        confinement: What holds commands.

    Raises:
        RulesError: The chosen policy can't be used.
    """

    def remember(tool: str, args: Any) -> None:
        rules.always(tool, args, workspace)

    default = DefaultPolicyEngine(
        rules,
        workspace,
        auto_approve=options.get("auto_approve") or False,
        mode=confinement.mode,
        is_confined=confinement.is_confined,
        grants=confinement.grants,
        saved=snapshots,
        sends_signals=confinement.sends_signals,
    )
    return AgentOrchestrator(
        provider,
        start.model,
        workspace,
        tools_of(options),
        chosen_policy(options.get("policy"), default),
        approver=options.get("approver"),
        session_log=log,
        listeners=listeners_of(options),
        limits=limited(options.get("limits") or Limits(), options),
        temperature=options.get("temperature"),
        tool_choice=options.get("tool_choice"),
        outputs=OutputStore(folders.outputs(start.session_id)),
        remember=remember,
        snapshots=snapshots,
        confinement=confinement,
    )


def listeners_of(options: Options) -> tuple[Listener, ...]:
    """Who hears a session's events."""
    listener = options.get("listener")
    return () if listener is None else (listener,)
