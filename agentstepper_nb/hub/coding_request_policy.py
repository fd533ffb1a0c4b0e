"""The coding session settings that a request may set, on every interface: folders, defaults, limits."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from ..errors import CommandError, ProtocolError
from ..protocol.coding_settings import (
    DEFAULTS,
    FULL_ACCESS,
    NO_SANDBOX,
    SANDBOX_MODES,
    WIRE_NAMES,
    CodingSettings,
    read_settings,
    select_given_settings,
)
from ..protocol.runtime_requests import CreateAgentPayload


class CodingRoots:
    """The folders that workspaces may lie in.

    Args:
        roots: Their paths; a relative workspace lies in the first.
    """

    def __init__(self, roots: Sequence[str]) -> None:
        self._roots = roots

    def allow(self, path: str, field: str | None = None) -> Path:
        """Resolve a workspace folder that the coding agent may work in, following all links.

        Reads the file system.

        Args:
            path: The path.
            field: The name of the request's field, for error messages; None: don't name one.

        Raises:
            CommandError: `outside_roots`: the path lies in none of the roots.
            ProtocolError: `invalid_message`: the path isn't a folder.
        """
        folder = self.resolve_inside(path, field)
        if not folder.is_dir():
            raise ProtocolError(
                "invalid_message", f"{_name(field)}: {folder} isn't a folder.", field
            )
        return folder

    def has(self, path: str) -> bool:
        """Whether a path lies in one of the roots, if anything does. Reads the file system."""
        try:
            found = Path(path).resolve()
            return any(
                found.is_relative_to(Path(root).expanduser().resolve()) for root in self._roots
            )
        except (OSError, ValueError, RuntimeError):
            return False

    def resolve_inside(
        self, path: str, field: str | None = None, extra_roots: Sequence[str] = ()
    ) -> Path:
        """Resolve a path that must lie in one of the roots, following all links.

        Reads the file system.

        Args:
            path: The path.
            field: The name of the request's field, for error messages; None: don't name one.
            extra_roots: Further roots.

        Raises:
            CommandError: `outside_roots`: the path lies in none of the roots.
            ProtocolError: `invalid_message`: the path doesn't exist.
        """
        try:
            roots = [Path(root).expanduser().resolve() for root in (*self._roots, *extra_roots)]
            found = (roots[0] / Path(path).expanduser()).resolve()
            is_inside = any(found.is_relative_to(root) for root in roots)
            if is_inside:
                found.lstat()
        except (OSError, ValueError, RuntimeError) as error:
            raise ProtocolError("invalid_message", f"{_name(field)}: {error}.", field) from None
        if not is_inside:
            raise CommandError(
                "outside_roots",
                f"The coding agent may not work in {found}. Choose a folder below "
                f"{roots[0]}, or add this one to c.AgentStepperExtension.coding_roots.",
                field=field,
            )
        return found


def _name(field: str | None) -> str:
    return field or "workspacePath"


#: The moniker of the coding agent, whose config has the settings.
_MONIKER: Final = "coding"
_NONE: Final = CodingSettings()
_PATHS: Final = ("readable", "writable")
_CONFIG: Final = "payload.config."


class CodingRequestPolicy:
    """Adds default settings to coding requests, and refuses settings beyond the server's limits.

    Args:
        roots: The folders that workspaces, and other paths of sessions, must lie in.
        defaults: The server's values of settings that a request omits. The limits don't apply to them.
        limits: The limit of each setting: a number is the most, false forbids true, a mode is the
            widest, folders are further roots, and any other value is the only one.
    """

    def __init__(
        self, roots: CodingRoots, defaults: CodingSettings = _NONE, limits: CodingSettings = _NONE
    ) -> None:
        self._roots = roots
        self._defaults = select_given_settings(defaults)
        self._limits = select_given_settings(limits)

    def allow(
        self, requested: CodingSettings, *, has_control: bool = False, path: str = ""
    ) -> dict[str, Any]:
        """Return a request's effective settings by name. Reads the file system.

        Args:
            requested: The settings in the request.
            has_control: Whether the request carries the control token.
            path: The location of the settings in the request, for errors: a field and a dot; empty: a
                request over HTTP.

        Raises:
            CommandError: `outside_limits`: a setting goes beyond the server's limits; `outside_roots`:
                a folder lies in none of the roots; `needs_control_token`.
            ProtocolError: `invalid_message`: a path isn't a folder.
        """
        settings = select_given_settings(requested)
        if not has_control:
            _refuse_full_access(settings, path)
        for name, value in settings.items():
            if name in _PATHS:
                settings[name] = self._inside(name, value, path)
            elif name in self._limits and _exceeds(value, self._limits[name]):
                raise _make_outside_error(name, value, self._limits[name], path)
        return self._limit_defaults() | self._defaults | settings

    def check_agent(self, agent: CreateAgentPayload) -> CreateAgentPayload:
        """Check a new background agent, and replace a coding agent's workspace and settings by the
        allowed ones. Other agents pass unchanged.

        A config without a workspace is refused by the worker, which can report all its errors. Raises
        also as `allow` and `CodingRoots.allow`.

        Raises:
            ProtocolError: `invalid_message`: a setting has the wrong type, or is out of its bounds.
        """
        config: Any = agent.config
        if agent.moniker != _MONIKER or not isinstance(config, dict):
            return agent
        try:
            requested = read_settings(config)
        except msgspec.ValidationError as error:
            text = f"payload.config: {error}."
            raise ProtocolError("invalid_message", text, "payload.config") from None
        config = config | self.allow(requested, path=_CONFIG)
        workspace = config.get("workspace")
        if isinstance(workspace, str) and workspace:
            config["workspace"] = str(self._roots.allow(workspace, f"{_CONFIG}workspace"))
        return replace(agent, config=config)

    def _inside(self, name: str, paths: tuple[str, ...], path: str) -> tuple[str, ...]:
        extra_roots = self._limits.get(name, ())
        field = _field(name, path)
        return tuple(str(self._roots.resolve_inside(each, field, extra_roots)) for each in paths)

    def _limit_defaults(self) -> dict[str, Any]:
        """Return the limits that replace the agent's own defaults."""
        agent_defaults = select_given_settings(DEFAULTS)
        return {
            name: limit
            for name, limit in self._limits.items()
            if name not in _PATHS
            and (name not in agent_defaults or _exceeds(agent_defaults[name], limit))
        }


