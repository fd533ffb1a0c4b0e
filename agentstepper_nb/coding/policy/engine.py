"""The default policy: rules in order, and the first that matches decides."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from ...errors import RulesError
from ..tool import Risk, Tool
from ..workspace import Workspace
from .base import Judgement, PolicyDecision
from .rulebook import RuleBook
from .rules import RUN_COMMAND, Rule, allows, command_text, denies, described, in_git, paths
from .shell import judge_command
from .verdict import Kind, Verdict


class DefaultPolicyEngine:
    """Judges calls by these rules, of which the first that matches decides.

    1. What a rule of the book denies is denied, and so is a path that the workspace refuses.
    2. What a rule of the book allows is allowed.
    3. A tool that says it requires approval asks.
    4. A command that is dangerous, or of which it can't be told, asks.
    5. High risk asks, and so does a change inside of `.git`: git runs what stands there.
    6. What only reads is allowed.
    7. The rest is allowed: it stays inside the workspace.

    Args:
        rules: The book of rules; None: there are none.
        workspace: The folder that is worked in; None: no path is looked at, and no rule holds that names
            a folder.
        auto_approve: Allow what would ask. What is denied stays denied.
    """

    def __init__(
        self,
        rules: RuleBook | None = None,
        workspace: Workspace | None = None,
        *,
        auto_approve: bool = False,
    ) -> None:
        self.rules = rules
        self.workspace = workspace
        self.auto_approve = auto_approve

    async def evaluate(self, tool: Tool, args_json: str) -> Judgement:
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
        return await asyncio.to_thread(self._judge, tool, args)

    def _judge(self, tool: Tool, args: Any) -> Judgement:
        verdict = self._verdict(tool, args)
        try:
            book = self._book()
        except RulesError as error:
            # --yes doesn't help here: nobody knows what the book denies.
            return self._refused(tool, args) or _asking(tool, str(error), rule=None)
        denied = self._refused(tool, args) or _denied_by_rule(tool, args, book, verdict)
        if denied:
            return denied
        for rule in book:
            if allows(rule, tool.name, args):
                return _allowed(tool, f"A rule says: {rule}.")
        judgement = _by_kind(tool, args, verdict)
        if self.auto_approve and judgement.decision is PolicyDecision.REQUIRES_APPROVAL:
            return self._approved_unseen(tool, judgement, book, verdict)
        return judgement

    def _book(self) -> list[Rule]:
        if self.rules is None:
            return []
        if self.workspace is None:
            return [rule for rule in self.rules.rules() if rule.workspace is None]
        return self.rules.rules(self.workspace.root)

    def _verdict(self, tool: Tool, args: Any) -> Verdict | None:
        """What the command is, where the tool runs one."""
        if tool.name != RUN_COMMAND:
            return None
        command = command_text(args)
        if command is None:
            return Verdict()  # the tool will say what is missing
        root = None if self.workspace is None else self.workspace.root
        # Only what is surely false goes without a shell: the tool may read `1` as true.
        shell = args.get("shell", False) is not False
        return judge_command(command, shell=shell, root=root)

    def _refused(self, tool: Tool, args: Any) -> Judgement | None:
        """A denial, where a path is none of the workspace."""
        if self.workspace is None:
            return None
        for path in paths(args):
            if self.workspace.resolve_path(path) is None:
                why = f"The path {path!r} is not inside the workspace, or not safe to use."
                return _denied(tool, why)
        return None

    def _approved_unseen(
        self, tool: Tool, judgement: Judgement, book: list[Rule], verdict: Verdict | None
    ) -> Judgement:
        """What `--yes` makes of an ask."""
        hides = verdict is not None and verdict.hides
        if hides and any(rule.effect == "deny" and rule.command for rule in book):
            why = f"{judgement.why} It may be a command that a rule denies."
            return _denied(tool, why)
        return _allowed(
            tool, f"Approved without being seen (--yes): {judgement.why}", judgement.risk
        )


def _denied_by_rule(
    tool: Tool, args: Any, book: list[Rule], verdict: Verdict | None
) -> Judgement | None:
    calls = verdict.calls if verdict else ()
    for rule in book:
        if denies(rule, tool.name, args, calls):
            return _denied(tool, f"A rule says: {rule}.")
    return None


def _by_kind(tool: Tool, args: Any, verdict: Verdict | None) -> Judgement:
    """What the tool, and its command, say of themselves."""
    rule = described(tool.name, args)
    if tool.policy.requires_approval:
        return _asking(tool, f"`{tool.name}` always asks.", rule)
    if verdict is not None and verdict.kind is not Kind.HARMLESS:
        risk = Risk.HIGH if verdict.kind is Kind.DANGEROUS else Risk.MEDIUM
        return _asking(
            tool, f"{_sentence(verdict.why)}.", rule, max(risk, tool.policy.risk, key=_RANK)
        )
    if tool.policy.risk is Risk.HIGH:
        return _asking(tool, f"`{tool.name}` can do much harm.", rule)
    if not tool.policy.read_only and in_git(args):
        return _asking(
            tool, "It changes files in `.git`, from where git runs programs.", rule, Risk.HIGH
        )
    if tool.policy.read_only:
        return _allowed(tool, f"`{tool.name}` only reads.")
    return _allowed(tool, "It stays inside the workspace.")


_RANK = [Risk.LOW, Risk.MEDIUM, Risk.HIGH].index


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _asking(tool: Tool, why: str, rule: str | None, risk: Risk | None = None) -> Judgement:
    return Judgement(
        decision=PolicyDecision.REQUIRES_APPROVAL,
        why=why,
        risk=tool.policy.risk if risk is None else risk,
        rule=rule,
    )


def _allowed(tool: Tool, why: str, risk: Risk | None = None) -> Judgement:
    return Judgement(
        decision=PolicyDecision.ALLOWED, why=why, risk=tool.policy.risk if risk is None else risk
    )


def _denied(tool: Tool, why: str) -> Judgement:
    return Judgement(decision=PolicyDecision.DENIED, why=why, risk=tool.policy.risk)
