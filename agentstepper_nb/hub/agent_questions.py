"""A Core's requests to a run's agent: to check an edit, to inspect its stack, to resample a query.

Answers are neither recorded nor logged.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from msgspec import UNSET, Raw

from ..errors import ProtocolError
from ..protocol.agent import (
    CheckEdit,
    EditChecked,
    HaltPointInspected,
    Hello,
    InspectHaltPoint,
    RequestSample,
    SampleMade,
)
from ..protocol.inspection import InspectionRequest, InspectionResult

_Question = CheckEdit | InspectHaltPoint | RequestSample
_Answer = EditChecked | HaltPointInspected | SampleMade


class QuestionKind(NamedTuple):
    """The time that an agent has to answer, and the error of an agent that doesn't answer."""

    code: str
    timeout_s: float
    late: str = "The agent didn't answer within {:.0f} s. Its process may be busy: try again."
    lost: str = "The agent disconnected before it answered. Try again once the agent is back."


_EDIT_CHECK: Final = QuestionKind(
    "invalid_edit",
    10.0,
    "The agent didn't say within {:.0f} s whether it accepts this edit. Try again, or step without the "
    "edit.",
    "The agent disconnected before it said whether it accepts this edit. Try again once the agent is "
    "back.",
)
#: An expression has less.
_INSPECTION: Final = QuestionKind("inspection_refused", 20.0)
#: The clients of vendors wait as long for a model.
_SAMPLE: Final = QuestionKind("resample_refused", 600.0)
#: The kind of question that each type of answer belongs to.
_KINDS: Final[dict[type[_Answer], QuestionKind]] = {
    EditChecked: _EDIT_CHECK,
    HaltPointInspected: _INSPECTION,
    SampleMade: _SAMPLE,
}
_NO_REASON: Final = "The agent gave no reason. Look at its log."


class AgentQuestions:
    """The Core's open requests to one agent, on one connection.

    Args:
        new_id: Makes a new id.
        send: Sends the agent a request.
        timeout_s: Seconds to wait for each answer; None: the default of the request's kind.
    """

    def __init__(
        self,
        new_id: Callable[[], str],
        send: Callable[[_Question], None],
        timeout_s: float | None = None,
    ) -> None:
        self._new_id = new_id
        self._send = send
        self._timeout_s = timeout_s
        self._open: dict[str, tuple[QuestionKind, asyncio.Future[Any]]] = {}
        self.can_check_edits = False
        self.can_inspect = False
        self.can_sample = False

    def on_hello(self, hello: Hello) -> None:
        """Note which requests the agent supports."""
        self.can_check_edits = hello.can_check_edits
        self.can_inspect = hello.inspects is True
        self.can_sample = hello.samples is True

    async def check_edit(self, halt_point: str, edit: str) -> None:
        """Ask the agent whether an edit is valid.

        Args:
            halt_point: The id of the pending halt point.
            edit: JSON text.

        Raises:
            ProtocolError: `invalid_edit`: the agent rejects the edit, or didn't answer.
        """
        id, data = self._new_id(), Raw(edit.encode())
        question = CheckEdit(check=id, halt_point=halt_point, data=data)
        await self._ask(_EDIT_CHECK, id, question)

    async def inspect(self, halt_point: str, what: InspectionRequest) -> InspectionResult:
        """Ask the agent for its stack.

        Args:
            halt_point: The id of the pending halt point.
            what: The inspection to make.

        Raises:
            ProtocolError: `inspection_refused`: the agent refuses, or didn't answer.
        """
        id = self._new_id()
        question = InspectHaltPoint(request=id, halt_point=halt_point, what=what)
        answer: HaltPointInspected = await self._ask(_INSPECTION, id, question)
        if answer.result is None:
            raise ProtocolError("inspection_refused", _NO_REASON)
        return answer.result

    async def sample(
        self, halt_point: str, edit: str | None, *, is_dry: bool = False
    ) -> SampleMade:
        """Ask the agent to send a query again.

        Args:
            halt_point: The id of the query's pending halt point.
            edit: JSON text: the request as edited at the query's begin; None: not edited.
            is_dry: Whether to ask only how often the query can be sent again.

        Raises:
            ProtocolError: `resample_refused`: the agent refuses, or didn't answer.
        """
        id, raw = self._new_id(), UNSET if edit is None else Raw(edit.encode())
        question = RequestSample(request=id, halt_point=halt_point, is_dry=is_dry, edit=raw)
        answer: SampleMade = await self._ask(_SAMPLE, id, question)
        return answer

    async def _ask(self, kind: QuestionKind, id: str, question: _Question) -> Any:
        answered = asyncio.get_running_loop().create_future()
        self._open[id] = kind, answered
        timeout_s = kind.timeout_s if self._timeout_s is None else self._timeout_s
        try:
            self._send(question)
            return await asyncio.wait_for(answered, timeout_s)
        except TimeoutError:
            raise ProtocolError(kind.code, kind.late.format(timeout_s)) from None
        finally:
            del self._open[id]

    def resolve(self, answer: _Answer) -> None:
        """Handle an agent's answer. An answer that has no open request is ignored."""
        id = answer.check if isinstance(answer, EditChecked) else answer.request
        kind, answered = self._open.get(id, (None, None))
        if answered is None or answered.done() or kind is not _KINDS[type(answer)]:
            return
        if answer.refusal is None:
            answered.set_result(answer)
        else:
            answered.set_exception(ProtocolError(kind.code, answer.refusal or _NO_REASON))

    def end(self) -> None:
        """Fail the open requests: the agent is gone."""
        for kind, answered in self._open.values():
            if not answered.done():
                answered.set_exception(ProtocolError(kind.code, kind.lost))
