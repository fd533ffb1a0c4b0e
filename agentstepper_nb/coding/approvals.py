"""Asking a person before a tool is run: at a breakpoint, in a terminal, over HTTP, whoever is first."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Protocol

from msgspec import Struct

from .tool import Risk


class ApprovalRequest(Struct, frozen=True, kw_only=True):
    """What a person is asked."""

    call_id: str
    tool: str
    args: Any
    risk: Risk
    why: str  # the rule that asks, in words
    rule: str | None = None  # what "always allow this here" would allow, in words


class Silence(StrEnum):
    """Why a call is denied that no person decided about. The log has the value as who decided."""

    NOBODY = "nobody"  # nobody could be asked
    TIMEOUT = "timeout"  # nobody answered in time


class Decision(Struct, frozen=True, kw_only=True):
    """What the person said."""

    approved: bool
    reason: str = ""
    args: Any = None  # edited arguments, where `edited`
    edited: bool = False
    always: bool = False  # also from now on, in this workspace
    by: str = (
        ""  # who or what decided, or a `Silence`; filled in for the log, see `entries.Approval`
    )

    @property
    def is_silence(self) -> bool:
        """Whether no person decided."""
        return isinstance(self.by, Silence)


class Approver(Protocol):
    """Somebody to ask, besides the debugger's view.

    An attribute `name` is what the log calls them; `approver` where there is none.
    """

    async def ask(self, request: ApprovalRequest) -> Decision:
        """Ask, and wait for the answer. Cancelled where it was decided elsewhere.

        Args:
            request: What is asked.
        """
