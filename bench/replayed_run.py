"""What a strict replay takes: an agent of OpenAI's client, beside itself without a debugger.

The client's transport is a function in this process, so that the floor is what the client and the agent
themselves take: no model is faster.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx2
from openai import OpenAI

from agentstepper_nb import AgentStepper, AgentStepperCore, instrument, load_run, replay_run
from agentstepper_nb.replay import Recording, load_recording
from agentstepper_nb.sdk import set_current_stepper

from .round_trip import Spread
from .workspace_steps import SnapshotCost, compute_ratios, measure_time

#: LLM queries of the run.
QUERIES = 1_000


def measure(count: int, queries: int = QUERIES) -> list[SnapshotCost]:
    """Measure, in turn: the agent without a debugger, and its strict replay without a Core.

    Args:
        count: How often.
        queries: How many LLM queries the agent makes.
    """
    agent = _Agent(queries)
    with tempfile.TemporaryDirectory() as folder:
        recording = _record(agent, Path(folder))
    rounds = [_measure_round(agent, recording) for _ in range(count + 1)][1:]
    floors, replays = zip(*rounds, strict=True)
    return [
        SnapshotCost(
            "the agent without a debugger, the floor", Spread.of(floors), Spread.of([1.0])
        ),
        SnapshotCost("its strict replay", Spread.of(replays), compute_ratios(replays, floors)),
    ]


class _Agent:
    """It asks a model, whose answers this process makes.

    Args:
        queries: How many queries it makes.
    """

    def __init__(self, queries: int) -> None:
        self.asked = 0
        self._queries = queries

    def run(self) -> int:
        """Ask all; the number of characters that were answered."""
        return sum(map(len, self._answers()))

    def _answers(self) -> Iterator[str]:
        transport = httpx2.MockTransport(self._answer)
        client = OpenAI(
            base_url="http://model.invalid/v1",
            api_key="none",
            http_client=httpx2.Client(transport=transport),
        )
        with closing(client):
            for number in range(self._queries):
                asked = [{"role": "user", "content": f"question {number}"}]
                came = client.chat.completions.create(model="m", messages=asked)  # type: ignore[arg-type]
                yield came.choices[0].message.content or ""

    def _answer(self, request: httpx2.Request) -> httpx2.Response:
        self.asked += 1
        (asked,) = json.loads(request.content)["messages"]
        message = {"role": "assistant", "content": f"an answer to {asked['content']}"}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        body = {"id": "1", "object": "chat.completion", "created": 1, "model": "m"}
        return httpx2.Response(200, json={**body, "choices": [choice]})


def _record(agent: _Agent, folder: Path) -> Recording:
    options = {"stop_on_entry": False, "mode": "continue"}
    instrument.enable()
    try:
        with AgentStepperCore("127.0.0.1", 0, 0, data=folder) as core:
            address = ("127.0.0.1", core.client_port)
            with AgentStepper("bench", *address, **options) as dbg, set_current_stepper(dbg):  # type: ignore[arg-type]
                agent.run()
    finally:
        instrument.disable()
    return load_recording(load_run(dbg.run_id, folder))


def _measure_round(agent: _Agent, recording: Recording) -> tuple[float, float]:
    """Seconds of the agent alone, and of its replay."""
    floor = measure_time(agent.run)
    instrument.enable()
    try:
        before = agent.asked
        replayed = measure_time(lambda: replay_run(recording, agent.run, offline=True))
        assert agent.asked == before
    finally:
        instrument.disable()
    return floor, replayed
