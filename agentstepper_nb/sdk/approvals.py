"""Approvals: the request that a person approve a call first, and the answers from elsewhere.

The debugger's view asks at the call's halt point. Another program part, such as a terminal, may ask
at the same time. Its answer goes to the Core, and the first answer counts. If no Core can ask, the
other part's answer alone counts.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, Literal

from msgspec import UNSET, Raw, UnsetType

from ..errors import ConnectionLostError
from ..protocol import data_model
from ..protocol.agent import AgentMessage, DecideApproval
from ..protocol.answers import Answer, DenyAnswer, ResumeAnswer
from .flow_effects import Flow, WaitEffect
from .payload import Payload, PayloadEncoder, RedactKind
from .send_queue import UncancellableFuture

#: Sends messages on the run's link.
SendMessages = Callable[[tuple[AgentMessage, ...]], None]

_ALREADY_USED: Final = "This Approval belongs to another call. Create one Approval for each call."
#: The error for the agent where nobody could be asked: no answer counts as a denial.
NO_APPROVER_REASON: Final = "Nobody could be asked to approve this call, so that it wasn't made."
#: The most characters of an approval's prompt, and of a denial's reason.
_MAX_PROMPT_CHARS: Final = 1000
_MAX_REASON_CHARS: Final = 10_000


@dataclass(frozen=True)
class ExternalDecision:
    """The decision of a person outside of the debugger's view, or of the program."""

    approved: bool
    args: Any = UNSET
    reason: str = ""
    always: bool = False


@dataclass
class ApprovalCall:
    """The call that an approval is asked for.

    Args:
        halt_point: The id of the call's begin halt point.
        tool: The tool's name.
        encoder: Encodes the prompt and the decision for sending.
    """

    halt_point: str
    tool: str
    encoder: PayloadEncoder
    send: SendMessages | None = None  # while the halt point waits
    edited: Payload | None = None  # the edited call of an outside approval, if edited

    def message(self, decision: ExternalDecision) -> DecideApproval:
        """The message that tells the Core of a decision."""
        return DecideApproval(
            halt_point=self.halt_point,
            approved=decision.approved,
            reason=self.reason(decision),
            data=self.data(decision),
            always=decision.always,
        )

    def answer(self, decision: ExternalDecision) -> Answer:
        """A decision in the form of a Core's answer."""
        if not decision.approved:
            return DenyAnswer(reason=self.reason(decision))
        return ResumeAnswer(data=self.data(decision), approved=True, always=decision.always)

    def reason(self, decision: ExternalDecision) -> str:
        """The reason for a denial, encoded for sending."""
        return self.encoder.texts(
            RedactKind.APPROVAL, {"reason": decision.reason}, _MAX_REASON_CHARS
        )["reason"]

    def data(self, decision: ExternalDecision) -> Raw | UnsetType:
        """The edited call, encoded for sending."""
        if isinstance(decision.args, UnsetType):
            return UNSET
        call = {"Tool": self.tool, "Argument": decision.args}
        self.edited = self.encoder.encode(RedactKind.TOOL_CALL, call)
        return self.edited.raw

    def find_displayed_payload(self, answer: Answer, payload: Payload) -> Payload:
        """The payload that the answer's author saw, whose masks the answer may contain.

        Args:
            answer: The answer.
            payload: The payload that the debugger shows.
        """
        edited = self.edited
        if edited is None or not isinstance(answer, ResumeAnswer) or answer.data is UNSET:
            return payload
        return edited if bytes(answer.data) == bytes(edited.raw) else payload


