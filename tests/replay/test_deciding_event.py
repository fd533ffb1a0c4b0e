"""Agents of which it is known what decides; the search finds it."""

from __future__ import annotations

import asyncio
import json
import random
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from agentstepper_nb import (
    AgentStepper,
    AsyncAgentStepper,
    find_deciding_event,
    fork_run,
    list_runs,
    load_run,
)
from agentstepper_nb.history import StoredRun
from agentstepper_nb.replay import load_recording
from agentstepper_nb.replay.recording_cuts import RecordingCuts, search_cuts


class StepAgent:
    """An agent of some queries and tool calls; each answers "right" while the world is good.

    Args:
        length: How many queries it makes, each with a tool call behind it.
        deciding: Which outcomes must be right for the agent to pass: numbers from 0 on.
    """

    def __init__(self, length: int, deciding: set[int]) -> None:
        self.length = length
        self.deciding = deciding
        self.is_good = True
        self.asked = 0
        self.chance = random.Random(length)

    def answer(self, number: int) -> str:
        return "right" if self.is_good else self.chance.choice(["wrong", "bad"])

    def ask(self, number: int) -> str:
        self.asked += 1
        return self.answer(number)

    def run(self) -> str:
        came = []
        with AgentStepper("steps", stop_on_entry=False, mode="continue") as dbg:
            ask = dbg.traced_llm(self.ask, model="m")
            call = dbg.traced_tool(self.answer, name="ls")
            for number in range(self.length):
                came += [ask(2 * number), call(2 * number + 1)]
        is_right = all(came[number] == "right" for number in self.deciding)
        return "passed" if is_right else "failed"


def spread(count: int) -> list[Any]:
    """Seeds, of which the soak has all but the first."""
    return [0, *(pytest.param(seed, marks=pytest.mark.soak) for seed in range(1, count))]


@pytest.fixture
def folder(runs: Path) -> Path:
    """The folder of a Core that keeps runs, and that this process finds."""
    return runs


def record(agent: StepAgent, folder: Path, *, is_good: bool = True) -> StoredRun:
    """A run of the agent, whose world is bad afterwards."""
    agent.is_good = is_good
    agent.run()
    agent.is_good = False
    agent.asked = 0
    return StoredRun(list_runs(folder).index[-1], folder)


def passes(outcome: Any) -> bool:
    return bool(outcome == "passed")


def cuts(run: StoredRun) -> RecordingCuts:
    return RecordingCuts(load_recording(run))


@pytest.mark.parametrize("seed", spread(8))
def test_the_event_that_decides_is_found(folder: Path, seed: int) -> None:
    chance = random.Random(seed)
    length = chance.randint(1, 6)
    deciding = chance.randrange(2 * length)
    agent = StepAgent(length, {deciding})
    run = record(agent, folder)
    questions: list[str] = []

    def ask(question: str) -> bool:
        questions.append(question)
        return True

    found = find_deciding_event(run, None, agent.run, check=passes, ask=ask)
    most = cuts(run).count_most_queries(0, 3)
    assert found.event == cuts(run).outcomes[deciding]
    assert found.row == found.event.end_seq
    assert found.name == ("m", "ls")[deciding % 2]
    assert found.queries == agent.asked <= most
    (question,) = questions
    assert f"makes up to {most} LLM queries" in question
    assert {load_run(made, folder).header.program for made in found.runs} == {"steps"}
    assert str(found).startswith(f"Row {found.row} of run {run.id}, the end of ")
    assert str(found).endswith("without it 0 of 2 times.")


def test_what_a_bad_run_has_too_is_not_tried(folder: Path) -> None:
    agent = StepAgent(5, {7})
    good = record(agent, folder)
    edit = 5  # the first outcome that the bad run has otherwise
    rows = [event.end_seq for event in cuts(good).outcomes]
    agent.is_good = True
    fork_run(good, rows[edit], agent.run, edit="wrong")
    bad = StoredRun(list_runs(folder).index[-1], folder)
    agent.is_good = False
    found = find_deciding_event(good, bad, agent.run, check=passes, yes=True)
    assert found.event == cuts(good).outcomes[7]
    assert [probe.row for probe in found.probes] == [rows[9], rows[6], rows[7]]


