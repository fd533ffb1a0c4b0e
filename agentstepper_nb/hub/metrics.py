"""Prometheus metrics of background agents, counted by the Core (`--metrics`).

Counters begin at 0 with the Core. Numbers of open actions and live sessions are read from the store at
each scrape.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from time import perf_counter
from typing import Any, Final

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    generate_latest,
)

from ..core.outputs import RecordOutput
from ..errors import CommandError, StoreError
from ..protocol.records import HaltPointSaved
from ..protocol.runtime import Action, ActionStatus, AgentState
from ..protocol.runtime_store_messages import AdoptedSessions
from .runtime import Runtime
from .runtime.context import RowUpdates

#: Seconds: of steps, which may ask a model for minutes; of waits in the queue; of requests.
_STEP_BUCKETS: Final = (0.01, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600)
_WAIT_BUCKETS: Final = (0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 60, 300, 3600)
_REQUEST_BUCKETS: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1, 5)
#: The error codes of a worker that has lost its lease to another worker.
_LOST_LEASE_CODES: Final = frozenset({"stale_epoch", "stale_claim"})
#: The most sessions whose attempts are remembered: those whose next step was tried at least once.
_MAX_TRIED_SESSIONS: Final = 100_000


class RuntimeMetrics:
    """Counts the work of a Core's background agents. Used on one event loop.

    Args:
        runtime: The Core's runtime of background agents.
        clock: Returns POSIX seconds.

    Attributes:
        content_type: The media type of `render`'s text.
    """

    content_type: Final = CONTENT_TYPE_LATEST

    def __init__(self, runtime: Runtime, clock: Callable[[], float]) -> None:
        self._runtime = runtime
        self._clock = clock
        self._tries: dict[str, tuple[int, int]] = {}  # by session: its attempt, and its losses
        self._registry = registry = CollectorRegistry()

        def gauge(name: str, text: str) -> Gauge:
            return Gauge(f"agentstepper_{name}", text, registry=registry)

        def counter(name: str, text: str, labels: tuple[str, ...] = ()) -> Counter:
            return Counter(f"agentstepper_{name}", text, labels, registry=registry)

        def histogram(
            name: str, text: str, buckets: tuple[float, ...], labels: tuple[str, ...] = ()
        ) -> Histogram:
            title = f"agentstepper_{name}"
            return Histogram(title, text, labels, buckets=buckets, registry=registry)

        self._up = gauge("store_up", "1: the store answers. 0: the gauges of actions are old.")
        self._live = gauge("sessions_live", "Sessions that need a worker.")
        self._open = gauge("actions_open", "Actions that are queued or claimed.")
        self._delayed = gauge("actions_delayed", "Open actions whose time hasn't come.")
        self._age = gauge("queue_age_seconds", "How long the oldest queued action waits.")
        self._workers = gauge("workers", "Workers that dispatch.")
        self._claims = counter("claims", "Actions that were claimed.", ("kind",))
        self._ended = counter("actions", "Actions that ended.", ("kind", "status"))
        self._steps = counter("steps", "Steps that were stored.", ("status",))
        self._retries = counter("step_retries", "Tries of a step after the first.")
        self._losses = counter("step_losses", "Steps that were begun and whose worker ended.")
        self._adopted = counter("sessions_adopted", "Sessions that another worker took over.")
        self._lost_leases = counter("lease_losses", "Writes refused, as the lease was lost.")
        self._refused = counter("refusals", "Requests that were refused.", ("method", "code"))
        self._tokens = counter("tokens", "Tokens of all runs' LLM queries.", ("direction",))
        for direction in ("input", "output"):
            self._tokens.labels(direction)
        self._cost = counter("cost_dollars", "What these cost, where that is known.")
        self._step_s = histogram("step_seconds", "Seconds of a step.", _STEP_BUCKETS)
        self._wait_s = histogram(
            "claim_wait_seconds", "Seconds from when an action is due to its claim.", _WAIT_BUCKETS
        )
        self._request_s = histogram(
            "request_seconds", "Seconds of a request to the Core.", _REQUEST_BUCKETS, ("method",)
        )

    async def render(self) -> bytes:
        """The figures, as Prometheus reads them."""
        self._workers.set(len(self._runtime.dispatchers))
        try:
            info = (await self._runtime.status()).store
        except (CommandError, StoreError):
            info = None
        self._up.set(0 if info is None else 1)
        if info is not None:
            since = info.waits_since
            self._live.set(info.live)
            self._open.set(info.open)
            self._delayed.set(info.delayed)
            self._age.set(0 if since is None else max(0.0, self._clock() - since))
        return generate_latest(self._registry)

    # ---- what happens -------------------------------------------------------------------------------

    def observe_rows(self, updates: RowUpdates) -> None:
        """Rows have changed; see `Runtime.observers`."""
        for action in updates.actions:
            self._observe_action(action)
        for step in updates.steps:
            self._steps.labels(step.status).inc()
            if step.latency_ms is not None:
                self._step_s.observe(step.latency_ms / 1000)
        for state in updates.states:
            self._observe_tries(state)

    def watch(
        self, name: str, method: Callable[..., Awaitable[Any]]
    ) -> Callable[..., Awaitable[Any]]:
        """Wrap a method of the runtime to measure it; see `Runtime.wrap_methods`."""
        seconds = self._request_s.labels(name)

        async def measured(*request: Any) -> Any:
            begin = perf_counter()
            try:
                answer = await method(*request)
            except CommandError as error:
                self._observe_refusal(name, error)
                raise
            finally:
                seconds.observe(perf_counter() - begin)
            if isinstance(answer, AdoptedSessions):
                self._adopted.inc(len(answer.states))
            return answer

        return measured

    def notify(self, output: RecordOutput) -> None:
        """Handle a run's record; see `peers.RecordListener`."""
        if not isinstance(output.record, HaltPointSaved):
            return
        usage = output.record.halt_point.usage
        if usage is not None:
            self._tokens.labels("input").inc(usage.input_tokens or 0)
            self._tokens.labels("output").inc(usage.output_tokens or 0)
            self._cost.inc(max(0.0, usage.cost or 0.0))

    async def close(self) -> None:
        """Do nothing: there is nothing to close."""

    def _observe_action(self, action: Action) -> None:
        if action.status is ActionStatus.CLAIMED:
            self._claims.labels(action.kind).inc()
            due = max(action.created_at, action.not_before or 0.0)
            self._wait_s.observe(max(0.0, self._clock() - due))
        elif action.status is not ActionStatus.QUEUED:
            self._ended.labels(action.kind, action.status).inc()

    def _observe_tries(self, state: AgentState) -> None:
        """Count a session's new losses and retries since its row was last published."""
        attempt, losses = self._tries.pop(state.session_id, (0, 0))
        lost = max(0, len(state.losses) - losses)
        self._losses.inc(lost)
        self._retries.inc(max(0, state.attempt - attempt - lost))
        if state.attempt and len(self._tries) < _MAX_TRIED_SESSIONS:
            self._tries[state.session_id] = (state.attempt, len(state.losses))

    def _observe_refusal(self, name: str, error: CommandError) -> None:
        self._refused.labels(name, error.code).inc()
        if error.code in _LOST_LEASE_CODES:
            self._lost_leases.inc()
