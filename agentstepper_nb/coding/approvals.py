"""Asks people to approve tool calls, and decides which answer counts."""

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
    """A question to a person: whether a tool call may be made."""

    call_id: str
    tool: str
    args: Any
    risk: Risk
    policy_reason: str  # the rule that asks, in words
    rule: str | None = None  # what "always allow this here" would allow, in words


class NoDecisionReason(StrEnum):
    """Why a call is denied that no person decided about. The log has the value as who decided."""

    NOBODY = "nobody"  # nobody could be asked
    TIMEOUT = "timeout"  # nobody answered in time


class ApprovalDecision(Struct, frozen=True, kw_only=True):
    """A person's answer to an approval request."""

    approved: bool
    reason: str = ""
    args: Any = None  # edited arguments, where `edited`
    edited: bool = False
    always: bool = False  # also from now on, in this workspace
    decided_by: str = ""  # who or what decided, or a `NoDecisionReason`; filled in for the log

    @property
    def is_undecided(self) -> bool:
        """Whether no person decided."""
        return isinstance(self.decided_by, NoDecisionReason)


class Approver(Protocol):
    """The interface of a program part that asks a person for approvals, besides the view.

    The log names the approver by its attribute `name`; without one, `approver`.
    """

    async def request_decision(self, request: ApprovalRequest) -> ApprovalDecision:
        """Ask the person, and wait for the answer. Cancelled if somebody else answers first.

        Args:
            request: The request.
        """


#: Calls of which it is remembered that they were answered.
_MAX_ANSWERED: Final = 1000


_UNCONFIRMED: Final = (
    "The call {call!r} is of high risk, and its approval isn't confirmed. Ask the person "
    "for a second, different gesture and send `confirmed: true` with `approved: true`; or "
    "deny the call."
)


class HttpApprover:
    """Asks who reads a session's events.

    Args:
        notify: Takes the events.
    """

    name: Final = "http"

    def __init__(self, notify: Callable[[ServerEvent], None]) -> None:
        self._notify = notify
        self._waiting: dict[str, asyncio.Future[ApprovalDecision]] = {}
        self._high_risk_calls: set[str] = set()  # those of the calls that wait whose risk is high
        self._answered: deque[str] = deque(maxlen=_MAX_ANSWERED)

    @property
    def pending_call_ids(self) -> tuple[str, ...]:
        """The calls that wait, oldest first."""
        return tuple(self._waiting)

    async def request_decision(self, request: ApprovalRequest) -> ApprovalDecision:
        """Ask, and wait for the answer; see `Approver`."""
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
        finally:  # also where the view was faster, or nobody answered in time
            if self._waiting.get(call) is decision:
                del self._waiting[call]
                self._high_risk_calls.discard(call)
            self._answered.append(call)

    def answer(self, session: str, call: str, answer: CodingApprovalBody) -> None:
        """Somebody answered.

        Args:
            session: The session, for the errors.
            call: The call.
            answer: What they said.

        Raises:
            ProtocolError: The edited arguments aren't JSON.
            StaleError: It was answered before, here or elsewhere.
            CommandError: `unknown_call`; `needs_confirmation`: the risk is high, and the approval isn't
                confirmed.
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
#: Characters of why something is asked that the debugger takes.
_MAX_REASON_CHARS: Final = 1000


class ApprovalRequester:
    """Asks people.

    Args:
        approver: Somebody besides the debugger's view; None for nobody.
        timeout_s: Seconds that they have together; None is without end.
    """

    def __init__(self, approver: Approver | None, timeout_s: float | None) -> None:
        self.approver = approver
        self.timeout_s = timeout_s

    async def request_without_debugger(self, request: ApprovalRequest) -> ApprovalDecision:
        """Ask where no debugger is there. Whatever goes wrong is a denial."""
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
        """What the log calls the approver."""
        return str(getattr(self.approver, "name", "approver"))

    @property
    def timeout_reason(self) -> str:
        """Why a call is denied that nobody answered in time."""
        return f"Nobody answered within {self.timeout_s or 0:g} seconds."


class FirstAnswerApproval:
    """Asks others while the debugger's view is asked at the halt point of `approval`.

    They are asked once the halt point waits; leaving the context takes the question back.

    Args:
        requester: Who they are.
        request: What is asked.
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
        except NotJSONError:  # of an approver of somebody's own: the view has the question
            log.exception("The debugger's answer to an approval can't be used.")

    def outcome(self, *, approved: bool, reason: str = "") -> ApprovalDecision:
        """What was decided at the halt point, and by whom.

        Args:
            approved: Whether the call was approved.
            reason: Why it was denied.
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
        """The approver's answer; never, where there is none or it fails: the view has the question."""
        if self._requester.approver is not None:
            try:
                return await self._requester.approver.request_decision(self._request)
            except Exception:
                log.exception("Requesting an approval in the debugger failed.")
        await asyncio.Event().wait()
        raise AssertionError("unreachable")


def make_approval_entry(request: ApprovalRequest, decision: ApprovalDecision) -> ApprovalEntry:
    """What is logged of a decision about a call.

    Args:
        request: What was asked, or would have been.
        decision: What was decided.
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
    """The event by which a transcript's readers see that a call waits for an approval."""
    return TraceEvent("approval_required", msgspec.to_builtins(request))


def make_denied_result(decision: ApprovalDecision) -> ToolResult:
    """What the model reads of a denial."""
    if decision.is_undecided:
        return ToolResult.failure(f"This call was denied. {decision.reason}")
    reason = f": {decision.reason}" if decision.reason else "."
    return ToolResult.failure(f"A person denied this{reason}")
