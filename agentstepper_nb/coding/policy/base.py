"""What a policy says of a call."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal, Protocol

from msgspec import Struct

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
