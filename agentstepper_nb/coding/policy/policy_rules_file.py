"""The file of policy rules: one JSON file outside of every workspace, where agents can't write."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from filelock import FileLock
from msgspec import Struct, structs

from ... import typed_json
from ...errors import PolicyRulesError
from .rules import RUN_COMMAND, PolicyRule, is_for_workspace, make_allow_rule, make_rule_id

if TYPE_CHECKING:
    from ..workspace import LocalWorkspace


class _Document(Struct, forbid_unknown_fields=True):
    version: Literal[1] = 1
    rules: list[PolicyRule] = []


class PolicyRulesFile:
    """The policy rules of this user, in a file that several processes may read and write.

    Args:
        path: The file. The first rule that is added creates the file and its folder.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def rules(self, workspace: Path | None = None) -> list[PolicyRule]:
        """Read the rules, oldest first.

        Args:
            workspace: Return only rules that apply in this workspace; None: all rules.

        Raises:
            PolicyRulesError: The file is damaged, or can't be read.
        """
        rules = self._read().rules
        return [rule for rule in rules if workspace is None or is_for_workspace(rule, workspace)]

    def allow_similar(
        self, tool: str, args: Any, workspace: LocalWorkspace, *, has_shell: bool = True
    ) -> PolicyRule:
        """Add a rule that allows calls like this one in a workspace; `describe_rule` describes the rule.

        Args:
            tool: The tool's name.
            args: The call's decoded arguments.
            workspace: The workspace in which the rule applies.
            has_shell: Whether a shell reads the call's command.

        Raises:
            PolicyRulesError: The call has nothing that a rule could allow, or the file is damaged, or
                can't be written.
        """
        return self._add(make_allow_rule(tool, args, workspace.root, has_shell=has_shell))

    def allow(
        self,
        tool: str = RUN_COMMAND,
        *,
        command: str | None = None,
        path: str | None = None,
        workspace: Path | None = None,
        network: bool = False,
        writable: Sequence[str] = (),
    ) -> PolicyRule:
        """Add a rule that allows calls without a person's approval. A `deny` rule takes precedence.

        Args:
            tool: A pattern of tools' names; `run_command` requires a `command`.
            command: The whole command, as the agent writes the command.
            path: A pattern that all paths of a call must match.
            workspace: The workspace in which the rule applies; None: all workspaces.
            network: Whether the command may use the network.
            writable: The folders outside of the workspace that the command may write.

        Raises:
            PolicyRulesError: The file is damaged, or can't be written.
        """
        rule = PolicyRule(
            id=make_rule_id(),
            effect="allow",
            tool=tool if command is None else RUN_COMMAND,
            workspace=None if workspace is None else str(workspace),
            command=command,
            path=path,
            shell=command is not None,
            network=network,
            writable=tuple(writable),
        )
        return self._add(rule)

    def deny(
        self,
        tool: str = "*",
        *,
        command: str | None = None,
        path: str | None = None,
        workspace: Path | None = None,
    ) -> PolicyRule:
        """Add a rule that denies calls. A `deny` rule takes precedence over all other decisions.

        Args:
            tool: A pattern of tools' names.
            command: The beginning of a command, such as `git push`; the tool is then `run_command`.
            path: A pattern of paths.
            workspace: The workspace in which the rule applies; None: all workspaces.

        Raises:
            PolicyRulesError: The file is damaged, or can't be written.
        """
        rule = PolicyRule(
            id=make_rule_id(),
            effect="deny",
            tool=tool if command is None else RUN_COMMAND,
            workspace=None if workspace is None else str(workspace),
            command=command,
            path=path,
        )
        return self._add(rule)

    def remove(self, id: str) -> bool:
        """Remove a rule.

        Args:
            id: The rule's id.

        Returns:
            Whether the rule existed.

        Raises:
            PolicyRulesError: The file is damaged, or can't be written.
        """
        found = False

        def remove_rule(document: _Document) -> None:
            nonlocal found
            stored_rules = [rule for rule in document.rules if rule.id != id]
            found = len(stored_rules) < len(document.rules)
            document.rules = stored_rules

        self._change(remove_rule)
        return found

    # ---- the file ----

    def _add(self, rule: PolicyRule) -> PolicyRule:
        """Add a rule, and return it; an equal rule that exists is returned instead."""
        stored_rules = rule

        def add_rule(document: _Document) -> None:
            nonlocal stored_rules
            for each in document.rules:
                if structs.replace(each, id=rule.id) == rule:
                    stored_rules = each
                    return
            document.rules.append(rule)

        self._change(add_rule)
        return stored_rules

    def _read(self) -> _Document:
        try:
            return typed_json.decode(self.path.read_bytes(), _Document)
        except FileNotFoundError:
            return _Document()
        except (OSError, ValueError) as error:
            raise PolicyRulesError(
                f"The rules in {self.path} can't be read ({error}). Repair the file, or "
                "delete it to start without rules."
            ) from None

    def _change(self, change: Callable[[_Document], None]) -> None:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with FileLock(self.path.with_suffix(".lock"), mode=0o600):
                document = self._read()
                change(document)
                self._write(msgspec.json.format(msgspec.json.encode(document)))
        except PolicyRulesError:
            raise
        except OSError as error:
            raise PolicyRulesError(
                f"The rules in {self.path} can't be written: {error}."
            ) from error

    def _write(self, data: bytes) -> None:
        """Write the file atomically, readable by this user only."""
        draft = self.path.with_name(f"{self.path.name}.{secrets.token_hex(4)}.tmp")
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            draft.replace(self.path)
        except BaseException:
            draft.unlink(missing_ok=True)
            raise
