"""What the seam at the HTTP client costs a query that isn't halted, beside a passive instrumentor.

The agent is OpenAI's client, in a process of its own and an environment that has OpenInference's
instrumentor. Blocks of the plain client, of the same client in a run that continues, and of the client
as OpenInference instruments it take turns. A passive instrumentor exports spans, here to nowhere.

Agents wait for their model most of the time, which answers at once here: a rest after each query stands
for that. What the seam and the instrumentor do on threads of their own is over by its end.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, Final

from agentstepper_nb import AgentStepper, instrument
from agentstepper_nb.protocol.envelope import SUBPROTOCOL

from .access import TOKENS
from .conversation import make_body
from .lease import STORE
from .measured_server import start_process
from .model import TOKENS as MODEL_TOKENS
from .round_trip import Effort, Spread

#: Of one round: the medians of each arm's block, by measure.
Medians = dict[str, dict[str, float]]

#: Where `make bench` installs what is compared with.
PYTHON: Final = Path(__file__).parents[1] / ".make" / "bench" / "bin" / "python"
PLAIN, SEAM, PASSIVE = "plain client", "in a run that continues", "OpenInference"
VARIANTS: Final = (PLAIN, SEAM, PASSIVE)
#: What is measured: seconds, and tokens a second from the first one on.
WHOLE_ANSWER, FIRST_TOKEN, STREAM = (
    "a whole answer",
    "a stream's first token",
    "a stream, until it is closed",
)
TOKENS_PER_S: Final = "a stream's tokens a second"
MEASURES: Final = (WHOLE_ANSWER, FIRST_TOKEN, STREAM, TOKENS_PER_S)
#: Seconds after each query.
_REST_S: Final = 0.01
#: Streams of a block, in whole answers: each takes longer.
_WHOLE_PER_STREAM: Final = 4


@dataclass(frozen=True)
class QueryCost:
    """One measure of one arm at one size."""

    variant: str
    measure: str
    size: int  # bytes of a prompt
    values: Spread  # of the blocks' medians
    ratio: Spread  # to the plain client's block beside it


def measure(size: int, effort: Effort, *, python: Path = PYTHON) -> list[QueryCost]:
    """Measure all variants at one size.

    Args:
        size: Of each prompt, in bytes.
        effort: How much.
        python: The environment's interpreter.
    """
    assert python.exists(), "What it is compared with isn't installed: run `make bench`."
    rounds = [each for _ in range(effort.sets) for each in _measure_set(size, effort, python)]
    return summarize(size, rounds)


def summarize(size: int, rounds: Sequence[Medians]) -> list[QueryCost]:
    """The results of rounds, each with its measures by arm."""
    return [
        QueryCost(
            arm,
            measure,
            size,
            Spread.of([each[arm][measure] for each in rounds]),
            Spread.of([each[arm][measure] / each[PLAIN][measure] for each in rounds]),
        )
        for measure in MEASURES
        for arm in rounds[0]
    ]


def _measure_set(size: int, effort: Effort, python: Path) -> list[Medians]:
    """The rounds of one set of processes."""
    with ExitStack() as stack:
        client_port, ui_port = json.loads(stack.enter_context(start_process("server", STORE)))
        stack.enter_context(start_process("viewer", str(ui_port), SUBPROTOCOL))
        model = int(stack.enter_context(start_process("model")))
        numbers = (model, client_port, size, effort.blocks, effort.turns, effort.rest)
        agent = start_process("seam", *map(str, numbers), python=str(python))
        rounds: list[Medians] = json.loads(stack.enter_context(agent))
        return rounds


# ---- the agent's process ----------------------------------------------------------------------------


class OpenAIAgent:
    """OpenAI's client, whose queries are timed.

    Args:
        model: The model's port.
        size: Of each prompt, in bytes.
        variants: The ways in which it is attached.
    """

    def __init__(self, model: int, size: int, variants: Sequence[str] = VARIANTS) -> None:
        from openai import OpenAI

        self._client = OpenAI(base_url=f"http://127.0.0.1:{model}/v1", api_key="any")
        self._bodies = (make_body(size, number) for number in count())
        self._variants = variants
        self._instrumentor = _make_instrumentor() if PASSIVE in variants else None

    def close(self) -> None:
        """Close the client."""
        self._client.close()

    def measure_round(self, index: int, turns: int, dbg: AgentStepper) -> Medians:
        """One block of each arm, another one first each time: its measures' medians."""
        measured: Medians = {}
        for shift in range(len(self._variants)):
            arm = self._variants[(index + shift) % len(self._variants)]
            with self._attach(arm, dbg):
                measured[arm] = self._measure_block(turns)
        return {arm: measured[arm] for arm in self._variants}

    @contextmanager
    def _attach(self, arm: str, dbg: AgentStepper) -> Iterator[None]:
        if arm == SEAM:
            instrument.enable()
            yield
            instrument.disable()
            dbg.post_debug_message("")  # which waits until all is written
        elif arm == PASSIVE:
            instrumentor, provider = self._instrumentor
            instrumentor.instrument(tracer_provider=provider)
            yield
            instrumentor.uninstrument()
            provider.force_flush()
        else:
            yield

    def _measure_block(self, turns: int) -> dict[str, float]:
        whole = [self._time_answer() for _ in range(turns)]
        streams = [self._time_stream() for _ in range(max(1, turns // _WHOLE_PER_STREAM))]
        medians = map(statistics.median, (whole, *zip(*streams, strict=True)))
        return dict(zip(MEASURES, medians, strict=True))

    def _time_answer(self) -> float:
        prompt = self._rest_and_next_prompt()
        begin = time.perf_counter()
        answer = self._client.chat.completions.create(**prompt)
        seconds = time.perf_counter() - begin
        assert answer.choices[0].message.content
        return seconds

    def _time_stream(self) -> tuple[float, float, float]:
        """Seconds to the first token and until the stream is closed, and tokens a second."""
        prompt = self._rest_and_next_prompt()
        clock = time.perf_counter
        begin = clock()
        with self._client.chat.completions.create(**prompt, stream=True) as stream:
            times = [clock() for chunk in stream if chunk.choices[0].delta.content]
        closed = clock()
        assert len(times) == MODEL_TOKENS
        return times[0] - begin, closed - begin, (len(times) - 1) / (times[-1] - times[0])

    def _rest_and_next_prompt(self) -> dict[str, Any]:
        """Rest, and give the next prompt."""
        time.sleep(_REST_S)
        return next(self._bodies)


def _make_instrumentor() -> tuple[Any, Any]:
    """OpenInference's instrumentor, and a provider of tracers whose spans are exported to nowhere."""
    from openinference.instrumentation.openai import OpenAIInstrumentor
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import (
        BatchSpanProcessor,
        SpanExporter,
        SpanExportResult,
    )

    class Nowhere(SpanExporter):
        def export(self, spans: Any) -> Any:
            return SpanExportResult.SUCCESS

    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(Nowhere()))
    return OpenAIInstrumentor(), provider


def main(arguments: list[str]) -> None:
    model, core, size, blocks, turns = map(int, arguments[:5])
    with AgentStepper("bench", "127.0.0.1", core, token=TOKENS.agent) as dbg:
        agent = OpenAIAgent(model, size)
        agent.measure_round(0, turns, dbg)  # to warm up
        rounds = []
        for index in range(blocks):
            time.sleep(float(arguments[5]))
            rounds.append(agent.measure_round(index, turns, dbg))
        agent.close()
    print(json.dumps(rounds), flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main(sys.argv[1:])
