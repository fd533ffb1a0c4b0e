"""How far the coding agent may go."""

from __future__ import annotations

from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from ..protocol.coding_settings import DEFAULTS, SettingsDict

#: The setting that each limit has, and how far it goes where nobody sets it.
_SETTINGS: Final = {
    "iterations": "max_iterations",
    "silence": "model_timeout",
    "tool_time": "tool_timeout",
    "command_time": "command_timeout",
    "output": "output_limit",
    "approval_time": "approval_timeout",
}
#: Seconds that a tool call has beside its command.
_BESIDE_COMMAND: Final = 60.0


class Limits(Struct, frozen=True, kw_only=True):
    """The limits of one session. Times are in seconds; None is without end."""

    iterations: int = DEFAULTS.max_iterations or 0  # questions to the model, of one prompt
    silence: float | None = DEFAULTS.model_timeout  # that a model may let pass between two events
    tool_time: float | None = DEFAULTS.tool_timeout  # of one tool call
    command_time: float = DEFAULTS.command_timeout or 0.0
    output: int = DEFAULTS.output_limit or 0  # bytes of a result that the model is given
    approval_time: float | None = DEFAULTS.approval_timeout  # that a person has to answer
    answer_tokens: int | None = None  # of one answer; None: what the API has


def limited(limits: Limits, settings: SettingsDict) -> Limits:
    """Limits, with those that settings have in their place.

    A tool call has time for its command where nobody limits the call itself.

    Args:
        limits: The limits.
        settings: The settings; None is left out.
    """
    given = {limit: settings.get(name) for limit, name in _SETTINGS.items()}
    chosen = replace(
        limits, **{limit: value for limit, value in given.items() if value is not None}
    )
    if settings.get("command_timeout") is None or settings.get("tool_timeout") is not None:
        return chosen
    if chosen.tool_time is None:
        return chosen
    return replace(chosen, tool_time=max(chosen.tool_time, chosen.command_time + _BESIDE_COMMAND))
