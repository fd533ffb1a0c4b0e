"""How many agents a Core takes on."""

from __future__ import annotations

import asyncio

import pytest
from msgspec.structs import replace

from agentstepper_nb.errors import CommandError
from agentstepper_nb.hub.runtime import AdmissionLimits, Runtime
from agentstepper_nb.protocol.runtime import SessionStatus
from agentstepper_nb.store.runtime.sqlite import SqliteRuntimeStore
from tests.hub.runtime.harness import LOG, RuntimeHarness, expect_refusal


class LimitedHarness(RuntimeHarness):
    """A runtime that takes on two sessions, and three open actions."""

    def __init__(self) -> None:
        super().__init__(SqliteRuntimeStore(None))
        limits = AdmissionLimits(sessions=2, actions=3)
        self.runtime = Runtime(self.store, LOG, limits=limits, clock=self.clock)


@pytest.fixture
def harness() -> LimitedHarness:
    return LimitedHarness()


async def test_creation_above_the_limit_is_refused_until_there_is_room(
    harness: LimitedHarness,
) -> None:
    await harness.create("a")
    await harness.create("b")
    with pytest.raises(CommandError, match="2 live sessions") as caught:
        await harness.create("c")
    assert (caught.value.code, caught.value.retry_after_s) == ("busy", 5)
    await harness.begin("a")
    state = await harness.state("a")
    await harness.write(state, replace(state, status=SessionStatus.DONE))
    assert (await harness.create("c")).is_new
    await harness.runtime.close()


async def test_known_creation_is_answered_at_the_limit(harness: LimitedHarness) -> None:
    await harness.create("a")
    await harness.create("b")
    assert not (await harness.create("a")).is_new
    await harness.runtime.close()


async def test_session_that_waits_for_its_time_counts(harness: LimitedHarness) -> None:
    for name in ("a", "b"):
        await harness.enqueue(
            "agent_create", name, agent_id="ann", payload={"moniker": "joke"}, not_before=9000
        )
    with expect_refusal("busy"):
        await harness.create("c")
    await harness.runtime.close()


async def test_open_actions_have_a_limit_and_control_passes_it(harness: LimitedHarness) -> None:
    await harness.create("a")
    for text in ("one", "two"):
        await harness.enqueue("agent_input", "a", payload={"text": text})
    with expect_refusal("busy"):
        await harness.enqueue("agent_input", "a", payload={"text": "three"})
    with expect_refusal("busy"):
        await harness.create("b")
    for kind in ("agent_pause", "agent_resume", "agent_destroy"):
        await harness.enqueue(kind, "a")
    await harness.runtime.close()


async def test_creations_at_the_same_time_dont_pass_the_limit_together(
    harness: LimitedHarness,
) -> None:
    created = await asyncio.gather(
        *(harness.create(f"s{number}") for number in range(20)), return_exceptions=True
    )
    refused = [each for each in created if isinstance(each, CommandError)]
    assert len(created) - len(refused) == 2
    assert {each.code for each in refused} == {"busy"}
    await harness.runtime.close()
