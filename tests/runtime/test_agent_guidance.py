"""Guidance stands in exactly one kept frame, whatever comes between: other actions, or a kill."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import UNSET

from agentstepper_nb.errors import CommandError
from agentstepper_nb.protocol.runtime import SessionStatus
from agentstepper_nb.runtime.session_agent import SessionAgent
from tests.runtime.live_sessions import ManualSteps, SessionHarness, harness

NOWHERE = Path("nowhere")


async def test_an_interrupt_replaces_and_an_input_adds() -> None:
    async with harness(NOWHERE) as home:
        steps = ManualSteps()
        agent = await home.start_agent(steps)
        await steps.wait_for_begin()
        await home.input(agent, "one")
        await home.interrupt(agent, "two")
        await home.input(agent, "three")
        assert (await home.state()).guidance == "two\n\nthree"
        steps.finish_step()
        assert (await steps.run_step()).guidance == "two\n\nthree"
        assert (await steps.wait_for_begin()).guidance is UNSET
        rows = await home.steps()
        assert [row.guidance for row in rows] == [None, "two\n\nthree"]
        state = await home.state()
        assert (state.guidance, state.context) == (None, None)


async def test_who_is_told_much_too_much_fails_the_action_alone() -> None:
    async with harness(NOWHERE) as home:
        steps = ManualSteps()
        agent = await home.start_agent(steps)
        await steps.wait_for_begin()
        for _ in range(2):
            await home.input(agent, "x" * 999_998)
        with pytest.raises(
            CommandError, match="Wait until the session has taken that step"
        ) as refused:
            await home.input(agent, "and this")
        assert refused.value.code == "too_large"
        steps.finish_step()
        assert len((await steps.run_step()).guidance) == 1_999_998


async def test_of_many_interrupts_of_a_paused_session_the_last_is_held() -> None:
    async with harness(NOWHERE) as home:
        agent = await home.start_agent(ManualSteps())
        await home.pause(agent)
        for text in ("one", "two", "three"):
            await home.interrupt(agent, text)
        await home.input(agent, "four")
        assert agent.drain_texts() == ["three", "four"]


async def test_what_comes_during_a_step_is_the_next_ones() -> None:
    async with harness(NOWHERE) as home:
        steps = ManualSteps()
        agent = await home.start_agent(steps)
        await steps.wait_for_begin()
        await home.interrupt(agent, "for the second")
        steps.finish_step()
        await steps.wait_for_begin()
        await home.interrupt(agent, "for the third")
        state = await home.state()
        assert (state.guidance, state.context) == ("for the third", {"given": "for the second"})
        steps.finish_step()
        assert (await steps.run_step()).guidance == "for the third"
        await home.wait_for_iteration(3)
        assert [row.guidance for row in await home.steps()] == [
            None,
            "for the second",
            "for the third",
        ]


async def test_guidance_ends_the_wait_between_two_steps() -> None:
    async with harness(NOWHERE) as home:
        steps = ManualSteps()
        agent = await home.start_agent(steps, wait=1e6)
        await steps.run_step()
        await home.wait_for_iteration(1)
        await home.interrupt(agent, "now")
        assert (await steps.wait_for_begin()).guidance == "now"


async def test_a_resume_ends_the_wait_but_one_for_guidance() -> None:
    async with harness(NOWHERE) as home:
        steps = ManualSteps()
        agent = await home.start_agent(steps, wait=1e6)
        await steps.run_step()
        await home.wait_for_iteration(1)
        await home.pause(agent)
        await home.resume(agent)
        await steps.wait_for_begin()
        assert home.moniker is not None
        home.moniker._wait = float("inf")
        steps.finish_step()
        await home.wait_for_iteration(2)
        await home.pause(agent)
        await home.resume(agent)
        await home.input(agent, "now")
        assert (await steps.wait_for_begin()).guidance == "now"
        assert len(steps.frames) == 3


# ---- whatever comes between --------------------------------------------------------------------------


@dataclass
class ExpectedGuidance:
    """What is to be told, by the rules; and what of that is kept."""

    waiting: str | None = None
    given: str | None = None
    recorded: tuple[str | None, str | None] = (None, None)
    frames: list[str | None] = field(default_factory=list)

    def record(self) -> None:
        self.recorded = (self.waiting, self.given)

    def begin(self) -> None:
        if self.given is None:
            self.given, self.waiting = self.waiting, None

    def step(self) -> None:
        self.frames.append(self.given)
        self.given = None
        self.record()

    def crash(self) -> None:
        self.waiting, self.given = self.recorded


class GuidanceScenario:
    """A session to which things happen, beside what is expected of it."""

    def __init__(self, home: SessionHarness) -> None:
        self.home = home
        self.steps = ManualSteps()
        self.expected = ExpectedGuidance()
        self.is_pause_requested = False
        self.under_way = False
        self.agent: SessionAgent

    async def begin(self) -> None:
        self.agent = await self.home.start_agent(self.steps)
        await self._next()

    async def perform(self, number: int, what: str) -> None:
        await getattr(self, what)(f"text {number}")

    async def interrupt(self, text: str) -> None:
        await self.home.interrupt(self.agent, text)
        self.expected.waiting = text
        await self._recorded_guidance()

    async def input(self, text: str) -> None:
        await self.home.input(self.agent, text)
        before = self.expected.waiting
        self.expected.waiting = text if before is None else f"{before}\n\n{text}"
        await self._recorded_guidance()

    async def pause(self, text: str) -> None:
        await self.home.pause(self.agent)
        self.is_pause_requested = True
        await self._recorded_guidance()

    async def resume(self, text: str) -> None:
        await self.home.resume(self.agent)
        self.is_pause_requested = False
        await self._recorded_guidance()

    async def step(self, text: str) -> None:
        if not self.under_way:
            return
        self.steps.finish_step()
        await self.home.wait_for_iteration(len(self.expected.frames) + 1)
        self.expected.step()
        self.under_way = False
        await self._next()

    async def crash(self, text: str) -> None:
        await self.agent.suspend()
        self.under_way = False
        self.expected.crash()
        self.agent = self.home.agent(await self.home.take_over(), self.steps)
        self.agent.start()
        await self._next()

    async def _recorded_guidance(self) -> None:
        self.expected.record()
        await self._next()

    async def _next(self) -> None:
        if self.is_pause_requested or self.under_way:
            return
        frame = await self.steps.wait_for_begin()
        self.expected.begin()
        assert (None if frame.guidance is UNSET else frame.guidance) == self.expected.given
        self.under_way = True

    async def check(self) -> None:
        rows = await self.home.steps()
        assert [row.guidance for row in rows] == self.expected.frames
        assert [row.iteration for row in rows] == list(range(len(rows)))
        state = await self.home.state()
        is_paused = self.is_pause_requested and not self.under_way
        assert state.status is (SessionStatus.PAUSED if is_paused else SessionStatus.RUNNING)
        assert state.is_pausing is (self.is_pause_requested and self.under_way)
        assert not await self.home.open_actions()


OPS = ("interrupt", "input", "pause", "resume", "step", "step", "crash")


@pytest.mark.slow
@settings(max_examples=40)
@given(st.lists(st.sampled_from(OPS), max_size=14))
async def test_each_guidance_is_in_one_kept_frame(ops: list[str]) -> None:
    async with harness(NOWHERE) as home:
        played = GuidanceScenario(home)
        await played.begin()
        for number, what in enumerate(ops):
            await played.perform(number, what)
        await played.check()
