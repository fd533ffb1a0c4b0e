"""Requests a person's approval of tool calls, from the debugger's view and from an `Approver`.

The first answer counts.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, Protocol

import msgspec
from msgspec import UNSET, Raw, Struct
from msgspec.structs import replace

from ..errors import CommandError, NotJSONError, ProtocolError, StaleError
from ..llm_wire.events import TraceEvent
from ..protocol.coding_api import ApprovalRequired, CodingApprovalBody, ServerEvent
from .session_log import ApprovalEntry as ApprovalEntry
from .tool import Risk, ToolResult

if TYPE_CHECKING:
    from ..sdk.approvals import Approval


class ApprovalRequest(Struct, frozen=True, kw_only=True, rename={"policy_reason": "why"}):
    """A request to a person to approve a tool call."""

    call_id: str
    tool: str
    args: Any
    risk: Risk
    policy_reason: str  # why the policy requires approval, for a person
    rule: str | None = None  # what "always allow this here" would allow; None: not offered


class NoDecisionReason(StrEnum):
    """The reason of a denial that no person made. The session's log has the value as `by`."""

    NOBODY = "nobody"  # there is no approver
    TIMEOUT = "timeout"  # no person answered in time


class ApprovalDecision(Struct, frozen=True, kw_only=True):
    """A person's answer to an approval request."""

    approved: bool
    reason: str = ""
    args: Any = None  # the edited arguments, if `edited`
    edited: bool = False
    always: bool = False  # allow such calls in this workspace from now on
    decided_by: str = ""  # the approver's name, or a `NoDecisionReason`; set for the log

    @property
    def is_undecided(self) -> bool:
        """Whether no person decided."""
        return isinstance(self.decided_by, NoDecisionReason)


class Approver(Protocol):
    """The interface of an object that requests approvals from a person outside of the debugger's view.

    The session's log has the approver's attribute `name`; without one, `approver`.
    """

    async def request_decision(self, request: ApprovalRequest) -> ApprovalDecision:
        """Ask the person, and wait for the answer. Cancelled if another approver answers first.

        Args:
            request: The request.
        """


#: The most call ids that are remembered as answered.
_MAX_ANSWERED: Final = 1000


_UNCONFIRMED: Final = (
    "The call {call!r} is of high risk, and its approval isn't confirmed. Ask the person "
    "for a second, different gesture and send `confirmed: true` with `approved: true`; or "
    "deny the call."
)


class HttpApprover:
    """Requests approvals from the HTTP clients that read a session's events.

    Args:
        notify: Sends an event to the clients.
    """

    name: Final = "http"

    def __init__(self, notify: Callable[[ServerEvent], None]) -> None:
        self._notify = notify
        self._waiting: dict[str, asyncio.Future[ApprovalDecision]] = {}
        self._high_risk_calls: set[str] = set()  # pending calls of high risk
        self._answered: deque[str] = deque(maxlen=_MAX_ANSWERED)

    @property
    def pending_call_ids(self) -> tuple[str, ...]:
        """The ids of the calls that wait for an answer, oldest first."""
        return tuple(self._waiting)

    async def request_decision(self, request: ApprovalRequest) -> ApprovalDecision:
        """Send the request to the clients, and wait for the answer. See `Approver`."""
        call = request.call_id
        decision: asyncio.Future[ApprovalDecision] = asyncio.get_running_loop().create_future()
        self._waiting[call] = decision
        if request.risk is Risk.HIGH:
            self._high_risk_calls.add(call)
        self._notify(
            ApprovalRequired(
                call_id=call,
                name=request.tool,
                args=request.args,
                risk=request.risk,
                why=request.policy_reason,
            )
        )
        try:
            return await decision
        finally:  # also if the view answered first, or nobody answered in time
            if self._waiting.get(call) is decision:
                del self._waiting[call]
                self._high_risk_calls.discard(call)
            self._answered.append(call)

    def answer(self, session: str, call: str, answer: CodingApprovalBody) -> None:
        """Accept a client's answer.

        Args:
            session: The session's id, for error messages.
            call: The call's id.
            answer: The client's answer.

        Raises:
            ProtocolError: The edited arguments aren't JSON.
            StaleError: The call was already answered, by a client or in the debugger.
            CommandError: `unknown_call`: the call doesn't wait for approval. `needs_confirmation`: the
                call's risk is high, and the approval isn't confirmed.
        """
        decision = self._waiting.get(call)
        if decision is None and call not in self._answered:
            raise CommandError(
                "unknown_call",
                f"This session has no call {call[:80]!r} that waits for an approval.",
            )
        if decision is None or decision.done():
            raise StaleError("This call was already answered.", session, call)
        if answer.approved and not answer.confirmed and call in self._high_risk_calls:
            raise CommandError("needs_confirmation", _UNCONFIRMED.format(call=call[:80]))
        decision.set_result(_decision(answer))


def _decision(answer: CodingApprovalBody) -> ApprovalDecision:
    args = _parsed(answer.edited_args)
    edited = answer.approved and args is not None
    return ApprovalDecision(
        approved=answer.approved,
        reason=answer.reason,
        args=args if edited else None,
        edited=edited,
        always=answer.always,
    )


def _parsed(args: Raw) -> object:
    try:
        return msgspec.json.decode(args)
    except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
        raise ProtocolError("invalid_message", f"editedArgs: {error}.") from None


log = logging.getLogger("agentstepper_nb.coding")

_NO_APPROVER: Final = (
    "The call needs a person's approval, but nobody can be asked: run `agentstepper code` "
    "in a terminal or beside a debugger, or with --yes."
)
#: The most characters of a reason that the debugger accepts.
_MAX_REASON_CHARS: Final = 1000


