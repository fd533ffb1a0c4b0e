"""What a request may set of a coding session: the server's defaults and limits, for every way in."""

from __future__ import annotations

from typing import Any, Final

import msgspec
from msgspec.structs import replace

from ..errors import CommandError, ProtocolError
from ..protocol.coding_settings import (
    DEFAULTS,
    FULL_ACCESS,
    MODES,
    NO_SANDBOX,
    WIRE_NAMES,
    CodingSettings,
    chosen,
    chosen_of,
)
from ..protocol.runtime_wire import CreateAgent
from .coding_roots import CodingRoots

#: The background agent whose config has the settings.
_MONIKER: Final = "coding"
_NONE: Final = CodingSettings()
_PATHS: Final = ("readable", "writable")
_CONFIG: Final = "payload.config."


class CodingBounds:
    """Fills in what a request leaves out, and refuses what it may not set.

    Args:
        roots: The folders that workspaces, and what else sessions reach, may lie in.
        defaults: What holds where a request leaves a setting out. It is the server's, and not limited.
        limits: How far a request may go: a number is the most, false forbids true, a mode is the widest,
            folders are further roots, and of the others the value is the only one.
    """

    def __init__(
        self, roots: CodingRoots, defaults: CodingSettings = _NONE, limits: CodingSettings = _NONE
    ) -> None:
        self._roots = roots
        self._defaults = chosen(defaults)
        self._limits = chosen(limits)

    def allow(
        self, asked: CodingSettings, *, has_control: bool = False, path: str = ""
    ) -> dict[str, Any]:
        """The settings that hold for a request, by name. Reads the file system.

        Args:
            asked: What the request sets.
            has_control: Whether the request brings the control token.
            path: Where the settings stand in the request, for errors: a field and a dot; empty: they are
                a request over HTTP.

        Raises:
            CommandError: `outside_limits`: a setting goes beyond the server's limits; `outside_roots`:
                a folder lies in none of the roots; `needs_control_token`.
            ProtocolError: `invalid_message`: a folder is none.
        """
        wanted = chosen(asked)
        if not has_control:
            _refuse_full_access(wanted, path)
        for name, value in wanted.items():
            if name in _PATHS:
                wanted[name] = self._inside(name, value, path)
            elif name in self._limits and _exceeds(value, self._limits[name]):
                raise _outside(name, value, self._limits[name], path)
        return self._left_out() | self._defaults | wanted

    def check_agent(self, agent: CreateAgent) -> CreateAgent:
        """A background agent to be created, where it is a coding agent with its workspace and settings
        allowed.

        A config without a workspace is refused by the worker, which knows what else it must say. Errors
        as `allow` and `CodingRoots.allow`.

        Raises:
            ProtocolError: `invalid_message`: a setting is not of its type, or out of its bounds.
        """
        config: Any = agent.config
        if agent.moniker != _MONIKER or not isinstance(config, dict):
            return agent
        try:
            asked = chosen_of(config)
        except msgspec.ValidationError as error:
            text = f"payload.config: {error}."
            raise ProtocolError("invalid_message", text, "payload.config") from None
        config = config | self.allow(asked, path=_CONFIG)
        workspace = config.get("workspace")
        if isinstance(workspace, str) and workspace:
            config["workspace"] = str(self._roots.allow(workspace, f"{_CONFIG}workspace"))
        return replace(agent, config=config)

    def _inside(self, name: str, paths: tuple[str, ...], path: str) -> tuple[str, ...]:
        more = self._limits.get(name, ())
        field = _field(name, path)
        return tuple(str(self._roots.inside(each, field, more)) for each in paths)

    def _left_out(self) -> dict[str, Any]:
        """What limits make of the agent's own defaults."""
        own = chosen(DEFAULTS)
        return {
            name: limit
            for name, limit in self._limits.items()
            if name not in _PATHS and (name not in own or _exceeds(own[name], limit))
        }


def _refuse_full_access(wanted: dict[str, Any], path: str) -> None:
    """Refuse what takes the sandbox away: approvals don't protect the control token then."""
    for name, value in (("sandbox_mode", FULL_ACCESS), ("sandbox", NO_SANDBOX)):
        if wanted.get(name) == value:
            field = _field(name, path)
            raise CommandError("needs_control_token", _needs(field, value, path), field=field)


def _field(name: str, path: str) -> str:
    """What a setting is called where a request has it."""
    return path + name if path else WIRE_NAMES[name]


def _needs(field: str, value: str, path: str) -> str:
    why = f"{field} {value!r} lets commands do all that the server's user may do."
    if path:
        return (
            f"{why} A background agent has it by the server's config alone: "
            "c.AgentStepperExtension.coding_defaults."
        )
    return f"{why} Send the control token in the header X-AgentStepper-Control-Token to ask for it."


def _exceeds(value: Any, limit: Any) -> bool:
    """Whether a setting goes beyond its limit."""
    if isinstance(limit, bool):
        return value is True and limit is False
    if isinstance(limit, int | float):
        return bool(value > limit)
    if limit in MODES and value in MODES:
        return MODES.index(value) > MODES.index(limit)
    return bool(value != limit)


def _outside(name: str, value: Any, limit: Any, path: str) -> CommandError:
    if isinstance(limit, bool):
        allowed = "leave it out, or set it to false"
    elif isinstance(limit, int | float):
        allowed = f"the most is {limit:g}"
    elif limit in MODES:
        allowed = f"the widest is {limit!r}"
    else:
        allowed = f"leave it out, or set it to {limit!r}"
    field = _field(name, path)
    return CommandError(
        "outside_limits",
        f"This server lets no request set {field} to {value!r}: {allowed}. Whoever runs the server "
        "may change that in c.AgentStepperExtension.coding_limits.",
        field=field,
    )
