"""The options and limits of a coding session."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from msgspec import Struct, ValidationError
from msgspec.structs import replace

from ..errors import CodingSessionError
from ..protocol.coding_settings import (
    DEFAULTS,
    CodingSettings,
    SettingsDict,
    read_settings,
    select_given_settings,
)
from .approvals import Approver
from .policy import PolicyEngine
from .policy.engine import PolicyFactory
from .tool_call_runner import ToolStartListener
from .tools import ToolRegistry, make_default_tools
from .transcript import Listener

if TYPE_CHECKING:
    from ..models.provider import ModelProvider


#: The setting that each limit has, and how far it goes where nobody sets it.
_SETTING_OF_LIMIT: Final = {
    "max_iterations": "max_iterations",
    "idle_timeout_s": "model_timeout",
    "tool_timeout_s": "tool_timeout",
    "command_timeout_s": "command_timeout",
    "output_limit_bytes": "output_limit",
    "approval_timeout_s": "approval_timeout",
}
#: Seconds that a tool call has beside its command.
_COMMAND_OVERHEAD_S: Final = 60.0


class CodingLimits(Struct, frozen=True, kw_only=True):
    """The limits of one session. Times are in seconds; None is without end."""

    max_iterations: int = DEFAULTS.max_iterations or 0  # queries to the model, of one prompt
    idle_timeout_s: float | None = DEFAULTS.model_timeout  # between two events of a model
    tool_timeout_s: float | None = DEFAULTS.tool_timeout  # of one tool call
    command_timeout_s: float = DEFAULTS.command_timeout or 0.0
    output_limit_bytes: int = DEFAULTS.output_limit or 0  # of a result that the model is given
    approval_timeout_s: float | None = DEFAULTS.approval_timeout  # that a person has to answer
    max_answer_tokens: int | None = None  # of one answer; None: what the API has


def override_limits(limits: CodingLimits, settings: SettingsDict) -> CodingLimits:
    """Replace limits by the values in settings.

    If only the command's time is set, the tool call's time limit is raised to allow the command.

    Args:
        limits: The limits.
        settings: The settings. Values of None are ignored.
    """
    given = {limit: settings.get(name) for limit, name in _SETTING_OF_LIMIT.items()}
    chosen = replace(
        limits, **{limit: value for limit, value in given.items() if value is not None}
    )
    if settings.get("command_timeout") is None or settings.get("tool_timeout") is not None:
        return chosen
    if chosen.tool_timeout_s is None:
        return chosen
    return replace(
        chosen,
        tool_timeout_s=max(chosen.tool_timeout_s, chosen.command_timeout_s + _COMMAND_OVERHEAD_S),
    )


#: Settings that are paths.
_PATHS: Final = ("readable", "writable")
#: Words of `tool_choice` that are no tool's name.
_CHOICES: Final = ("auto", "none", "required")


class CodingOptions(SettingsDict, total=False):
    """The optional arguments of `CodingSession.create` and `resume`: the settings, and these."""

    approver: Approver | None  # somebody to ask, besides the debugger's view
    debugger: bool  # whether to look for one
    step: bool  # whether its run begins stepping
    listener: Listener | None  # called with each event as it happens
    limits: CodingLimits  # the settings win
    on_tool_start: (
        ToolStartListener | None
    )  # called with each call as it is carried out: after policy and approval
    tools: ToolRegistry  # in place of `make_default_tools`
    policy: PolicyEngine | PolicyFactory | str | None  # see `load_policy`; None: the default one


def make_options(settings: CodingSettings) -> CodingOptions:
    """The options that settings are, without those that are left out."""
    return cast(CodingOptions, select_given_settings(settings))


def check_options(options: CodingOptions) -> None:
    """Refuse a setting that is out of its bounds.

    Raises:
        CodingSessionError: Which setting, and its bounds.
    """
    settings: dict[str, Any] = {**options}
    settings.pop("policy", None)  # which may be an object
    for name in _PATHS:
        if settings.get(name) is not None:
            settings[name] = [str(path) for path in settings[name]]
    try:
        read_settings(settings)
    except ValidationError as error:
        raise CodingSessionError(f"A setting of the coding session isn't valid: {error}.") from None


def select_tools(options: CodingOptions) -> ToolRegistry:
    """The tools of a session.

    Raises:
        CodingSessionError: The tool that has to be called is none of them.
    """
    tools = options.get("tools")
    if tools is None:  # a registry without any tool is a choice
        tools = make_default_tools(shell=options.get("shell"))
    choice = options.get("tool_choice")
    if choice is None or choice in _CHOICES or tools.get(choice) is not None:
        return tools
    known = ", ".join((*_CHOICES, *(spec.name for spec in tools.specs())))
    raise CodingSessionError(f"The setting tool_choice can't be {choice!r}: choose one of {known}.")


def find_unsupported_settings(provider: ModelProvider, options: CodingOptions) -> list[str]:
    """Warnings of settings that the provider doesn't send."""
    if options.get("temperature") is None or getattr(provider, "takes_temperature", True):
        return []
    return [
        f"The setting temperature has no effect, because the provider {provider.name} doesn't "
        "send it."
    ]
