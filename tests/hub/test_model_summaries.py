"""Sentences by a model in this process: what it is asked, when, and what becomes of its answers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from agentstepper_nb.core import RecordOutput
from agentstepper_nb.errors import ModelError
from agentstepper_nb.hub.model_summaries import MAX_QUEUED_SUMMARIES
from agentstepper_nb.hub.rate_limit import RateLimits
from agentstepper_nb.protocol.data_model import Commit, EventSide
from agentstepper_nb.protocol.records import HaltPointSaved
from agentstepper_nb.store import MemoryStore, open_store
from tests.helpers.sampling import select_sample
from tests.hub.summary_model import HubHarness

Open = Callable[..., Any]


@pytest.fixture(params=select_sample(["memory", "sqlite"], "sqlite"))
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Open:
    @asynccontextmanager
    async def opened(pace: RateLimits = RateLimits(burst=1000)) -> AsyncIterator[HubHarness]:  # noqa: B008
        sqlite = request.param == "sqlite"
        harness = HubHarness(open_store(tmp_path) if sqlite else MemoryStore(), pace)
        await harness.hub.start()
        try:
            yield harness
        finally:
            await harness.hub.close()
        assert harness.model.closed == 1

    return opened


# ---- what is asked ---------------------------------------------------------------------------------


async def each_step_gets_one(opened: Open) -> None:
    async with opened() as harness:
        harness.start()
        event = harness.begin()
        begin = harness.reach(event, data='"lunch"')
        await harness.wait_until_settled()
        assert await harness.read_summary(begin) == "It is about lunch"
        assert harness.debugger.pending("run")[0].model_summary == "It is about lunch"
        harness.step(begin)
        end = harness.reach(event, EventSide.END, data='"soup"')
        harness.step(end)
        harness.finish()
        await harness.wait_until_settled()
        assert await harness.read_summary(end) == "It is about soup"
        assert await harness.read_summary(begin) == "It is about lunch"
        assert harness.model.requests == ["lunch", "soup"]


async def who_has_spoken_for_itself_isnt_asked_about(opened: Open) -> None:
    async with opened() as harness:
        harness.start()
        own = harness.reach_query("lunch", summary="Wants lunch.")
        harness.step(own)
        harness.post_debug_message('"hm"')
        commit = Commit(id="mine", run="run", at=0, title="My title")
        harness.perform(harness.debugger.add_commit(commit))
        await harness.wait_until_settled()
        assert harness.model.requests == []


async def commits_without_a_title_get_one(opened: Open) -> None:
    async with opened() as harness:
        harness.start()
        for id in ("snapshot", "commit"):
            commit = Commit(
                id=id,
                run="run",
                at=0,
                title="Change",
                has_rule_title=True,
                snapshot=id == "snapshot",
            )
            harness.perform(harness.debugger.add_commit(commit))
        await harness.wait_until_settled()
        assert (
            await harness.read_summary("commit")
            == await harness.read_summary("snapshot")
            == "It is about"
        )


async def the_same_isnt_asked_twice(opened: Open) -> None:
    async with opened() as harness:
        harness.start()
        harness.resume()
        harness.reach_query("lunch")
        await harness.wait_until_settled()
        harness.start("other")
        again = harness.reach_query("lunch", run="other")
        await harness.wait_until_settled()
        assert await harness.read_summary(again, "other") == "It is about lunch"
        harness.finish()
        harness.delete()
        await harness.wait_until_settled()
        harness.step(again, run="other")
        third = harness.reach_query("lunch", run="other")
        await harness.wait_until_settled()
        assert await harness.read_summary(third, "other") == "It is about lunch"
        assert harness.model.requests == ["lunch"]


async def a_deleted_runs_sentences_are_gone(opened: Open) -> None:
    async with opened() as harness:
        for run in ("run", "other"):
            harness.start(run)
            harness.resume(run=run)
            harness.reach_query("lunch", run=run)
            await harness.wait_until_settled()
            harness.finish(run)
            harness.delete(run)
        assert harness.model.requests == ["lunch", "lunch"]


async def the_same_at_a_time_is_asked_once(opened: Open) -> None:
    async with opened() as harness:
        harness.start()
        harness.resume()
        harness.model.free.clear()
        points = [harness.reach_query("lunch") for _ in range(6)]
        await harness.model.wait_for_request(1)
        harness.model.free.set()
        await harness.wait_until_settled()
        assert harness.model.requests == ["lunch"]
        for point in points:
            assert await harness.read_summary(point) == "It is about lunch"


# ---- who is next -----------------------------------------------------------------------------------


async def who_is_halted_goes_first_then_the_newest(opened: Open) -> None:
    async with opened() as harness:
        harness.model.free.clear()
        for run in ("fast", "halted"):
            harness.start(run)
        harness.resume(run="fast")
        for n in range(3):
            harness.reach_query(f"{n}", run="fast")
        await harness.model.wait_for_request(2)
        harness.reach_query("person", run="halted")
        for n in range(3, 6):
            harness.reach_query(f"{n}", run="fast")
        await harness.hub.wait_recorded()
        assert sorted(harness.model.requests) == ["0", "1"]
        harness.model.free.set()
        await harness.wait_until_settled()
        assert harness.model.requests[2:] == ["person", "5", "4", "3", "2"]


async def who_is_answered_meanwhile_waits_like_the_others(opened: Open) -> None:
    async with opened() as harness:
        harness.model.free.clear()
        harness.start("fast")
        harness.resume(run="fast")
        harness.start("halted")
        for n in range(2):
            harness.reach_query(f"{n}", run="fast")
        await harness.model.wait_for_request(2)
        person = harness.reach_query("person", run="halted")
        harness.reach_query("2", run="fast")
        harness.step(person, run="halted")
        await harness.hub.wait_recorded()
        harness.model.free.set()
        await harness.wait_until_settled()
        assert harness.model.requests[2:] == ["2", "person"]


async def too_many_leave_the_oldest_out(opened: Open) -> None:
    async with opened() as harness:
        harness.model.free.clear()
        harness.start()
        harness.resume()
        points = [harness.reach_query("0"), harness.reach_query("1")]
        await harness.model.wait_for_request(2)
        points += [harness.reach_query(f"{n}") for n in range(2, MAX_QUEUED_SUMMARIES + 5)]
        harness.model.free.set()
        await harness.wait_until_settled()
        missing = [n for n, point in enumerate(points) if await harness.read_summary(point) is None]
        assert missing == [2, 3, 4]


async def no_more_than_the_pace_allows(opened: Open) -> None:
    async with opened(RateLimits(per_minute=60, burst=3)) as harness:
        harness.start()
        harness.resume()
        for n in range(10):
            harness.reach_query(f"{n}")
        await harness.wait_until_settled()
        assert len(harness.model.requests) == 10
        assert 7 <= harness.clock.now < 16  # two that sleep at a time move this clock twice
        before = harness.clock.now
        harness.reach_query("9")
        await harness.wait_until_settled()
        assert harness.clock.now == before  # what is known costs nothing


# ---- what is taken back ----------------------------------------------------------------------------


async def an_edit_takes_the_question_and_the_sentence_back(opened: Open) -> None:
    async with opened() as harness:
        harness.start()
        point = harness.reach_query("lunch")
        await harness.wait_until_settled()
        harness.model.free.clear()
        harness.edit(point, '"tea"', 1)
        await harness.model.wait_for_request(2)
        assert await harness.read_summary(point) is None
        harness.edit(point, '"cake"', 2)
        await harness.model.wait_for_request(3)
        assert harness.model.cancelled == 1
        harness.model.free.set()
        await harness.wait_until_settled()
        assert await harness.read_summary(point) == "It is about cake"
        harness.edit(point, None, 3)
        await harness.wait_until_settled()
        assert await harness.read_summary(point) == "It is about lunch"
        assert harness.model.requests == ["lunch", "tea", "cake"]


async def an_answer_that_crosses_an_edit_isnt_shown(opened: Open) -> None:
    """The edit is made, and not recorded yet, when the model has answered."""
    async with opened() as harness:
        harness.start()
        point = harness.reach_query("lunch")
        harness.model.reply = lambda data: (
            harness.edit(point, '"tea"', 1) or "Lunch." if data == "lunch" else "Tea."  # type: ignore[func-returns-value]
        )
        await harness.wait_until_settled()
        await harness.wait_until_settled()
        assert await harness.read_summary(point) == "Tea"
        assert harness.saved_summaries == ["Tea"]


async def deleting_the_run_takes_the_questions_back(opened: Open) -> None:
    async with opened() as harness:
        harness.model.free.clear()
        harness.start()
        harness.resume()
        for n in range(5):
            harness.reach_query(f"{n}")
        await harness.model.wait_for_request(2)
        harness.finish()
        harness.delete()
        await harness.wait_until_settled()  # though nobody lets the model go
        assert (len(harness.model.requests), harness.model.cancelled) == (2, 2)


async def closing_takes_all_back(opened: Open) -> None:
    async with opened() as harness:
        harness.start("other")
        harness.reach_query("halted", run="other", summary="Halts.")
        harness.model.free.clear()
        harness.start()
        harness.resume()
        for n in range(5):
            harness.reach_query(f"{n}")
        await harness.model.wait_for_request(2)
        await harness.hub.close()
        point = replace(harness.debugger.pending("other")[0], summary=None)
        harness.sentences.notify(RecordOutput(HaltPointSaved(halt_point=point), point))
        await harness.sentences.wait_idle()
        assert (len(harness.model.requests), harness.model.cancelled) == (2, 2)


# ---- what goes wrong -------------------------------------------------------------------------------


def fail(error: Exception) -> Callable[[str], str]:
    def reply(data: str) -> str:
        raise error

    return reply


FAILURES: dict[str, Callable[[str], Any]] = {
    "refused": fail(ModelError("refused", "The model m answered 401.")),
    "raises": fail(ZeroDivisionError("a\nb")),
    "too slow": fail(TimeoutError()),
    "empty": lambda data: "",
    "no sentence": lambda data: "**\n#\n",
    "no text": lambda data: 7,
}


async def a_model_that_fails_changes_nothing(
    opened: Open, reply: Callable[[str], Any], caplog: pytest.LogCaptureFixture
) -> None:
    async with opened() as harness:
        harness.start()
        harness.resume()
        harness.model.reply = reply
        points = [harness.reach_query(f"{n}") for n in range(8)]
        await harness.wait_until_settled()
        assert [await harness.read_summary(point) for point in points] == [None] * 8
        assert len(harness.model.requests) == 8
        assert harness.clock.now > 60  # it was left alone for a while
        said = [r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING]
        assert len(said) == 1
        assert said[0].startswith("a summary is made by rule, since the model failed: The model m")
        harness.model.reply = lambda data: "It works."
        late = harness.reach_query("8")
        await harness.wait_until_settled()
        assert await harness.read_summary(late) == "It works"
        harness.model.reply = reply
        harness.reach_query("9")
        await harness.wait_until_settled()
        before = harness.clock.now
        harness.reach_query("10")
        await harness.wait_until_settled()
        assert harness.clock.now - before < 2  # it has worked meanwhile


async def the_agent_doesnt_wait(opened: Open) -> None:
    async with opened() as harness:
        harness.model.free.clear()
        harness.start()
        for n in range(20):
            harness.step(harness.reach_query(f"{n}"))
        harness.finish()
        await harness.hub.wait_recorded()
        assert not harness.run().live
        assert harness.model.answered == 0


SCENES = [
    each_step_gets_one,
    who_has_spoken_for_itself_isnt_asked_about,
    commits_without_a_title_get_one,
    the_same_isnt_asked_twice,
    a_deleted_runs_sentences_are_gone,
    the_same_at_a_time_is_asked_once,
    who_is_halted_goes_first_then_the_newest,
    who_is_answered_meanwhile_waits_like_the_others,
    too_many_leave_the_oldest_out,
    no_more_than_the_pace_allows,
    an_edit_takes_the_question_and_the_sentence_back,
    an_answer_that_crosses_an_edit_isnt_shown,
    deleting_the_run_takes_the_questions_back,
    closing_takes_all_back,
    the_agent_doesnt_wait,
]


@pytest.mark.slow
@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.__name__)
def test_sentences(scene: Callable[[Open], Any], opened: Open) -> None:
    asyncio.run(scene(opened))


@pytest.mark.parametrize("reply", FAILURES.values(), ids=list(FAILURES))
def test_failures(
    reply: Callable[[str], Any], opened: Open, caplog: pytest.LogCaptureFixture
) -> None:
    asyncio.run(a_model_that_fails_changes_nothing(opened, reply, caplog))
