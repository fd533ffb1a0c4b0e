"""Figures for Prometheus: what is counted, of what agents and workers really did."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from msgspec.structs import replace
from prometheus_client.parser import text_string_to_metric_families

from agentstepper_nb.core.outputs import RecordOutput
from agentstepper_nb.hub.metrics import RuntimeMetrics
from agentstepper_nb.protocol.data_model import EventKind, EventSide, HaltPoint, Usage
from agentstepper_nb.protocol.records import HaltPointSaved, RunDeleted
from agentstepper_nb.protocol.runtime import StepLoss
from agentstepper_nb.protocol.runtime_store_messages import AdoptSessions, ReleaseLeases
from tests.hub.runtime.harness import RuntimeHarness, expect_refusal, open_harness


class Measured:
    """A runtime and its figures."""

    def __init__(self, harness: RuntimeHarness) -> None:
        self.harness = harness
        self.metrics = RuntimeMetrics(harness.runtime, lambda: harness.clock.now)
        harness.runtime.observers.append(self.metrics.observe_rows)
        harness.runtime.wrap_methods(self.metrics.watch)

    async def read(self, name: str, **labels: str) -> float:
        """A figure, as Prometheus would read it."""
        text = (await self.metrics.render()).decode()
        found = [
            sample.value
            for family in text_string_to_metric_families(text)
            for sample in family.samples
            if sample.name == f"agentstepper_{name}" and sample.labels == labels
        ]
        assert len(found) == 1, f"{name} {labels} stands there {len(found)} times"
        return found[0]


@asynccontextmanager
async def open_measured() -> AsyncIterator[Measured]:
    async with open_harness() as harness:
        yield Measured(harness)


async def test_queue_has_a_depth_and_an_age() -> None:
    async with open_measured() as measured:
        harness = measured.harness
        await harness.create("s")
        created = harness.clock.now
        await harness.enqueue("agent_input", "s", payload={"text": "x"}, not_before=9000)
        harness.clock.now = created + 60
        assert await measured.read("actions_open") == 2
        assert await measured.read("actions_delayed") == 1
        assert await measured.read("sessions_live") == 1
        assert await measured.read("queue_age_seconds") == pytest.approx(60, abs=0.1)
        assert await measured.read("store_up") == 1
        await harness.begin("s")
        assert await measured.read("queue_age_seconds") == 0
        assert await measured.read("actions_open") == 1


async def test_claims_and_steps_are_counted_with_their_times() -> None:
    async with open_measured() as measured:
        harness = measured.harness
        await harness.create("s")
        harness.clock.now += 20
        await harness.begin("s")
        for _ in range(3):
            await harness.step("s")
        assert await measured.read("claims_total", kind="agent_create") == 1
        assert await measured.read("actions_total", kind="agent_create", status="done") == 1
        assert await measured.read("claim_wait_seconds_bucket", le="10.0") == 0
        assert await measured.read("claim_wait_seconds_bucket", le="60.0") == 1
        assert await measured.read("steps_total", status="running") == 3
        assert await measured.read("request_seconds_count", method="write") == 4


async def test_retries_and_losses_are_counted_once_each() -> None:
    async with open_measured() as measured:
        harness = measured.harness
        await harness.create("s")
        await harness.begin("s")
        state = await harness.state("s")
        for attempt in (1, 2):
            state = replace(state, attempt=attempt, next_try_at=harness.clock.now)
            await harness.write(state, state)
            await harness.write(state, replace(state, ran_s=float(attempt)))  # told again
            state = replace(state, ran_s=float(attempt))
        assert await measured.read("step_retries_total") == 2
        assert await measured.read("step_losses_total") == 0
        lost = StepLoss(worker="w", at=harness.clock.now)
        await harness.write(state, replace(state, attempt=3, losses=(lost,)))
        assert await measured.read("step_losses_total") == 1
        assert await measured.read("step_retries_total") == 2


async def test_lost_leases_and_what_others_take_over() -> None:
    async with open_measured() as measured:
        harness = measured.harness
        await harness.create("s")
        await harness.begin("s")
        old = await harness.state("s")
        now = harness.clock.now
        await harness.runtime.release(ReleaseLeases(owner="w", until=now))
        harness.clock.now += 1
        await harness.runtime.adopt(AdoptSessions(owner="other", now=now, lease_until=now + 10))
        with expect_refusal("stale_epoch"):
            await harness.write(old, replace(old, ran_s=1.0))
        assert await measured.read("sessions_adopted_total") == 1
        assert await measured.read("lease_losses_total") == 1
        assert await measured.read("refusals_total", method="write", code="stale_epoch") == 1


async def test_tokens_of_runs_are_counted() -> None:
    async with open_measured() as measured:
        point = HaltPoint(
            id="h",
            run="r",
            event="e",
            seq=1,
            side=EventSide.END,
            kind=EventKind.LLM_QUERY,
            at=1.0,
            data="1",
        )
        for usage in (
            None,
            Usage(input_tokens=100, output_tokens=7, cost=0.5),
            Usage(input_tokens=1),
        ):
            saved = HaltPointSaved(halt_point=replace(point, usage=usage))
            measured.metrics.notify(RecordOutput(saved, saved.halt_point))
        measured.metrics.notify(RecordOutput(RunDeleted(run="r")))
        assert await measured.read("tokens_total", direction="input") == 101
        assert await measured.read("tokens_total", direction="output") == 7
        assert await measured.read("cost_dollars_total") == 0.5
