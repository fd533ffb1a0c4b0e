"""A halted LLM query, asked again: a request to the agent for each further answer.

A view asks the Core, the Core asks the agent, whose own client asks the model. Nothing of a sample is
stored but what it cost. docs/design/0026-replay.md.
"""

from __future__ import annotations

from msgspec import UNSET, Raw, Struct, UnsetType

from .data_model import Failure, Usage
from .field_types import Count, Id, Reason

#: Samples that one halt point has at most.
MAX_SAMPLES = 20


class QuerySample(Struct, frozen=True, kw_only=True):
    """The model's answer to a resampled query, or the query's failure."""

    data: Raw  # JSON text, masked as the answer is; null where it failed
    usage: Usage | None = None
    failure: Failure | None = None


# ---- Core to agent, and back ------------------------------------------------------------------------


class RequestSample(Struct, frozen=True, kw_only=True, rename={"halt_point": "breakpoint"}):
    """Ask the query of a halt point again. Sent to agents whose hello has `samples`."""

    request: Id
    halt_point: Id
    #: Whether the answer gives only the number of samples that are left, without a query.
    is_dry: bool = False
    #: JSON text: the request as a person has edited it, at the query's begin.
    edit: Raw | UnsetType = UNSET


class SampleMade(Struct, frozen=True, kw_only=True):
    """Answers `RequestSample`."""

    request: Id
    left: Count = 0  # samples that the halt point still may have
    sample: QuerySample | None = None
    refusal: Reason | None = None  # why there is none, for a person


# ---- view to Core, and back -------------------------------------------------------------------------


class GetSampling(Struct, frozen=True, kw_only=True, rename={"halt_point": "breakpoint"}):
    """Answered by `SamplingOffer`; as `SampleQuery` refused by `resample_refused`."""

    run: str
    halt_point: str


class SampleQuery(Struct, frozen=True, kw_only=True, rename={"halt_point": "breakpoint"}):
    """Answered by `SampledAnswer`, whenever the model has answered. It costs what a query costs."""

    run: str
    halt_point: str


class SamplingOffer(Struct, frozen=True, kw_only=True):
    """The query can be asked again."""

    left: Count  # how often


class SampledAnswer(Struct, frozen=True, kw_only=True):
    """An answer of a query that was asked again."""

    data: str  # JSON text: what a person may take as the query's answer
    action: str  # the same for two answers by which the agent does the same next
    summary: str  # of it, in one line
    left: Count
    usage: Usage | None = None
    failure: Failure | None = None


SamplingCommand = GetSampling | SampleQuery
SamplingAnswer = SamplingOffer | SampledAnswer
#: The names of these in the envelope.
SAMPLING_COMMANDS: dict[str, type[Struct]] = {
    "get_sampling": GetSampling,
    "sample_query": SampleQuery,
}
SAMPLING_ANSWERS: dict[str, type[Struct]] = {"sampling": SamplingOffer, "sampled": SampledAnswer}
