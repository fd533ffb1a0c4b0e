"""The confinement of a session's commands: sandbox, mode, private home folder, and grants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from ..discover import list_private_folders
from ..errors import SandboxError
from ..protocol.coding_api import SandboxReport
from .policy.denied_files import DeniedFiles, find_denied_files
from .policy.policy_rules_file import PolicyRulesFile
from .sandbox import ResourceLimits, SandboxAccess, SandboxChoice, SandboxMode, SessionGrants
from .sandbox.backend_selection import SelectedSandbox, choose_sandbox
from .sandbox.command_environment import PrivateHome
from .sandbox.landlock import SIGNALS_NOT_CONFINED
from .sandbox.launch import Sandbox, Unconfined
from .session_list import CodingDataPaths

_UNPROTECTED: Final = (
    "approvals are no protection against the command itself: a command can do what you can, and may "
    "read the control token and answer approvals."
)


class SandboxSettings(Struct, frozen=True, kw_only=True):
    """The sandbox settings of a session.

    Args:
        mode: The access of commands and tools without approval.
        backend: The sandbox that confines commands.
        network: Whether commands may use the network without approval.
        readable: Absolute paths of folders outside of the workspace that commands may read.
        writable: Absolute paths of folders outside of the workspace that commands may write.
        limits: The resource limits of one command.
    """

    mode: SandboxMode = SandboxMode.WORKSPACE_WRITE
    backend: SandboxChoice = "auto"
    network: bool = False
    readable: tuple[Path, ...] = ()
    writable: tuple[Path, ...] = ()
    limits: ResourceLimits = ResourceLimits()


def parse_sandbox_settings(given: Mapping[str, Any]) -> SandboxSettings:
    """The settings among the options of a session.

    Args:
        given: The options by name, checked; None is left out.

    Raises:
        SandboxError: There is no such folder.
    """
    options = {name: value for name, value in given.items() if value is not None}
    default = ResourceLimits()
    return SandboxSettings(
        mode=SandboxMode(options.get("sandbox_mode", SandboxMode.WORKSPACE_WRITE)),
        backend=options.get("sandbox", "auto"),
        network=options.get("network", False),
        readable=_folders(options.get("readable", ()), "readable"),
        writable=_folders(options.get("writable", ()), "writable"),
        limits=ResourceLimits(
            memory_bytes=options.get("memory_bytes", default.memory_bytes),
            processes=options.get("processes", default.processes),
        ),
    )


class SessionSandbox:
    """The sandbox of one session, and the access of its commands.

    Usually made with `open`. `close` removes the private home folder.

    Args:
        sandbox: The sandbox.
        workspace: The workspace, with symbolic links resolved.
        home: The private home folder, which is removed with the session.
        settings: The sandbox settings.
        hidden: Folders that commands never see.
        rules: The policy rules, whose `deny` rules protect files from commands; None: no rules.
        unavailable_reasons: The reasons why better sandboxes don't work here, as sentences.
    """

    def __init__(
        self,
        sandbox: Sandbox,
        workspace: Path,
        home: PrivateHome,
        settings: SandboxSettings,
        *,
        hidden: tuple[Path, ...] = (),
        rules: PolicyRulesFile | None = None,
        unavailable_reasons: tuple[str, ...] = (),
    ) -> None:
        self.sandbox = sandbox
        self.mode = settings.mode
        self.grants = SessionGrants(network=settings.network, writable=settings.writable)
        self._workspace = workspace
        self._home = home
        self._settings = settings
        self._hidden = hidden
        self._rules = rules
        self._unavailable_reasons = unavailable_reasons

    @classmethod
    def open(
        cls,
        settings: SandboxSettings,
        workspace: Path,
        data_dir: Path,
        session_id: str,
        rules: PolicyRulesFile | None = None,
    ) -> SessionSandbox:
        """Choose a session's sandbox, and make its private home. Blocking: call it on a thread.

        Args:
            settings: The sandbox settings.
            workspace: The workspace, with symbolic links resolved.
            data_dir: The folder that stores sessions.
            session_id: The session's id.
            rules: The policy rules, whose `deny` rules protect files from commands.

        Raises:
            SandboxError: The chosen sandbox doesn't work here, or can't hide what must be hidden.
        """
        is_full_access = settings.mode is SandboxMode.DANGER_FULL_ACCESS
        if is_full_access and settings.backend not in ("auto", "none"):
            raise SandboxError(
                f"The mode {settings.mode} uses no sandbox, but the settings also choose "
                f"{settings.backend}: leave one of the two out."
            )
        chosen = (
            SelectedSandbox(Unconfined(settings.limits))
            if is_full_access
            else choose_sandbox(settings.backend, settings.limits)
        )
        private = list_private_folders()
        if chosen.sandbox.name != "none":
            _check_visible(workspace, private)
        hidden = tuple(
            dict.fromkeys((*private, *_find_hidden_folders(workspace, data_dir.resolve())))
        )
        try:
            home = PrivateHome(CodingDataPaths(data_dir.resolve()).sandboxes, session_id)
        except OSError as error:
            raise SandboxError(
                f"The session's private home below {data_dir} can't be created: {error}."
            ) from None
        return cls(
            chosen.sandbox,
            workspace,
            home,
            settings,
            hidden=hidden,
            rules=rules,
            unavailable_reasons=chosen.rejection_reasons,
        )

    @property
    def is_confined(self) -> bool:
        """Whether a sandbox holds commands."""
        return self.sandbox.name != "none"

    @property
    def can_send_signals(self) -> bool:
        """Whether commands may signal processes outside of the sandbox."""
        return SIGNALS_NOT_CONFINED in self.sandbox.missing_protections

    def access(self, *, network: bool = False, writable: Sequence[Path] = ()) -> SandboxAccess:
        """Compute the access of one command. Blocking: matches `deny` rules with the workspace's files.

        Args:
            network: Whether this call may use the network.
            writable: Folders outside of the workspace that this call may write.

        Raises:
            PolicyRulesError: The policy rules can't be read.
        """
        settings, rules = self._settings, self._rules
        denied = DeniedFiles() if rules is None else find_denied_files(rules, self._workspace)
        return SandboxAccess(
            workspace=self._workspace,
            home=self._home.home,
            temporary_folder=self._home.temporary,
            is_workspace_writable=self.mode is not SandboxMode.READ_ONLY,
            has_network=network or self.grants.network,
            readable=settings.readable,
            writable=tuple(dict.fromkeys((*self.grants.writable, *writable))),
            hidden=self._hidden,
            unreadable=denied.unreadable,
            read_only=denied.read_only,
        )

    def report(self) -> SandboxReport:
        """Return the report that is shown at the start of a session."""
        return SandboxReport(
            mode=self.mode.value,
            name=self.sandbox.name,
            network=not self.is_confined or self.grants.network,
            missing_protections=self.sandbox.missing_protections,
            limits=self.sandbox.limits,
            unavailable_reasons=self._unavailable_reasons,
            warning=self._warning(),
        )

    def close(self) -> None:
        """Remove the private home. Idempotent. Blocking."""
        self._home.close()

    def _warning(self) -> str:
        if self.mode is SandboxMode.DANGER_FULL_ACCESS:
            return f"Full access: {_UNPROTECTED}"
        return "" if self.is_confined else f"No sandbox: {_UNPROTECTED}"


def format_report(report: SandboxReport) -> list[str]:
    """A report as lines for a person; the first says which sandbox there is."""
    first = [f"Sandbox: {report.name}", report.mode, "network" if report.network else "no network"]
    lines = [" · ".join(first)]
    lines += (
        [report.warning]
        if report.warning
        else [f"Not confined: {gap}" for gap in report.missing_protections]
    )
    lines += [f"Limit: {limit}" for limit in report.limits]
    return lines + [
        f"Better sandboxes don't work here: {why}" for why in report.unavailable_reasons
    ]


def _folders(given: Sequence[str | Path], setting: str) -> tuple[Path, ...]:
    found = []
    for each in given:
        try:
            path = Path(each).expanduser().resolve(strict=True)
        except (OSError, RuntimeError, ValueError) as error:
            raise SandboxError(
                f"The setting {setting} can't use the path {str(each)!r}: {error}."
            ) from None
        if setting == "writable" and not path.is_dir():
            raise SandboxError(f"The setting writable names {path}, which is not a folder.")
        found.append(path)
    return tuple(found)


def _find_hidden_folders(workspace: Path, data_dir: Path) -> list[Path]:
    """The data folder; of one that the workspace lies in, the folders beside the way there."""
    if not workspace.is_relative_to(data_dir):
        return [data_dir]
    way = [each for each in (workspace, *workspace.parents) if each.is_relative_to(data_dir)]
    beside = (each for folder in way[1:] for each in folder.iterdir())
    return [each for each in beside if each not in way and each.is_dir()]


def _check_visible(workspace: Path, hidden: Sequence[Path]) -> None:
    for folder in hidden:
        if workspace.is_relative_to(folder):
            raise SandboxError(
                f"The workspace {workspace} lies in {folder}, which is hidden from "
                "commands. Choose another workspace."
            )
