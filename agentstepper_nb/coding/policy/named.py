"""Policies of other packages, found by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, cast

from ...errors import CommandError, RulesError
from ...installed import Installed
from .base import PolicyEngine

#: The entry points of installed policies; each names a `Factory`.
GROUP: Final = "agentstepper_nb.policies"

#: Makes a policy: given the default one, to ask in whatever it leaves open.
Factory = Callable[[PolicyEngine], PolicyEngine]


def chosen_policy(
    choice: PolicyEngine | Factory | str | None, default: PolicyEngine
) -> PolicyEngine:
    """The policy that somebody chose.

    Args:
        choice: A policy, what makes one, or the name of an installed one; None: the default.
        default: The default policy, on which it may build.

    Raises:
        RulesError: None of that name is installed, or it can't be made.
    """
    if choice is None:
        return default
    if isinstance(choice, str):
        return _installed(choice)(default)
    # A class that has `evaluate` is what makes a policy, its instances are policies.
    if isinstance(choice, type) or not hasattr(choice, "evaluate"):
        return cast(Factory, choice)(default)
    return cast(PolicyEngine, choice)


def _installed(name: str) -> Factory:
    try:
        return Installed[Factory](GROUP, "policy").find(name)
    except CommandError as error:
        raise RulesError(str(error)) from error.__cause__
