"""The default policy: what is denied, what is asked, and what passes; and policies of other packages."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, Literal, Protocol, cast

from msgspec import Struct
from msgspec.structs import replace

from ...entry_point_loader import EntryPointLoader
from ...errors import CommandError, PolicyRulesError
from ..sandbox import AccessGrant, SandboxMode, SessionGrants
from ..tool import Risk, Tool
from ..workspace import LocalWorkspace
from .approval_reasons import ApprovalReason, PolicyContext, find_approval_reasons
from .command_model import RISKS, CommandReport
from .dangerous_commands import analyze_command
from .denied_files import FileDenials
from .policy_rules_file import PolicyRulesFile
from .rules import (
    RUN_COMMAND,
    PolicyRule,
    allows,
    denies,
    find_command_text,
    find_paths,
    is_git_path,
)
from .unrecoverable_files import CommittedFiles, RecoverableFiles


class PolicyDecision(StrEnum):
    """Whether a call may be carried out."""

    ALLOWED = "allowed"
    REQUIRES_APPROVAL = "requires_approval"
    DENIED = "denied"


class PolicyEvaluation(Struct, frozen=True, kw_only=True):
    """A decision and what led to it.

    Args:
        decision: Whether the call may be carried out.
        reason: The rule that decided: for a person, and for the model where the call is denied.
        risk: How much harm the call may do.
        rule: What "always" would allow, in words; None: nothing.
        grant: What "always" adds to the session's grants; None: it writes a rule to the rule book.
        decided_by: What decided in a person's place: a rule of the book, or `--yes`; None: neither.
    """

    decision: PolicyDecision
    reason: str = ""
    risk: Risk = Risk.LOW
    rule: str | None = None
    grant: AccessGrant | None = None
    decided_by: Literal["rule", "auto_approve"] | None = None


class PolicyEngine(Protocol):
    """Judges calls."""

    async def evaluate(self, tool: Tool, args_json: str) -> PolicyDecision | PolicyEvaluation:
        """Judge one call.

        Args:
            tool: The tool.
            args_json: Its arguments as JSON; they may be malformed.
        """


#: The entry points of installed policies; each names a `PolicyFactory`.
ENTRY_POINT_GROUP: Final = "agentstepper_nb.policies"

#: Makes a policy: given the default one, to ask in whatever it leaves open.
PolicyFactory = Callable[[PolicyEngine], PolicyEngine]


def load_policy(
    choice: PolicyEngine | PolicyFactory | str | None, default: PolicyEngine
) -> PolicyEngine:
    """The policy that somebody chose.

    Args:
        choice: A policy, what makes one, or the name of an installed one; None: the default.
        default: The default policy, on which it may build.

    Raises:
        PolicyRulesError: None of that name is installed, or it can't be made.
    """
    if choice is None:
        return default
    if isinstance(choice, str):
        return _installed(choice)(default)
    # A class that has `evaluate` is what makes a policy, its instances are policies.
    if isinstance(choice, type) or not hasattr(choice, "evaluate"):
        return cast(PolicyFactory, choice)(default)
    return cast(PolicyEngine, choice)


def _installed(name: str) -> PolicyFactory:
    try:
        return EntryPointLoader[PolicyFactory](ENTRY_POINT_GROUP, "policy").find(name)
    except CommandError as error:
        raise PolicyRulesError(str(error)) from error.__cause__


class DefaultPolicyEngine:
    """Judges calls: what is denied comes first, then what asks; the rest is allowed.

    1. Denied is a call that a rule of the book denies, a path that the workspace refuses, a change in
       `.git`, and in `read-only` each change.
    2. Allowed is what a rule of the book allows.
    3. A person is asked about a tool that requires approval or is of high risk, a command of the
       dangerous list, a way out of the sandbox, and changes that lose work which nothing holds.
       Without any sandbox each command asks that does more than read; see `approval_reasons`.
    4. The rest is allowed.

    Args:
        rules: The book of rules; None: there are none.
        workspace: The folder that is worked in; None: no path is looked at, and no rule holds that names
            a folder.
        auto_approve: Allow what would ask inside of the sandbox, and deny what would leave it. Without
            any sandbox, allow all that would ask. What is denied stays denied.
        mode: What commands and tools may do without asking.
        is_confined: Whether a sandbox holds the commands.
        grants: What a person has granted the session; it may grow while the session lasts.
        recoverable_files: Which files a snapshot holds; None: those alone that git has committed as
            they are.
        can_send_signals: Whether the sandbox lets commands signal processes outside of it.
    """

    def __init__(
        self,
        rules: PolicyRulesFile | None = None,
        workspace: LocalWorkspace | None = None,
        *,
        auto_approve: bool = False,
        mode: SandboxMode = SandboxMode.WORKSPACE_WRITE,
        is_confined: bool = True,
        grants: SessionGrants | None = None,
        recoverable_files: RecoverableFiles | None = None,
        can_send_signals: bool = False,
    ) -> None:
        self.rules = rules
        self.workspace = workspace
        self.auto_approve = auto_approve
        if recoverable_files is None and workspace is not None:
            recoverable_files = CommittedFiles(workspace.root)
        self._files = None
        if rules is not None and workspace is not None:
            self._files = FileDenials(rules, workspace.root)
        self._session = PolicyContext(
            workspace=workspace,
            mode=SandboxMode(mode),
            is_confined=is_confined,
            grants=SessionGrants() if grants is None else grants,
            recoverable_files=recoverable_files,
            can_send_signals=can_send_signals,
        )

    async def evaluate(self, tool: Tool, args_json: str) -> PolicyEvaluation:
        """Judge one call.

        Args:
            tool: The tool.
            args_json: Its arguments as JSON. What is no JSON is denied: nobody could say what it does.
        """
        try:
            args = json.loads(args_json)
        except (ValueError, RecursionError) as error:
            return _denied(tool, f"The arguments are not JSON ({error}).")
        # Files are read and commands parsed: not on the loop that serves everybody.
        return await asyncio.to_thread(self._evaluate, tool, args)

    def _evaluate(self, tool: Tool, args: Any) -> PolicyEvaluation:
        refusal = self._find_path_refusal(tool, args) or self._denied_by_mode(tool, args)
        if refusal:
            return _denied(tool, refusal)
        try:
            rules = self._read_rules()
            about_file = self._rule_of_file(tool, args)
        except PolicyRulesError as error:
            # --yes doesn't help here: nobody knows what the book denies.
            return _make_question(
                tool, [ApprovalReason(description=str(error), risk=tool.policy.risk)]
            )
        report = _report(tool, args)
        calls = report.calls if report else ()
        denied = about_file or next((r for r in rules if denies(r, tool.name, args, calls)), None)
        if denied:
            return replace(_denied(tool, f"A rule says: {denied}."), decided_by="rule")
        for rule in rules:
            if allows(rule, tool.name, args):
                return replace(_allowed(tool, f"A rule says: {rule}."), decided_by="rule")
        questions = find_approval_reasons(self._session, tool, args, report)
        questions += _find_possible_denials(tool, args, report, rules)
        if not questions:
            return _allowed(tool, self._find_allow_reason(tool))
        return (
            self._evaluate_unattended(tool, questions)
            if self.auto_approve
            else _make_question(tool, questions)
        )

    def _read_rules(self) -> list[PolicyRule]:
        if self.rules is None:
            return []
        if self.workspace is None:
            return [rule for rule in self.rules.rules() if rule.workspace is None]
        return self.rules.rules(self.workspace.root)

    def _find_path_refusal(self, tool: Tool, args: Any) -> str | None:
        """Why the workspace refuses a call; None where it doesn't."""
        if self.workspace is None:
            return None
        changes = tool.name != RUN_COMMAND and not tool.policy.read_only
        for path in find_paths(args):
            real = self.workspace.resolve_path(path)
            if real is None:
                return f"The path {path!r} lies outside of the workspace, or isn't safe to use."
            named = (Path(path), real.relative_to(self.workspace.root))
            if changes and any(map(is_git_path, named)):
                return (
                    f"The path {path!r} lies in `.git`, where no tool may write, because "
                    "git runs programs from there. Commit with `git_commit`; only the "
                    "person changes git's hooks and settings."
                )
        return None

    def _rule_of_file(self, tool: Tool, args: Any) -> PolicyRule | None:
        """The rule that denies a call because of a file that it names."""
        if self._files is None or self.workspace is None:
            return None
        real = filter(None, map(self.workspace.resolve_path, find_paths(args)))
        return self._files.find_rule_for_call(tool.name, args, real)

    def _denied_by_mode(self, tool: Tool, args: Any) -> str | None:
        """Why the mode denies a call; None where it doesn't."""
        if self._session.mode is not SandboxMode.READ_ONLY or tool.policy.read_only:
            return None
        if tool.name != RUN_COMMAND:
            return f"`{tool.name}` changes files, but the session is read-only."
        if isinstance(args, dict) and args.get("writable"):
            return "The session is read-only, so that no folder can be writable."
        return None

    def _find_allow_reason(self, tool: Tool) -> str:
        if tool.policy.read_only:
            return f"`{tool.name}` only reads."
        if tool.name != RUN_COMMAND:
            return "The call stays inside the workspace."
        if self._session.mode is SandboxMode.DANGER_FULL_ACCESS:
            return "The session has full access."
        if self._session.is_confined:
            return "The command runs in the sandbox."
        return "The command only reads, or runs builds and tests that a person granted."

    def _evaluate_unattended(self, tool: Tool, questions: list[ApprovalReason]) -> PolicyEvaluation:
        """What `--yes` makes of questions."""
        for question in questions:
            if question.unattended_denial is not None:
                why = f"{question.description} {question.unattended_denial}"
                return replace(_denied(tool, why), decided_by="auto_approve")
        combined = _make_question(tool, questions)
        why = f"Approved by --yes, unseen by a person: {combined.reason}"
        return PolicyEvaluation(
            decision=PolicyDecision.ALLOWED,
            reason=why,
            risk=combined.risk,
            decided_by="auto_approve",
        )