def _refuse_full_access(settings: dict[str, Any], path: str) -> None:
    """Refuse settings that remove the sandbox: then approvals don't protect the control token."""
    for name, value in (("sandbox_mode", FULL_ACCESS), ("sandbox", NO_SANDBOX)):
        if settings.get(name) == value:
            field = _field(name, path)
            raise CommandError(
                "needs_control_token", _explain_control_needed(field, value, path), field=field
            )


def _field(name: str, path: str) -> str:
    """The name of a setting in a request."""
    return path + name if path else WIRE_NAMES[name]


def _explain_control_needed(field: str, value: str, path: str) -> str:
    why = f"{field} {value!r} lets commands do all that the server's user may do."
    if path:
        return (
            f"{why} For a background agent, only the server's config can set it: "
            "c.AgentStepperExtension.coding_defaults."
        )
    return f"{why} Send the control token in the header X-AgentStepper-Control-Token to ask for it."


def _exceeds(value: Any, limit: Any) -> bool:
    """Whether a setting exceeds its limit."""
    if isinstance(limit, bool):
        return value is True and limit is False
    if isinstance(limit, int | float):
        return bool(value > limit)
    if limit in SANDBOX_MODES and value in SANDBOX_MODES:
        return SANDBOX_MODES.index(value) > SANDBOX_MODES.index(limit)
    return bool(value != limit)


def _make_outside_error(name: str, value: Any, limit: Any, path: str) -> CommandError:
    if isinstance(limit, bool):
        allowed = "leave it out, or set it to false"
    elif isinstance(limit, int | float):
        allowed = f"the most is {limit:g}"
    elif limit in SANDBOX_MODES:
        allowed = f"the widest is {limit!r}"
    else:
        allowed = f"leave it out, or set it to {limit!r}"
    field = _field(name, path)
    return CommandError(
        "outside_limits",
        f"This server doesn't allow a request to set {field} to {value!r}: {allowed}. The "
        "server's config sets the limit in c.AgentStepperExtension.coding_limits.",
        field=field,
    )