class ApprovalRequester:
    """The approver and the time-out of a coding session.

    Args:
        approver: The approver besides the debugger's view; None: there is none.
        timeout_s: Seconds for an answer from the approver or the view; None: no limit.
    """

    def __init__(self, approver: Approver | None, timeout_s: float | None) -> None:
        self.approver = approver
        self.timeout_s = timeout_s

    async def request_without_debugger(self, request: ApprovalRequest) -> ApprovalDecision:
        """Ask the approver, in a session without a debugger. Every failure is a denial."""
        if self.approver is None:
            return ApprovalDecision(
                approved=False, reason=_NO_APPROVER, decided_by=NoDecisionReason.NOBODY
            )
        try:
            async with asyncio.timeout(self.timeout_s):
                return replace(
                    await self.approver.request_decision(request), decided_by=self.approver_name
                )
        except TimeoutError:
            return ApprovalDecision(
                approved=False, reason=self.timeout_reason, decided_by=NoDecisionReason.TIMEOUT
            )
        except Exception as error:
            log.exception("Asking for an approval failed.")
            reason = f"The approval could not be requested: {error}"
            return ApprovalDecision(
                approved=False, reason=reason, decided_by=NoDecisionReason.NOBODY
            )

    @property
    def approver_name(self) -> str:
        """The approver's name in the session's log."""
        return str(getattr(self.approver, "name", "approver"))

    @property
    def timeout_reason(self) -> str:
        """The reason of a denial after the time-out."""
        return f"Nobody answered within {self.timeout_s or 0:g} seconds."


class FirstAnswerApproval:
    """Requests an approval from the debugger's view and from an approver. The first answer counts.

    An async context manager. The approver is asked once the agent waits at the halt point of
    `approval`; leaving the context cancels the request to the approver.

    Args:
        requester: The approver and the time-out.
        request: The request.
    """

    def __init__(self, requester: ApprovalRequester, request: ApprovalRequest) -> None:
        from ..sdk.approvals import Approval  # slow to import, and not needed to serve HTTP

        self._requester = requester
        self._request = request
        self._is_waiting = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._sent_decision: ApprovalDecision | None = None  # what was sent to the debugger
        alone = requester.approver is None and requester.timeout_s is None
        self.approval = Approval(
            request.policy_reason[:_MAX_REASON_CHARS],
            request.risk.value,
            request.rule,
            on_waiting=None if alone else self._is_waiting.set,
        )

    async def __aenter__(self) -> Approval:
        self._task = asyncio.create_task(self._request_decision())
        return self.approval

    async def __aexit__(self, *exception: object) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _request_decision(self) -> None:
        await self._is_waiting.wait()
        try:
            async with asyncio.timeout(self._requester.timeout_s):
                decision = replace(
                    await self._request_from_approver(), decided_by=self._requester.approver_name
                )
        except TimeoutError:
            reason = self._requester.timeout_reason
            decision = ApprovalDecision(
                approved=False, reason=reason, decided_by=NoDecisionReason.TIMEOUT
            )
        try:
            self._send_decision(decision)
            self._sent_decision = decision
        except NotJSONError:  # a custom approver's arguments; the view can still answer
            log.exception("The debugger's answer to an approval can't be used.")

    def outcome(self, *, approved: bool, reason: str = "") -> ApprovalDecision:
        """Return the decision that was made at the halt point, with its author.

        Args:
            approved: Whether the call was approved.
            reason: The reason of a denial.
        """
        sent_decision = self._sent_decision
        if sent_decision is not None and sent_decision.approved == approved:
            return replace(sent_decision, always=self.approval.always)
        by = NoDecisionReason.NOBODY if self.approval.has_no_approver else "debugger"
        always = self.approval.always
        return ApprovalDecision(approved=approved, reason=reason, always=always, decided_by=by)

    def _send_decision(self, decision: ApprovalDecision) -> None:
        if not decision.approved:
            self.approval.deny(decision.reason)
        elif decision.edited:
            self.approval.approve(decision.args, always=decision.always)
        else:
            self.approval.approve(always=decision.always)

    async def _request_from_approver(self) -> ApprovalDecision:
        """Wait for the approver's answer; forever without an approver, or if it fails."""
        if self._requester.approver is not None:
            try:
                return await self._requester.approver.request_decision(self._request)
            except Exception:
                log.exception("Requesting an approval in the debugger failed.")
        await asyncio.Event().wait()
        raise AssertionError("unreachable")


def make_approval_entry(request: ApprovalRequest, decision: ApprovalDecision) -> ApprovalEntry:
    """Make the log's entry of a decision about a call.

    Args:
        request: The request, even if no person was asked.
        decision: The decision.
    """
    return ApprovalEntry(
        call_id=request.call_id,
        decision="approved" if decision.approved else "denied",
        reason=decision.reason,
        why=request.policy_reason,
        risk=request.risk.value,
        by=str(decision.decided_by),
        always=request.rule if decision.always and request.rule else UNSET,
    )


def make_approval_event(request: ApprovalRequest) -> TraceEvent:
    """Make the transcript's event of a call that waits for an approval."""
    return TraceEvent("approval_required", msgspec.to_builtins(request))


def make_denied_result(decision: ApprovalDecision) -> ToolResult:
    """Make the tool result with which the model learns of a denial."""
    if decision.is_undecided:
        return ToolResult.failure(f"This call was denied. {decision.reason}")
    reason = f": {decision.reason}" if decision.reason else "."
    return ToolResult.failure(f"A person denied this{reason}")
