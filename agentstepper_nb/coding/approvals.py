"""Asking a person before a tool is run: what is asked and answered, and who answers over HTTP."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from enum import StrEnum
from typing import Any, Final, Protocol

import msgspec
from msgspec import Raw, Struct

from ..errors import CommandError, ProtocolError, StaleError
from ..protocol.coding import ApprovalRequired, Approve, ServerEvent
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


#: Calls of which it is remembered that they were answered.
_REMEMBERED: Final = 1000


_UNCONFIRMED: Final = (
    "The call {call!r} is of high risk, and the approval isn't confirmed. Ask the person once more, by "
    "another gesture than the first, and send `confirmed: true` with `approved: true`; or deny the call."
)


class HttpApprover:
    """Asks who reads a session's events.

    Args:
        tell: Takes the events.
    """

    name: Final = "http"

    def __init__(self, tell: Callable[[ServerEvent], None]) -> None:
        self._tell = tell
        self._waiting: dict[str, asyncio.Future[Decision]] = {}
        self._high: set[str] = set()  # those of the calls that wait whose risk is high
        self._answered: deque[str] = deque(maxlen=_REMEMBERED)

    @property
    def waiting(self) -> tuple[str, ...]:
        """The calls that wait, oldest first."""
        return tuple(self._waiting)

    async def ask(self, request: ApprovalRequest) -> Decision:
        """Ask, and wait for the answer; see `Approver`."""
        call = request.call_id
        decision: asyncio.Future[Decision] = asyncio.get_running_loop().create_future()
        self._waiting[call] = decision
        if request.risk is Risk.HIGH:
            self._high.add(call)
        self._tell(
            ApprovalRequired(
                call_id=call,
                name=request.tool,
                args=request.args,
                risk=request.risk,
                why=request.why,
            )
        )
        try:
            return await decision
        finally:  # also where the view was faster, or nobody answered in time
            if self._waiting.get(call) is decision:
                del self._waiting[call]
                self._high.discard(call)
            self._answered.append(call)

    def answer(self, session: str, call: str, answer: Approve) -> None:
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
                "unknown_call", f"No call {call[:80]!r} of this session waits for an approval."
            )
        if decision is None or decision.done():
            raise StaleError("This call was answered already.", session, call)
        if answer.approved and not answer.confirmed and call in self._high:
            raise CommandError("needs_confirmation", _UNCONFIRMED.format(call=call[:80]))
        decision.set_result(_decision(answer))


def _decision(answer: Approve) -> Decision:
    args = _parsed(answer.edited_args)
    edited = answer.approved and args is not None
    return Decision(
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
