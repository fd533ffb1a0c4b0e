"""What was asked of one agent about its halt points and isn't answered yet: stacks, locals.

Nothing of an answer is recorded or logged.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ..protocol import inspection as wire
from ..protocol.agent import HaltPointInspected, InspectHaltPoint
from .pending_answers import PendingAnswers

#: Seconds that an agent has to answer; an expression has less.
INSPECTION_TIMEOUT_S: Final = 20.0


class PendingInspections:
    """The requests to one agent that aren't answered yet.

    Args:
        new_id: Gives a new id.
        send: Sends the agent a request.
        timeout_s: Seconds to wait for each answer.
    """

    def __init__(
        self,
        new_id: Callable[[], str],
        send: Callable[[InspectHaltPoint], None],
        timeout_s: float = INSPECTION_TIMEOUT_S,
    ) -> None:
        self._send = send
        self._pending = PendingAnswers[wire.InspectionResult](
            new_id, "inspection_refused", timeout_s
        )

    async def request(self, halt_point: str, what: wire.InspectionRequest) -> wire.InspectionResult:
        """Ask the agent.

        Args:
            halt_point: The halt point, which waits.
            what: What is asked.

        Raises:
            ProtocolError: `inspection_refused`: it refuses, or didn't answer.
        """

        def send(request: str) -> None:
            self._send(InspectHaltPoint(request=request, halt_point=halt_point, what=what))

        return await self._pending.request(send)

    def resolve(self, answer: HaltPointInspected) -> None:
        """The agent answered; nobody may wait for it any more."""
        self._pending.resolve(answer.request, answer.result, answer.refusal)

    def end(self) -> None:
        """The agent is gone."""
        self._pending.end()
