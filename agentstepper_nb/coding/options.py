"""What a coding session is opened with, besides who works where."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from msgspec import ValidationError

from ..errors import SessionError
from ..protocol.coding_settings import CodingSettings, SettingsDict, chosen, chosen_of
from .approvals import Approver
from .calls import Tools
from .limits import Limits
from .policy import PolicyEngine
from .policy.named import Factory
from .tools import default_tools
from .transcript import Listener

if TYPE_CHECKING:
    from ..models.base import ModelProvider

#: Settings that are paths.
_PATHS: Final = ("readable", "writable")
#: Words of `tool_choice` that are no tool's name.
_CHOICES: Final = ("auto", "none", "required")


class Options(SettingsDict, total=False):
    """What `CodingSession.create` and `resume` take beside what they need: the settings, and these."""

    approver: Approver | None  # somebody to ask, besides the debugger's view
    debugger: bool  # whether to look for one
    step: bool  # whether its run begins stepping
    listener: Listener | None  # called with each event as it happens
    limits: Limits  # the settings win
    tools: Tools  # in place of `default_tools`
    policy: PolicyEngine | Factory | str | None  # see `chosen_policy`; None: the default one


def options_of(settings: CodingSettings) -> Options:
    """The options that settings are, without those that are left out."""
    return cast(Options, chosen(settings))


def check_options(options: Options) -> None:
    """Refuse a setting that is out of its bounds.

    Raises:
        SessionError: Which setting, and its bounds.
    """
    settings: dict[str, Any] = {**options}
    settings.pop("policy", None)  # which may be an object
    for name in _PATHS:
        if settings.get(name) is not None:
            settings[name] = [str(path) for path in settings[name]]
    try:
        chosen_of(settings)
    except ValidationError as error:
        raise SessionError(f"A setting of the coding session can't be: {error}.") from None


def tools_of(options: Options) -> Tools:
    """The tools of a session.

    Raises:
        SessionError: The tool that has to be called is none of them.
    """
    tools = options.get("tools") or default_tools(shell=options.get("shell"))
    choice = options.get("tool_choice")
    if choice is None or choice in _CHOICES or tools.get(choice) is not None:
        return tools
    known = ", ".join((*_CHOICES, *(spec.name for spec in tools.specs())))
    raise SessionError(f"The setting tool_choice can't be {choice!r}: there are {known}.")


def unheeded(provider: ModelProvider, options: Options) -> list[str]:
    """Warnings of settings that the provider doesn't send."""
    if options.get("temperature") is None or getattr(provider, "takes_temperature", True):
        return []
    return [f"The setting temperature has no effect: the provider {provider.name} sends none."]