def test_several_events_decide_and_the_last_of_them_is_found(folder: Path) -> None:
    """Up to the last of them the agent needs them all."""
    agent = StepAgent(4, {1, 6})
    run = record(agent, folder)
    found = find_deciding_event(run, None, agent.run, check=passes, yes=True)
    assert found.event == cuts(run).outcomes[6]


def test_nothing_decides_where_the_agent_passes_anyhow(folder: Path) -> None:
    agent = StepAgent(3, set())
    run = record(agent, folder)
    found = find_deciding_event(run, None, agent.run, check=passes, yes=True)
    assert found.event is None and found.row is None and found.name is None
    assert "No event decides: where the agent goes on by itself from its start" in str(found)
    assert found.queries == 6  # of three executions two say it


def test_nothing_is_searched_where_the_good_run_does_not_pass(folder: Path) -> None:
    agent = StepAgent(3, {2})
    run = record(agent, folder)
    found = find_deciding_event(run, None, agent.run, check=lambda _: False, yes=True)
    assert "executed again from its recording, doesn't pass the check, 0 of 1 times" in str(found)
    assert agent.asked == 0


def test_nothing_decides_where_the_good_run_has_no_outcomes(folder: Path) -> None:
    agent = StepAgent(0, set())
    good, bad = record(agent, folder), record(agent, folder)
    found = find_deciding_event(good, bad, agent.run, check=passes, yes=True)
    assert found.event is None
    assert "where the agent goes on by itself from its start it passes the check too" in str(found)
    assert len(found.runs) == 1


def test_who_declines_pays_nothing(folder: Path) -> None:
    agent = StepAgent(3, {2})
    run = record(agent, folder)
    found = find_deciding_event(run, None, agent.run, check=passes, ask=lambda _: False)
    assert (found.probes, str(found)) == ((), "You declined, and the search ended there.")


def test_an_agent_that_asks_more_than_recorded_is_asked_about_again(folder: Path) -> None:
    agent = StepAgent(2, {3})
    run = record(agent, folder)
    questions: list[str] = []

    def ask(question: str) -> bool:
        questions.append(question)
        return len(questions) < 2

    def run_longer() -> str:
        agent.length = 40
        return agent.run()

    found = find_deciding_event(run, None, run_longer, check=passes, repeat=1, ask=ask)
    assert "The agent made more LLM queries than recorded" in questions[-1]
    assert str(found) == "You declined, and the search ended there."


def test_an_agent_that_raises_does_not_pass(folder: Path) -> None:
    agent = StepAgent(3, {4})

    def run_strictly() -> str:
        came = agent.run()
        if came != "passed":
            raise LookupError(came)
        return came

    run = record(agent, folder)
    found = find_deciding_event(run, None, run_strictly, check=passes, yes=True)
    assert found.event == cuts(run).outcomes[4]


@pytest.mark.slow
@pytest.mark.parametrize("is_shell", [True, False])
def test_a_command_checks(folder: Path, is_shell: bool) -> None:
    agent = StepAgent(3, {3})
    run = record(agent, folder)
    program = (
        "import json, os, sys; "
        "sys.exit(json.load(sys.stdin) != 'passed' or not os.environ['AGENTSTEPPER_RUN'])"
    )
    words = [sys.executable, "-c", program]
    check = shlex.join(words) if is_shell else words
    found = find_deciding_event(run, None, agent.run, check=check, yes=True)
    assert found.event == cuts(run).outcomes[3]


