"""What one agent was asked to ask again, and hasn't answered yet.

Nothing of an answer is recorded or logged.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from msgspec import UNSET, Raw

from ..protocol.query_samples import RequestSample, SampleMade
from .pending_answers import PendingAnswers

#: Seconds that a model has to answer. The clients of vendors wait as long.
SAMPLE_TIMEOUT_S: Final = 600.0


class PendingSamples:
    """The queries that one agent asks again.

    Args:
        new_id: Gives a new id.
        send: Sends the agent a request.
        timeout_s: Seconds to wait for each answer.
    """

    def __init__(
        self,
        new_id: Callable[[], str],
        send: Callable[[RequestSample], None],
        timeout_s: float = SAMPLE_TIMEOUT_S,
    ) -> None:
        self._send = send
        self._pending = PendingAnswers[SampleMade](new_id, "resample_refused", timeout_s)

    async def request(
        self, halt_point: str, edit: str | None, *, is_dry: bool = False
    ) -> SampleMade:
        """Have a query asked again.

        Args:
            halt_point: Its halt point, which waits.
            edit: JSON text: the request as it was edited at the query's begin; None: it wasn't.
            is_dry: Whether to ask only how often this can be done.

        Raises:
            ProtocolError: `resample_refused`: the agent refuses, or didn't answer.
        """

        def send(request: str) -> None:
            raw = UNSET if edit is None else Raw(edit.encode())
            self._send(
                RequestSample(request=request, halt_point=halt_point, is_dry=is_dry, edit=raw)
            )

        return await self._pending.request(send)

    def resolve(self, answer: SampleMade) -> None:
        """The agent answered; nobody may wait for it any more."""
        result = None if answer.refusal is not None else answer
        self._pending.resolve(answer.request, result, answer.refusal)

    def end(self) -> None:
        """The agent is gone."""
        self._pending.end()
