"""What a policy is and says of a call, and policies of other packages."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Final, Literal, Protocol, cast

from msgspec import Struct

from ...errors import CommandError, RulesError
from ...installed import Installed
from ..sandbox import Grant
from ..tool import Risk, Tool


class PolicyDecision(StrEnum):
    """Whether a call may be carried out."""

    ALLOWED = "allowed"
    REQUIRES_APPROVAL = "requires_approval"
    DENIED = "denied"


class Judgement(Struct, frozen=True, kw_only=True):
    """A decision and what led to it.

    Args:
        decision: Whether the call may be carried out.
        why: The rule that decided: for a person, and for the model where the call is denied.
        risk: How much harm the call may do.
        rule: What "always" would allow, in words; None: nothing.
        grant: What "always" adds to the session's grants; None: it writes a rule to the rule book.
        by: What decided in a person's place: a rule of the book, or `--yes`; None: neither.
    """

    decision: PolicyDecision
    why: str = ""
    risk: Risk = Risk.LOW
    rule: str | None = None
    grant: Grant | None = None
    by: Literal["rule", "auto_approve"] | None = None


class PolicyEngine(Protocol):
    """Judges calls."""

    async def evaluate(self, tool: Tool, args_json: str) -> PolicyDecision | Judgement:
        """Judge one call.

        Args:
            tool: The tool.
            args_json: Its arguments as JSON; they may be malformed.
        """


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
