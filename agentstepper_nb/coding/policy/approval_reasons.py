"""Finds the reasons why a tool call requires a person's approval."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from ..sandbox import AccessGrant, SandboxMode, SessionGrants
from ..tool import Risk, Tool
from ..workspace import LocalWorkspace
from .command_model import CommandReport, resolve_links, shorten_part
from .command_trust import TrustLevel, find_required_trust
from .denied_files import WRITING_TOOLS
from .rules import describe_rule, find_paths
from .unrecoverable_files import RecoverableFiles, find_affected_files, find_unrecoverable_file

#: Programs that send signals to other processes.
_SIGNAL_PROGRAMS: Final = frozenset({"kill", "pkill", "killall", "skill", "fuser"})


class PolicyContext(Struct, frozen=True, kw_only=True):
    """The policy's settings for all calls of a session. See `DefaultPolicyEngine`."""

    workspace: LocalWorkspace | None
    mode: SandboxMode
    is_confined: bool
    grants: SessionGrants
    recoverable_files: RecoverableFiles | None
    can_send_signals: bool

    @property
    def has_sandbox(self) -> bool:
        """Whether a sandbox is in force."""
        return self.is_confined and self.mode is not SandboxMode.DANGER_FULL_ACCESS


class ApprovalReason(Struct, frozen=True, kw_only=True):
    """One reason why a call requires approval.

    Args:
        description: The effect of the call, as a sentence.
        risk: The possible harm of this effect.
        rule: Description of the policy rule that would allow such calls; None: no rule is offered.
        grant: The access that would settle this reason for the rest of the session; None: none would.
        unattended_denial: Why `--yes` denies the call, and the remedy, as a sentence; None: `--yes`
            allows the call.
    """

    description: str
    risk: Risk
    rule: str | None = None
    grant: AccessGrant | None = None
    unattended_denial: str | None = None


def find_approval_reasons(
    session: PolicyContext, tool: Tool, args: Any, report: CommandReport | None
) -> list[ApprovalReason]:
    """Find the reasons why a call requires approval. No reasons: the call is allowed.

    Args:
        session: The settings for all calls of the session.
        tool: The tool.
        args: The call's decoded arguments.
        report: The analysis of the call's command; None: the call has no command.
    """
    found = list(_find_tool_reasons(tool, args))
    if report is not None:
        found += _find_command_reasons(session, args, report, describe_rule(tool.name, args))
    elif tool.name in WRITING_TOOLS:
        found += _find_writer_reasons(session, tool, args)
    return found


def _find_tool_reasons(tool: Tool, args: Any) -> Iterator[ApprovalReason]:
    rule = describe_rule(tool.name, args)
    if tool.policy.requires_approval:
        yield ApprovalReason(
            description=f"`{tool.name}` always asks.", risk=tool.policy.risk, rule=rule
        )
    elif tool.policy.risk is Risk.HIGH:
        yield ApprovalReason(
            description=f"`{tool.name}` can do much harm.", risk=Risk.HIGH, rule=rule
        )


def _find_writer_reasons(session: PolicyContext, tool: Tool, args: Any) -> Iterator[ApprovalReason]:
    if session.workspace is None or session.recoverable_files is None:
        return
    named = (session.workspace.resolve_path(path) for path in find_paths(args))
    if lost := find_unrecoverable_file(
        (path for path in named if path is not None), session.recoverable_files
    ):
        name = _name(lost, session.workspace)
        why = (
            f"`{tool.name}` changes `{name}`, of which neither a commit nor a snapshot has a copy."
        )
        yield ApprovalReason(description=why, risk=Risk.MEDIUM)


def _find_command_reasons(
    session: PolicyContext, args: Any, report: CommandReport, rule: str | None
) -> Iterator[ApprovalReason]:
    folder = _folder(session, args)
    worst = report.worst_finding
    if worst is not None:
        yield ApprovalReason(description=str(worst), risk=worst.risk, rule=rule)
    if session.has_sandbox:
        yield from _find_escape_reasons(session, args, rule)
        yield from _find_signal_reasons(session, report, rule)
    if session.workspace is None:
        return
    if session.mode is not SandboxMode.READ_ONLY and session.recoverable_files is not None:
        files = find_affected_files(report, folder, session.workspace.root)
        if lost := find_unrecoverable_file(files, session.recoverable_files):
            name = _name(lost, session.workspace)
            why = (
                f"The command changes `{name}`, of which neither a commit nor a snapshot has a "
                "copy."
            )
            yield ApprovalReason(description=why, risk=Risk.HIGH, rule=rule)
            return
    if worst is None and not session.is_confined:
        yield from _find_unconfined_reasons(session, report, folder, rule)


