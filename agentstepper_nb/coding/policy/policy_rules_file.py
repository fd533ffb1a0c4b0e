"""The book of rules: one JSON file outside of every workspace, where the agent can't write it."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from filelock import FileLock
from msgspec import Struct, structs

from ...errors import PolicyRulesError
from .rules import RUN_COMMAND, PolicyRule, is_for_workspace, make_allow_rule, make_rule_id

if TYPE_CHECKING:
    from ..workspace import LocalWorkspace


class _Document(Struct, forbid_unknown_fields=True):
    version: Literal[1] = 1
    rules: list[PolicyRule] = []


class PolicyRulesFile:
    """The rules of this user, in a file that several processes may use at once.

    Args:
        path: The file; it and its folder are made with the first rule.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def rules(self, workspace: Path | None = None) -> list[PolicyRule]:
        """The rules, oldest first.

        Args:
            workspace: Only those that hold in this folder; None: all.

        Raises:
            PolicyRulesError: The file is damaged, or can't be read.
        """
        rules = self._read().rules
        return [rule for rule in rules if workspace is None or is_for_workspace(rule, workspace)]

    def allow_similar(self, tool: str, args: Any, workspace: LocalWorkspace) -> PolicyRule:
        """Always allow calls like this one in a workspace; `described` says in words what that means.

        Args:
            tool: The tool's name.
            args: The call's arguments, parsed.
            workspace: Where.

        Raises:
            PolicyRulesError: There is nothing to allow, the file is damaged, or can't be written.
        """
        return self._add(make_allow_rule(tool, args, workspace.root))

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
        """Allow calls like these without asking. A denial comes before.

        Args:
            tool: The tools, as a pattern; `run_command` needs a `command`.
            command: The whole command, as the agent writes it.
            path: A pattern that all paths of a call must match.
            workspace: The folder; None: everywhere.
            network: Whether the command may use the network.
            writable: Folders outside of the workspace that the command may change.

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
        """Never allow calls like these. A denial comes before whatever else is said.

        Args:
            tool: The tools, as a pattern.
            command: How a command begins, as `git push`; the tool is `run_command` then.
            path: A pattern of paths.
            workspace: The folder; None: everywhere.

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
            id: Its name.

        Returns:
            Whether there was one.

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
        """Add a rule; where there is the same one already, it is that one."""
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
            return msgspec.json.decode(self.path.read_bytes(), type=_Document)
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
        """Write the file whole or not at all, so that only this user can read it."""
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
