"""Resamples a halted LLM query through the agent's own client: docs/design/0026-replay.md."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from functools import partial
from typing import Any, Final, Literal

from msgspec import UNSET, Raw, UnsetType

from ..errors import ProtocolError
from ..protocol.breakpoint_rules import Price
from ..protocol.data_model import Usage
from ..protocol.query_samples import MAX_SAMPLES, QuerySample, RequestSample, SampleMade
from .cost_estimates import add_estimated_cost, find_usage
from .halt_jobs import HaltJob, HaltJobs, JobResult
from .payload import PayloadEncoder, RedactKind
from .record_payloads import pack_failure
from .stream_answers import join_items

log = logging.getLogger("agentstepper_nb.sdk")

CANNOT_SAMPLE: Final = (
    "This query can't be asked again: the debugger doesn't see the call that makes it. Wrap the "
    "function that makes the query, or attach the agent, so that its HTTP client is seen."
)
NO_MORE: Final = (
    f"This query was asked {MAX_SAMPLES} times again, which is the most for one halt. Take one of the "
    "answers, or step on."
)
NOT_ASKED: Final = "The agent went on before the query was asked again. Look where it is now."

_NULL: Final = Raw(b"null")
#: Makes a query's call once: gets the request, gives the answer or an awaitable of it.
Ask = Callable[[Any], Any]


class SampledStream:
    """An answer that was a stream, read whole.

    Args:
        items: The stream's items.
        kind: The kind of the stream.
    """

    def __init__(self, items: list[Any], kind: Literal["sync", "async"]) -> None:
        self.items = items
        self._kind = kind

    def open(self) -> Iterator[Any] | AsyncIterator[Any]:
        """The same as a stream."""
        return iter(self.items) if self._kind == "sync" else _iterate(self.items)


class QuerySampler:
    """Resamples one query while its event is halted.

    Args:
        ask: Makes the call once.
        request: The agent's request.
        read_edit: Converts an edited request to the argument of `ask`, or raises.
        model: The model of the query.
        encoder: Encodes answers for sending.

    Attributes:
        request: The request, with a person's edit once there is one.
        jobs: The jobs of the halt point's thread or task; None where the halt point doesn't wait.
    """

    def __init__(
        self,
        ask: Ask,
        request: Any,
        read_edit: Callable[[Raw], Any],
        model: str | None,
        encoder: PayloadEncoder,
    ) -> None:
        self.request = request
        self.jobs: HaltJobs | None = None
        self._ask = ask
        self._read_edit = read_edit
        self._model = model
        self._encoder = encoder
        self._made = 0
        self._answers: dict[bytes, Any] = {}  # by the text that was sent of each

    @property
    def left(self) -> int:
        """The number of times that the query can still be resampled."""
        return MAX_SAMPLES - self._made

    def find_answer(self, text: Raw) -> Any:
        """The answer that a person took, as the call gave it; UNSET where the text is no sample's."""
        found = self._answers.get(bytes(text), UNSET)
        return found.open() if isinstance(found, SampledStream) else found

    def begin(self, edit: Raw | UnsetType, finish: Callable[[JobResult | None], None]) -> bool:
        """Let the halted thread or task make one resample.

        Args:
            edit: The edited request, if it is edited.
            finish: Called with the call's outcome; None: the call wasn't made.

        Returns:
            Whether the resample was accepted.
        """
        if self.left <= 0 or self.jobs is None:
            return False
        self._made += 1
        self.jobs.submit(HaltJob(partial(self._call, edit), finish))
        return True

    def describe(self, result: JobResult, prices: Iterable[Price]) -> QuerySample:
        """Store an answer for a skip, and describe it for the Core.

        Args:
            result: The outcome of the call.
            prices: The prices that estimate a cost which the answer doesn't state.
        """
        if result.error is not None:
            return QuerySample(data=_NULL, failure=pack_failure(self._encoder, result.error))
        value = result.value
        shown = join_items(value.items).answer if isinstance(value, SampledStream) else value
        packed = self._encoder.encode_for_display(RedactKind.RESPONSE, shown)
        usage: Usage | None = find_usage(packed.encoded.json)
        self._answers[bytes(packed.raw)] = value
        return QuerySample(data=packed.raw, usage=add_estimated_cost(usage, self._model, prices))

    def _call(self, edit: Raw | UnsetType) -> Any:
        return self._ask(self.request if edit is UNSET else self._read_edit(edit))


class HaltedSamplers:
    """The queries of one run that can be resampled now.

    Args:
        find_prices: The prices in force.
        send: Sends an answer to the Core.
    """

    def __init__(
        self, find_prices: Callable[[], Iterable[Price]], send: Callable[[SampleMade], None]
    ) -> None:
        self._find_prices = find_prices
        self._send = send
        #: Samplers by the id of the halt point that waits.
        self.waiting: dict[str, QuerySampler] = {}

    def begin(self, halt_point: str, sampler: QuerySampler) -> None:
        """Register a sampler, as this thread or its task is about to wait at a halt point."""
        sampler.jobs = HaltJobs()
        self.waiting[halt_point] = sampler

    def end(self, halt_point: str) -> None:
        """Nobody waits at a halt point any more."""
        sampler = self.waiting.pop(halt_point)
        if sampler.jobs is not None:
            sampler.jobs.close()
            sampler.jobs = None

    def on_request(self, request: RequestSample) -> None:
        """Handle the Core's request to resample a query, or whether that is possible. Never waits."""
        sampler = self.waiting.get(request.halt_point)
        if sampler is None:
            self._send(SampleMade(request=request.request, refusal=CANNOT_SAMPLE))
        elif request.is_dry:
            self._send(SampleMade(request=request.request, left=sampler.left))
        elif not sampler.begin(request.edit, partial(self._finish, request.request, sampler)):
            self._send(SampleMade(request=request.request, refusal=NO_MORE))

    def _finish(self, request: str, sampler: QuerySampler, result: JobResult | None) -> None:
        if result is None:
            self._send(SampleMade(request=request, left=sampler.left, refusal=NOT_ASKED))
            return
        try:
            sample = sampler.describe(result, self._find_prices())
        except Exception as error:  # the agent's own hooks; the halt point must not fail by them
            log.exception("An answer of a query that was asked again could not be sent.")
            why = error.message if isinstance(error, ProtocolError) else type(error).__name__
            refusal = f"The answer can't be shown: {why}"
            self._send(SampleMade(request=request, left=sampler.left, refusal=refusal))
            return
        self._send(SampleMade(request=request, left=sampler.left, sample=sample))


async def _iterate(items: list[Any]) -> AsyncIterator[Any]:
    for item in items:
        yield item
