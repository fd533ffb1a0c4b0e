"""What a policy says of a call."""

from __future__ import annotations

from enum import StrEnum
from typing import Protocol

from msgspec import Struct

from ..tool import Risk, Tool


class PolicyDecision(StrEnum):
    """Whether a call may be carried out."""

    ALLOWED = "allowed"
    REQUIRES_APPROVAL = "requires_approval"
    DENIED = "denied"


class Judgement(Struct, frozen=True, kw_only=True):
    """A decision and what led to it."""

    decision: PolicyDecision
    why: str = ""  # the rule that decided, for a person, and where denied for the model
    risk: Risk = Risk.LOW
    rule: str | None = None  # what "always allow this here" would allow, in words; None: can't be


class PolicyEngine(Protocol):
    """Judges calls."""

    async def evaluate(self, tool: Tool, args_json: str) -> PolicyDecision | Judgement:
        """Judge one call.

        Args:
            tool: The tool.
            args_json: Its arguments as JSON; they may be malformed.
        """
