"""A hub whose rows a model in this process puts into sentences."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from agentstepper_nb.core import RecordOutput
from agentstepper_nb.hub import Hub
from agentstepper_nb.hub.model_summaries import ModelSummaries
from agentstepper_nb.hub.rate_limit import RateLimits
from agentstepper_nb.protocol.data_model import Commit, HaltPoint
from agentstepper_nb.protocol.records import SummarySaved
from agentstepper_nb.store import Store
from tests.helpers.clock import ManualClock
from tests.helpers.debugger_harness import DebuggerHarness

TIMEOUT_S = 30  # seconds after which a test that waits for what never comes fails


class ScriptedSummaryModel:
    """Says what a prompt is about; where it is held, not before it is let go."""

    name = "m"

    def __init__(self) -> None:
        self.requests: list[str] = []
        self.answered = 0
        self.cancelled = 0
        self.closed = 0
        self.reply: Callable[[str], str] = "It is about {}.".format
        self.free = asyncio.Event()
        self.free.set()
        self._was_requested = asyncio.Event()

    async def text(self, system: str, prompt: str, max_tokens: int) -> str:
        data = prompt.partition("<data>\n")[2].partition("\n</data>")[0].strip('"')
        self.requests.append(data)
        self._was_requested.set()
        try:
            await self.free.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        self.answered += 1
        return self.reply(data)

    async def wait_for_request(self, times: int) -> None:
        async with asyncio.timeout(TIMEOUT_S):
            while len(self.requests) < times:
                self._was_requested.clear()
                await self._was_requested.wait()

    async def close(self) -> None:
        self.closed += 1


class HubHarness(DebuggerHarness):
    """An agent and a person at a hub whose rows a model summarises."""

    def __init__(self, store: Store, pace: RateLimits) -> None:
        super().__init__()
        self.hub = Hub(store, extensions=[])
        self.debugger = self.hub.debugger
        self.model = ScriptedSummaryModel()
        self.clock = ManualClock()
        self.sentences = ModelSummaries(self.hub, self.model, self.clock.make_pacer(pace))
        self.hub.listeners += [self.sentences, self]
        self.saved_summaries: list[str] = []

    def notify(self, saved: RecordOutput) -> None:
        """Keep what the UIs are told."""
        if isinstance(saved.record, SummarySaved):
            self.saved_summaries.append(saved.record.text)

    async def close(self) -> None:
        """There is nothing to close."""

    def perform(self, outputs: list[Any]) -> None:
        self.hub.perform(outputs)

    def reach_query(self, prompt: str, run: str = "run", **fields: Any) -> str:
        """Reach the begin of a query."""
        return self.reach(self.begin(run=run), data=f'"{prompt}"', run=run, **fields)

    async def wait_until_settled(self) -> None:
        """Until all that was recorded has been summarised, or is not going to be."""
        await self.hub.wait_recorded()
        async with asyncio.timeout(TIMEOUT_S):
            await self.sentences.wait_idle()

    async def read_summary(self, about: str, run: str = "run") -> str | None:
        """What stands with a halt point or a commit."""
        found = await self.hub.store.message(run, about) or await self.hub.store.commit(run, about)
        assert isinstance(found, (HaltPoint, Commit))
        return found.model_summary