def _report(tool: Tool, args: Any) -> CommandReport | None:
    """What the command would run; None where the tool runs none, or there is none."""
    command = find_command_text(args) if tool.name == RUN_COMMAND else None
    if command is None:
        return None  # of a missing command the tool will say so
    return analyze_command(command, shell=getattr(tool, "has_shell", True))


def _find_possible_denials(
    tool: Tool, args: Any, report: CommandReport | None, rules: list[PolicyRule]
) -> list[ApprovalReason]:
    """A question about a command that may run what a rule denies, where only running it would show."""
    for rule in rules if report else ():
        if report is None or rule.effect != "deny" or not rule.command:
            continue
        if report.is_unclear or denies(rule, tool.name, args, report.possible_calls):
            why = f"The command may be one that a rule denies: {rule}."
            return [
                ApprovalReason(
                    description=why,
                    risk=RISKS[-1],
                    unattended_denial="--yes never approves such a command.",
                )
            ]
    return []


def _make_question(tool: Tool, questions: list[ApprovalReason]) -> PolicyEvaluation:
    """Ask all questions about a call as one.

    "Always" is what the question grants where there is but one, else a rule about the whole call.
    """
    ranked = sorted(questions, key=lambda each: RISKS.index(each.risk), reverse=True)
    grant = ranked[0].grant if len(ranked) == 1 else None
    rules = [question.rule for question in ranked]
    return PolicyEvaluation(
        decision=PolicyDecision.REQUIRES_APPROVAL,
        reason=" ".join(question.description for question in ranked),
        risk=max(ranked[0].risk, tool.policy.risk, key=RISKS.index),
        rule=str(grant) if grant else rules[0] if all(rules) else None,
        grant=grant,
    )


def _allowed(tool: Tool, why: str) -> PolicyEvaluation:
    return PolicyEvaluation(decision=PolicyDecision.ALLOWED, reason=why, risk=tool.policy.risk)


def _denied(tool: Tool, why: str) -> PolicyEvaluation:
    return PolicyEvaluation(decision=PolicyDecision.DENIED, reason=why, risk=tool.policy.risk)