def _find_signal_reasons(
    session: PolicyContext, report: CommandReport, rule: str | None
) -> Iterator[ApprovalReason]:
    """Find a reason to ask about signals that the sandbox doesn't block."""
    for call in report.calls:
        if session.can_send_signals and call.name in _SIGNAL_PROGRAMS:
            why = (
                f"`{call.source_text}` may end processes outside of the sandbox, which doesn't block "
                "signals."
            )
            yield ApprovalReason(description=why, risk=Risk.HIGH, rule=rule)
            return


def _find_unconfined_reasons(
    session: PolicyContext, report: CommandReport, folder: Path, rule: str | None
) -> Iterator[ApprovalReason]:
    """Find a reason to ask about a command that no sandbox confines."""
    if session.workspace is None or session.mode is SandboxMode.DANGER_FULL_ACCESS:
        return
    trust, part = find_required_trust(report, folder, session.workspace)
    what = f"`{part}`" if part else "The command"
    if trust is TrustLevel.OTHER:
        why = f"There is no sandbox, and {what[:1].lower()}{what[1:]} does more than read."
        yield ApprovalReason(description=why, risk=Risk.HIGH, rule=rule)
    elif trust is TrustLevel.RUNS_PROJECT and not session.grants.project_code:
        why = f"There is no sandbox, and {what} runs the project's own code with all your rights."
        yield ApprovalReason(
            description=why, risk=Risk.HIGH, rule=rule, grant=AccessGrant(kind="project_code")
        )


# ---- the way out of the sandbox --------------------------------------------------------------------


def _find_escape_reasons(
    session: PolicyContext, args: Any, rule: str | None
) -> Iterator[ApprovalReason]:
    # Only what is surely false is no request: the tool may read `1` as true.
    if args.get("network", False) is not False and not session.grants.network:
        yield ApprovalReason(
            description="The command asks for the network.",
            risk=Risk.MEDIUM,
            rule=rule,
            grant=AccessGrant(kind="network"),
            unattended_denial="--yes never leaves the sandbox: "
            "start the session with --network to allow this.",
        )
    outside = _outside(session, args)
    if outside:
        named = ", ".join(f"`{shorten_part(str(folder))}`" for folder in outside)
        yield ApprovalReason(
            description=f"The command asks to change files outside of the workspace, in {named}.",
            risk=Risk.HIGH,
            rule=rule,
            grant=AccessGrant(kind="writable", folders=outside),
            unattended_denial="--yes never leaves the sandbox: start the session with "
            f"--writable {outside[0]} to allow this.",
        )


def _outside(session: PolicyContext, args: Any) -> tuple[Path, ...]:
    """Return the folders outside of the workspace that a call wants to write without a grant."""
    requested = args.get("writable")
    named = (
        [each for each in requested if isinstance(each, str)] if isinstance(requested, list) else []
    )
    base = session.workspace.root if session.workspace else Path("/")
    folders = (resolve_links(base / each) for each in named)
    return tuple(
        folder
        for folder in dict.fromkeys(folders)
        if not (session.grants.is_writable(folder) or _is_inside(folder, session.workspace))
    )


def _is_inside(folder: Path, workspace: LocalWorkspace | None) -> bool:
    return workspace is not None and folder.is_relative_to(workspace.root)


def _folder(session: PolicyContext, args: Any) -> Path:
    """Return the folder in which a command runs."""
    root = session.workspace.root if session.workspace else Path("/")
    folder = args.get("folder")
    return resolve_links(root / folder) if isinstance(folder, str) else root


def _name(path: Path, workspace: LocalWorkspace) -> str:
    return shorten_part(os.path.relpath(path, workspace.root))
