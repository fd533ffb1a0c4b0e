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
from tests.hub.summary_model import HubStage

Open = Callable[..., Any]


@pytest.fixture(params=["memory", "sqlite"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Open:
    @asynccontextmanager
    async def opened(pace: RateLimits = RateLimits(burst=1000)) -> AsyncIterator[HubStage]:  # noqa: B008
        sqlite = request.param == "sqlite"
        stage = HubStage(open_store(tmp_path) if sqlite else MemoryStore(), pace)
        await stage.hub.start()
        try:
            yield stage
        finally:
            await stage.hub.close()
        assert stage.model.closed == 1

    return opened


# ---- what is asked ---------------------------------------------------------------------------------


async def each_step_gets_one(opened: Open) -> None:
    async with opened() as stage:
        stage.start()
        event = stage.begin()
        begin = stage.reach(event, data='"lunch"')
        await stage.settled()
        assert await stage.sentence(begin) == "It is about lunch"
        assert stage.debugger.pending("run")[0].model_summary == "It is about lunch"
        stage.step(begin)
        end = stage.reach(event, EventSide.END, data='"soup"')
        stage.step(end)
        stage.finish()
        await stage.settled()
        assert await stage.sentence(end) == "It is about soup"
        assert await stage.sentence(begin) == "It is about lunch"
        assert stage.model.asked == ["lunch", "soup"]


async def who_has_spoken_for_itself_isnt_asked_about(opened: Open) -> None:
    async with opened() as stage:
        stage.start()
        own = stage.ask("lunch", summary="Wants lunch.")
        stage.step(own)
        stage.say('"hm"')
        commit = Commit(id="mine", run="run", at=0, title="My title")
        stage.perform(stage.debugger.add_commit(commit))
        await stage.settled()
        assert stage.model.asked == []


async def commits_without_a_title_get_one(opened: Open) -> None:
    async with opened() as stage:
        stage.start()
        for id in ("snapshot", "commit"):
            commit = Commit(
                id=id,
                run="run",
                at=0,
                title="Change",
                has_rule_title=True,
                snapshot=id == "snapshot",
            )
            stage.perform(stage.debugger.add_commit(commit))
        await stage.settled()
        assert await stage.sentence("commit") == await stage.sentence("snapshot") == "It is about"


async def the_same_isnt_asked_twice(opened: Open) -> None:
    async with opened() as stage:
        stage.start()
        stage.resume()
        stage.ask("lunch")
        await stage.settled()
        stage.start("other")
        again = stage.ask("lunch", run="other")
        await stage.settled()
        assert await stage.sentence(again, "other") == "It is about lunch"
        stage.finish()
        stage.delete()
        await stage.settled()
        stage.step(again, run="other")
        third = stage.ask("lunch", run="other")
        await stage.settled()
        assert await stage.sentence(third, "other") == "It is about lunch"
        assert stage.model.asked == ["lunch"]


async def a_deleted_runs_sentences_are_gone(opened: Open) -> None:
    async with opened() as stage:
        for run in ("run", "other"):
            stage.start(run)
            stage.resume(run=run)
            stage.ask("lunch", run=run)
            await stage.settled()
            stage.finish(run)
            stage.delete(run)
        assert stage.model.asked == ["lunch", "lunch"]


async def the_same_at_a_time_is_asked_once(opened: Open) -> None:
    async with opened() as stage:
        stage.start()
        stage.resume()
        stage.model.free.clear()
        points = [stage.ask("lunch") for _ in range(6)]
        await stage.model.was_asked(1)
        stage.model.free.set()
        await stage.settled()
        assert stage.model.asked == ["lunch"]
        for point in points:
            assert await stage.sentence(point) == "It is about lunch"


# ---- who is next -----------------------------------------------------------------------------------


async def who_is_halted_goes_first_then_the_newest(opened: Open) -> None:
    async with opened() as stage:
        stage.model.free.clear()
        for run in ("fast", "halted"):
            stage.start(run)
        stage.resume(run="fast")
        for n in range(3):
            stage.ask(f"{n}", run="fast")
        await stage.model.was_asked(2)
        stage.ask("person", run="halted")
        for n in range(3, 6):
            stage.ask(f"{n}", run="fast")
        await stage.hub.wait_recorded()
        assert sorted(stage.model.asked) == ["0", "1"]
        stage.model.free.set()
        await stage.settled()
        assert stage.model.asked[2:] == ["person", "5", "4", "3", "2"]


async def who_is_answered_meanwhile_waits_like_the_others(opened: Open) -> None:
    async with opened() as stage:
        stage.model.free.clear()
        stage.start("fast")
        stage.resume(run="fast")
        stage.start("halted")
        for n in range(2):
            stage.ask(f"{n}", run="fast")
        await stage.model.was_asked(2)
        person = stage.ask("person", run="halted")
        stage.ask("2", run="fast")
        stage.step(person, run="halted")
        await stage.hub.wait_recorded()
        stage.model.free.set()
        await stage.settled()
        assert stage.model.asked[2:] == ["2", "person"]


async def too_many_leave_the_oldest_out(opened: Open) -> None:
    async with opened() as stage:
        stage.model.free.clear()
        stage.start()
        stage.resume()
        points = [stage.ask("0"), stage.ask("1")]
        await stage.model.was_asked(2)
        points += [stage.ask(f"{n}") for n in range(2, MAX_QUEUED_SUMMARIES + 5)]
        stage.model.free.set()
        await stage.settled()
        missing = [n for n, point in enumerate(points) if await stage.sentence(point) is None]
        assert missing == [2, 3, 4]


async def no_more_than_the_pace_allows(opened: Open) -> None:
    async with opened(RateLimits(per_minute=60, burst=3)) as stage:
        stage.start()
        stage.resume()
        for n in range(10):
            stage.ask(f"{n}")
        await stage.settled()
        assert len(stage.model.asked) == 10
        assert 7 <= stage.clock.now < 16  # two that sleep at a time move this clock twice
        before = stage.clock.now
        stage.ask("9")
        await stage.settled()
        assert stage.clock.now == before  # what is known costs nothing


# ---- what is taken back ----------------------------------------------------------------------------


async def an_edit_takes_the_question_and_the_sentence_back(opened: Open) -> None:
    async with opened() as stage:
        stage.start()
        point = stage.ask("lunch")
        await stage.settled()
        stage.model.free.clear()
        stage.edit(point, '"tea"', 1)
        await stage.model.was_asked(2)
        assert await stage.sentence(point) is None
        stage.edit(point, '"cake"', 2)
        await stage.model.was_asked(3)
        assert stage.model.cancelled == 1
        stage.model.free.set()
        await stage.settled()
        assert await stage.sentence(point) == "It is about cake"
        stage.edit(point, None, 3)
        await stage.settled()
        assert await stage.sentence(point) == "It is about lunch"
        assert stage.model.asked == ["lunch", "tea", "cake"]


async def an_answer_that_crosses_an_edit_isnt_shown(opened: Open) -> None:
    """The edit is made, and not recorded yet, when the model has answered."""
    async with opened() as stage:
        stage.start()
        point = stage.ask("lunch")
        stage.model.reply = lambda data: (
            stage.edit(point, '"tea"', 1) or "Lunch." if data == "lunch" else "Tea."  # type: ignore[func-returns-value]
        )
        await stage.settled()
        await stage.settled()
        assert await stage.sentence(point) == "Tea"
        assert stage.made == ["Tea"]


async def deleting_the_run_takes_the_questions_back(opened: Open) -> None:
    async with opened() as stage:
        stage.model.free.clear()
        stage.start()
        stage.resume()
        for n in range(5):
            stage.ask(f"{n}")
        await stage.model.was_asked(2)
        stage.finish()
        stage.delete()
        await stage.settled()  # though nobody lets the model go
        assert (len(stage.model.asked), stage.model.cancelled) == (2, 2)


async def closing_takes_all_back(opened: Open) -> None:
    async with opened() as stage:
        stage.start("other")
        stage.ask("halted", run="other", summary="Halts.")
        stage.model.free.clear()
        stage.start()
        stage.resume()
        for n in range(5):
            stage.ask(f"{n}")
        await stage.model.was_asked(2)
        await stage.hub.close()
        point = replace(stage.debugger.pending("other")[0], summary=None)
        stage.sentences.notify(RecordOutput(HaltPointSaved(halt_point=point), point))
        await stage.sentences.wait_idle()
        assert (len(stage.model.asked), stage.model.cancelled) == (2, 2)


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
    async with opened() as stage:
        stage.start()
        stage.resume()
        stage.model.reply = reply
        points = [stage.ask(f"{n}") for n in range(8)]
        await stage.settled()
        assert [await stage.sentence(point) for point in points] == [None] * 8
        assert len(stage.model.asked) == 8
        assert stage.clock.now > 60  # it was left alone for a while
        said = [r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING]
        assert len(said) == 1
        assert said[0].startswith("a summary is made by rule, since the model failed: The model m")
        stage.model.reply = lambda data: "It works."
        late = stage.ask("8")
        await stage.settled()
        assert await stage.sentence(late) == "It works"
        stage.model.reply = reply
        stage.ask("9")
        await stage.settled()
        before = stage.clock.now
        stage.ask("10")
        await stage.settled()
        assert stage.clock.now - before < 2  # it has worked meanwhile


async def the_agent_doesnt_wait(opened: Open) -> None:
    async with opened() as stage:
        stage.model.free.clear()
        stage.start()
        for n in range(20):
            stage.step(stage.ask(f"{n}"))
        stage.finish()
        await stage.hub.wait_recorded()
        assert not stage.run().live
        assert stage.model.answered == 0


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


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.__name__)
def test_sentences(scene: Callable[[Open], Any], opened: Open) -> None:
    asyncio.run(scene(opened))


@pytest.mark.parametrize("reply", FAILURES.values(), ids=list(FAILURES))
def test_failures(
    reply: Callable[[str], Any], opened: Open, caplog: pytest.LogCaptureFixture
) -> None:
    asyncio.run(a_model_that_fails_changes_nothing(opened, reply, caplog))