def test_a_command_reads_the_repr_of_what_json_has_not(folder: Path) -> None:
    agent = StepAgent(1, {1})
    run = record(agent, folder)

    def run_keyed() -> dict[tuple[int, int], str]:
        return {(1, 2): agent.run()}

    check = """grep -qF "{(1, 2): 'passed'}" """
    found = find_deciding_event(run, None, run_keyed, check=check, yes=True)
    assert found.event == cuts(run).outcomes[1]


def test_a_command_that_is_none_is_an_error(folder: Path) -> None:
    agent = StepAgent(1, {0})
    run = record(agent, folder)
    with pytest.raises(ValueError, match="can't be executed: it ended with 127"):
        find_deciding_event(run, None, agent.run, check="no-such-command-7", yes=True)
    with pytest.raises(ValueError, match="repeat=0 isn't allowed"):
        find_deciding_event(run, None, agent.run, check=passes, repeat=0)


@pytest.mark.slow
async def test_an_async_agent_is_awaited(folder: Path) -> None:
    agent = StepAgent(3, {2})
    run = record(agent, folder)

    async def run_async() -> str:
        return agent.run()

    found = await find_deciding_event(run, None, run_async, check=passes, yes=True)
    assert found.event == cuts(run).outcomes[2]


class ParallelAgent:
    """Branches with sub-agents, side by side; one outcome of one of them decides.

    Args:
        seed: Of its program.
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.is_good = True
        self.came: dict[str, str] = {}
        self.deciding = ""

    async def ask(self, question: str) -> str:
        await asyncio.sleep(0)
        return "right" if self.is_good else "wrong"

    async def run(self) -> str:
        self.came = {}
        async with AsyncAgentStepper("branches", stop_on_entry=False, mode="continue") as dbg:
            ask = dbg.traced_llm(self.ask, model="m")
            helper = dbg.traced_tool(self.make_helper(ask), name="helper")
            await self.branch(random.Random(self.seed), ask, helper, "0", 2)
        return "passed" if self.came.get(self.deciding, "right") == "right" else "failed"

    def make_helper(self, ask: Any) -> Any:
        async def helper(path: str, seed: int) -> str:
            await self.branch(random.Random(seed), ask, None, path, 1)
            return "helped"

        return helper

    async def branch(
        self, program: random.Random, ask: Any, helper: Any, path: str, depth: int
    ) -> None:
        for number in range(program.randint(1, 3)):
            here = f"{path}.{number}"
            kind = program.choice(["ask", "gather", "helper"]) if depth else "ask"
            if kind == "gather":
                seeds = [program.random() for _ in range(2)]
                await asyncio.gather(
                    *(
                        self.branch(random.Random(seed), ask, helper, f"{here}.{at}", depth - 1)
                        for at, seed in enumerate(seeds)
                    )
                )
            elif kind == "helper" and helper is not None:
                await helper(here, program.randint(0, 99))
            else:
                self.came[here] = await ask(here)


@pytest.mark.slow
@pytest.mark.parametrize("seed", spread(10))
async def test_the_branch_that_decides_is_found(folder: Path, seed: int) -> None:
    agent = ParallelAgent(seed)
    await agent.run()
    run = StoredRun(list_runs(folder).index[-1], folder)
    agent.is_good = False
    agent.deciding = random.Random(seed).choice(sorted(agent.came))
    found = await find_deciding_event(run, None, agent.run, check=passes, repeat=1, yes=True)
    assert found.event is not None
    assert json.loads(found.event.request) == {"question": agent.deciding}


@pytest.mark.parametrize("length", range(1, 40))
def test_the_search_finds_each_cut_in_few_steps(length: int) -> None:
    for wanted in range(1, length + 1):
        search, tried = search_cuts(0, length), 0
        try:
            cut = next(search)
            while True:
                tried += 1
                cut = search.send(cut >= wanted)
        except StopIteration as done:
            assert done.value == wanted
        assert tried <= (length - 1).bit_length()
