"""The default policy of tool calls, and the loader of policies from other packages."""

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
from ..tool import Risk, Tool, has_shell
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
    """A policy's decision about a tool call."""

    ALLOWED = "allowed"
    REQUIRES_APPROVAL = "requires_approval"
    DENIED = "denied"


class PolicyEvaluation(Struct, frozen=True, kw_only=True):
    """A policy's decision about a tool call, with its reason.

    Args:
        decision: The decision.
        reason: The reason, as a sentence for a person; the model reads the reason of a denial.
        risk: The possible harm of the call.
        rule: Description of the calls that "always" would allow; None: "always" isn't offered.
        grant: The access that "always" grants for the session; None: "always" adds a policy rule.
        decided_by: `rule`: a policy rule decided. `auto_approve`: `--yes` decided. None: neither.
    """

    decision: PolicyDecision
    reason: str = ""
    risk: Risk = Risk.LOW
    rule: str | None = None
    grant: AccessGrant | None = None
    decided_by: Literal["rule", "auto_approve"] | None = None


class PolicyEngine(Protocol):
    """The interface of policies, which decide about tool calls."""

    async def evaluate(self, tool: Tool, args_json: str) -> PolicyDecision | PolicyEvaluation:
        """Decide about one tool call.

        Args:
            tool: The tool.
            args_json: The call's arguments as JSON text, which may be malformed.
        """


#: The entry point group of installed policies. Each entry point names a `PolicyFactory`.
ENTRY_POINT_GROUP: Final = "agentstepper_nb.policies"

#: A function that takes the default policy and returns a policy, which may call the default policy.
PolicyFactory = Callable[[PolicyEngine], PolicyEngine]


def load_policy(
    choice: PolicyEngine | PolicyFactory | str | None, default: PolicyEngine
) -> PolicyEngine:
    """Load the policy of a session.

    Args:
        choice: A policy, a `PolicyFactory`, or the name of an installed policy; None: the default.
        default: The default policy, which is passed to a `PolicyFactory`.

    Raises:
        PolicyRulesError: No policy of this name is installed, or its factory fails.
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
    """The default policy. The first of these steps that applies to a tool call decides.

    1. Deny a call that a policy rule denies, a path that the workspace refuses, a change in `.git`, and,
       in mode `read-only`, every change.
    2. Allow a call that a policy rule allows.
    3. Require approval of a tool that requires approval or is of high risk, of a command on the
       dangerous list, of access outside of the sandbox, and of changes to files that can't be recovered.
       Without a sandbox, require approval of each command that does more than read; see
       `approval_reasons`.
    4. Allow all other calls.

    Args:
        rules: The policy rules; None: no rules.
        workspace: The agent's workspace; None: no path is checked, and rules of a workspace don't apply.
        auto_approve: `--yes`: allow calls that would require approval inside of the sandbox, and deny
            calls that would leave the sandbox. Without a sandbox, allow all calls that would require
            approval. Denied calls stay denied.
        mode: The sandbox mode.
        is_confined: Whether a sandbox confines commands.
        grants: The access that a person has granted the session. Grants may be added during the session.
        recoverable_files: The files that can be recovered; None: files in their last committed state.
        can_send_signals: Whether the sandbox lets commands signal processes outside of the sandbox.
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
        """Decide about one tool call.

        Args:
            tool: The tool.
            args_json: The call's arguments as JSON text. Malformed JSON is denied.
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
            if allows(rule, tool.name, args, has_shell=has_shell(tool)):
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
        """Return the reason why the workspace refuses a path of a call; None: it refuses none."""
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
        """Return the rule that denies a call because of a file in its arguments; None: no rule does."""
        if self._files is None or self.workspace is None:
            return None
        real = filter(None, map(self.workspace.resolve_path, find_paths(args)))
        return self._files.find_rule_for_call(tool.name, args, real)

    def _denied_by_mode(self, tool: Tool, args: Any) -> str | None:
        """Return the reason why the sandbox mode denies a call; None: the mode doesn't."""
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
        """Decide with `--yes` about a call that would require approval."""
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
    """Analyze a call's command; None: the tool runs no commands, or the command is missing."""
    command = find_command_text(args) if tool.name == RUN_COMMAND else None
    if command is None:
        return None  # the tool reports a missing command
    return analyze_command(command, shell=has_shell(tool))


def _find_possible_denials(
    tool: Tool, args: Any, report: CommandReport | None, rules: list[PolicyRule]
) -> list[ApprovalReason]:
    """Return a reason to ask about a command that may run a program that a rule denies."""
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
    """Combine all reasons to ask about a call.

    "Always" offers the grant of the reason if there is only one, else a policy rule of the whole call.
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