class Approval:
    """Asks for an approval: `dbg.tool(name, args, approval=Approval("deletes files", "high"))`.

    The call then waits, however the run continues, until somebody approves or denies it: a person
    in the debugger, or the program by `approve` or `deny`. Any thread or task may call these two,
    also before the call begins. The first answer counts; later ones do nothing.

    Args:
        why: The reason for asking: the rule that wants a person to look.
        risk: The damage that the call can do.
        rule: A description of what "always allow this here" would allow; None: no such rule exists.
        on_waiting: Called once on the waiting thread or task when the call begins to wait, to ask
            somebody elsewhere too. If no Core can ask (the Core is away and `on_disconnect` is
            "continue", or the Core is of version 1), the call waits for that answer; without
            `on_waiting` the call is then denied.

    Raises:
        ValueError: `risk` is no known risk.
    """

    def __init__(
        self,
        why: str,
        risk: Literal["low", "medium", "high"] = "medium",
        rule: str | None = None,
        *,
        on_waiting: Callable[[], None] | None = None,
    ) -> None:
        self.why = why
        self.risk = data_model.Risk(risk)
        self.rule = rule
        self.on_waiting = on_waiting
        #: Whether similar calls need no approval from now on; known inside the block.
        self.always = False
        #: Whether the call was denied because nobody could be asked; known once it is denied.
        self.has_no_approver = False
        # Held for a moment, so that what is said is sent once; a signal's handler may say it too.
        self._lock = threading.RLock()
        self._decision = UncancellableFuture[ExternalDecision]()
        self._call: ApprovalCall | None = None  # once it is asked
        self._is_on_waiting_called = False  # `on_waiting` was called

    def approve(self, args: Any = UNSET, *, always: bool = False) -> None:
        """Approve the call: it is made.

        Args:
            args: The edited arguments. If left out, the call keeps the arguments that the agent
                gave.
            always: Whether similar calls need no approval from now on.

        Raises:
            NotJSONError: The arguments can't be written as JSON.
        """
        self._record_decision(ExternalDecision(True, args=args, always=always))

    def deny(self, reason: str) -> None:
        """Deny the call: the agent gets a ToolDeniedError.

        Args:
            reason: The reason, which the error states.
        """
        self._record_decision(ExternalDecision(False, reason=reason))

    def _record_decision(self, decision: ExternalDecision) -> None:
        if self._call is not None and not self._decision.done():
            self._call.message(decision)  # what can't travel raises before it counts
        with self._lock:
            if self._decision.done():
                return
            self._decision.set_result(decision)
            send = None if self._call is None else self._call.send
        self._send(send)

    # ---- the block's side ---------------------------------------------------------------------------

    @property
    def decision(self) -> Future[ExternalDecision]:
        """A future of the decision that is made outside of the debugger's view."""
        return self._decision

    def begin(self, call: ApprovalCall) -> data_model.ApprovalPrompt:
        """Bind the approval to a call, and return the prompt, encoded for sending.

        Raises:
            RuntimeError: The approval belongs to another call already.
            NotJSONError: JSON can't carry the arguments of an earlier approval.
        """
        with self._lock:
            if self._call is not None:
                raise RuntimeError(_ALREADY_USED)
            if self._decision.done():
                call.answer(
                    self._decision.result()
                )  # what can't travel raises before anything is sent
            self._call = call
        asked = {"why": self.why} if self.rule is None else {"why": self.why, "rule": self.rule}
        shown = call.encoder.texts(RedactKind.APPROVAL, asked, _MAX_PROMPT_CHARS)
        return data_model.ApprovalPrompt(risk=self.risk, why=shown["why"], rule=shown.get("rule"))

    def on_queued(self, send: SendMessages) -> None:
        """Send an earlier decision after the queued halt point, and a later decision at once."""
        with self._lock:
            if self._call is not None:
                self._call.send = send
            decided = self._decision.done()
        if decided:
            self._send(send)
        self.call_on_waiting()

    def _send(self, send: SendMessages | None) -> None:
        """Send the decision to the Core; not under this object's lock: sending takes another lock."""
        if send is not None and self._call is not None:
            with suppress(ConnectionLostError):  # who waits at the halt point hears of it
                send((self._call.message(self._decision.result()),))

    def call_on_waiting(self) -> None:
        """Call `on_waiting` once, unless a decision exists already."""
        if (
            self.on_waiting is not None
            and not self._is_on_waiting_called
            and not self._decision.done()
        ):
            self._is_on_waiting_called = True
            self.on_waiting()

    def await_answer(
        self,
        asking: Flow[Answer],
        call: ApprovalCall,
        give_up: Callable[[BaseException], Flow[None]],
    ) -> Flow[Answer]:
        """Wait for the answer at the call's begin halt point: no call runs without an approval.

        Args:
            asking: Waits for the Core's answer.
            call: The call.
            give_up: Ends the call's event, if the wait for an outside decision is interrupted.
        """
        always = False
        try:
            answer = yield from asking
            if isinstance(answer, ResumeAnswer) and not answer.approved:
                answer = yield from self._await_external_decision(call, give_up)
            always = isinstance(answer, ResumeAnswer) and answer.always
        finally:
            self.end(always=always)
        return answer

    def _await_external_decision(
        self, call: ApprovalCall, give_up: Callable[[BaseException], Flow[None]]
    ) -> Flow[Answer]:
        """Wait for an outside decision, since no Core can ask; without `on_waiting`, deny the call."""
        if self.on_waiting is None and not self._decision.done():
            self.has_no_approver = True
            return DenyAnswer(reason=NO_APPROVER_REASON)
        try:
            self.call_on_waiting()
            decision: ExternalDecision = yield WaitEffect(self.decision)
            return call.answer(decision)
        except GeneratorExit:
            raise
        except BaseException as error:
            yield from give_up(error)
            raise

    def end(self, *, always: bool = False) -> None:
        """Record that the halt point no longer waits.

        Args:
            always: Whether similar calls are approved as well.
        """
        with self._lock:
            if self._call is not None:
                self._call.send = None
        self.always = always
