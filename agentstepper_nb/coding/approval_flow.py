"""Whether a person lets a call happen: the first answer of several people decides."""

from __future__ import annotations

import asyncio
import logging
from typing import Final

from msgspec import UNSET
from msgspec.structs import replace

from ..errors import NotJSONError
from ..sdk.approvals import Approval
from .approvals import ApprovalRequest, Approver, Decision, Silence
from .session_log import Approval as ApprovalEntry

log = logging.getLogger("agentstepper_nb.coding")

_NOBODY: Final = (
    "It needs a person's approval, and nobody can be asked: run `agentstepper code` in a terminal or "
    "beside a debugger, or with --yes."
)
#: Characters of why something is asked that the debugger takes.
_WHY: Final = 1000


class Deciding:
    """Asks people.

    Args:
        approver: Somebody besides the debugger's view; None for nobody.
        patience: Seconds that they have together; None is without end.
    """

    def __init__(self, approver: Approver | None, patience: float | None) -> None:
        self.approver = approver
        self.patience = patience

    async def alone(self, request: ApprovalRequest) -> Decision:
        """Ask where no debugger is there. Whatever goes wrong is a denial."""
        if self.approver is None:
            return Decision(approved=False, reason=_NOBODY, by=Silence.NOBODY)
        try:
            async with asyncio.timeout(self.patience):
                return replace(await self.approver.ask(request), by=self.asked)
        except TimeoutError:
            return Decision(approved=False, reason=self.too_late, by=Silence.TIMEOUT)
        except Exception as error:
            log.exception("Asking for an approval failed.")
            reason = f"Asking a person failed: {error}"
            return Decision(approved=False, reason=reason, by=Silence.NOBODY)

    @property
    def asked(self) -> str:
        """What the log calls the approver."""
        return str(getattr(self.approver, "name", "approver"))

    @property
    def too_late(self) -> str:
        """Why a call is denied that nobody answered in time."""
        return f"Nobody answered within {self.patience or 0:g} seconds."


class Beside:
    """Asks others while the debugger's view is asked at the breakpoint of `approval`.

    They are asked once the breakpoint waits; leaving the context takes the question back.

    Args:
        deciding: Who they are.
        request: What is asked.
    """

    def __init__(self, deciding: Deciding, request: ApprovalRequest) -> None:
        self._deciding = deciding
        self._request = request
        self._waits = asyncio.Event()
        self._asking: asyncio.Task[None] | None = None
        self._said: Decision | None = None  # what was sent to the debugger
        alone = deciding.approver is None and deciding.patience is None
        self.approval = Approval(
            request.why[:_WHY],
            request.risk.value,
            request.rule,
            on_waiting=None if alone else self._waits.set,
        )

    async def __aenter__(self) -> Approval:
        self._asking = asyncio.create_task(self._ask())
        return self.approval

    async def __aexit__(self, *exception: object) -> None:
        if self._asking is not None:
            self._asking.cancel()
            await asyncio.wait([self._asking])

    async def _ask(self) -> None:
        await self._waits.wait()
        try:
            async with asyncio.timeout(self._deciding.patience):
                decision = replace(await self._first(), by=self._deciding.asked)
        except TimeoutError:
            reason = self._deciding.too_late
            decision = Decision(approved=False, reason=reason, by=Silence.TIMEOUT)
        try:
            self._say(decision)
            self._said = decision
        except NotJSONError:  # of an approver of somebody's own: the view has the question
            log.exception("An answer beside the debugger can't be used.")

    def outcome(self, *, approved: bool, reason: str = "") -> Decision:
        """What was decided at the breakpoint, and by whom.

        Args:
            approved: Whether the call was approved.
            reason: Why it was denied.
        """
        said = self._said
        if said is not None and said.approved == approved:
            return replace(said, always=self.approval.always)
        by = Silence.NOBODY if self.approval.is_unasked else "debugger"
        always = self.approval.always
        return Decision(approved=approved, reason=reason, always=always, by=by)

    def _say(self, decision: Decision) -> None:
        if not decision.approved:
            self.approval.deny(decision.reason)
        elif decision.edited:
            self.approval.approve(decision.args, always=decision.always)
        else:
            self.approval.approve(always=decision.always)

    async def _first(self) -> Decision:
        """The approver's answer; never, where there is none or it fails: the view has the question."""
        if self._deciding.approver is not None:
            try:
                return await self._deciding.approver.ask(self._request)
            except Exception:
                log.exception("Asking for an approval beside the debugger failed.")
        await asyncio.Event().wait()
        raise AssertionError("unreachable")


def approval_entry(request: ApprovalRequest, decision: Decision) -> ApprovalEntry:
    """What is logged of a decision about a call.

    Args:
        request: What was asked, or would have been.
        decision: What was decided.
    """
    return ApprovalEntry(
        call_id=request.call_id,
        decision="approved" if decision.approved else "denied",
        reason=decision.reason,
        why=request.why,
        risk=request.risk.value,
        by=str(decision.by),
        always=request.rule if decision.always and request.rule else UNSET,
    )
