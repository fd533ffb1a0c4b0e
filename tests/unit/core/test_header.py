"""What a run's header counts: the time that it was halted, its commits, and the size of its queries."""

from __future__ import annotations

import pytest

from agentstepper_nb.protocol.data_model import EventKind, EventSide, RunEnding, RunMode
from tests.helpers.stage import Stage


@pytest.fixture
def stage() -> Stage:
    stage = Stage()
    stage.start()
    return stage


def halted(stage: Stage) -> tuple[float | None, float | None]:
    return stage.run().halted_at, stage.run().halted_s


def test_the_time_that_a_person_takes_is_counted_apart(stage: Stage) -> None:
    assert halted(stage) == (None, 0.0)
    stage.now = 1010.0
    event, _ = stage.query()
    assert halted(stage) == (1010.0, 0.0)
    stage.now = 1040.0
    stage.step()
    assert halted(stage) == (None, 30.0)
    stage.now = 1045.0
    stage.reach(event, EventSide.END)
    stage.now = 1047.5
    stage.step()
    assert halted(stage) == (None, 32.5)


def test_what_waits_at_once_is_counted_once(stage: Stage) -> None:
    stage.query()
    stage.now = 1005.0
    stage.query()
    stage.now = 1010.0
    stage.step()
    assert halted(stage) == (1000.0, 0.0)
    stage.now = 1020.0
    stage.step()
    assert halted(stage) == (None, 20.0)


def test_a_run_that_ends_while_it_is_halted_counts_until_then(stage: Stage) -> None:
    stage.query()
    stage.now = 1007.0
    stage.finish(ending=RunEnding.CRASHED)
    assert halted(stage) == (None, 7.0)


def test_what_doesnt_halt_costs_no_person_time() -> None:
    stage = Stage()
    stage.start(mode=RunMode.CONTINUE)
    event, _ = stage.query()
    stage.now = 1030.0
    stage.reach(event, EventSide.END)
    assert halted(stage) == (None, 0.0)


def test_a_commit_counts_once_something_has_changed(stage: Stage) -> None:
    """The first one is the state that others are compared with: it changes nothing."""
    stage.commit(changes=())
    assert stage.run().commits == 0
    stage.commit(snapshot=True)
    stage.commit()
    assert stage.run().commits == 1
    stage.commit(changes=())  # a name for a moment at which nothing has changed since
    assert stage.run().commits == 2


def test_the_size_of_all_queries_and_answers_is_counted(stage: Stage) -> None:
    stage.resume()
    event, _ = stage.query()
    stage.reach(event, EventSide.END, data='"é"')
    stage.reach(stage.begin(EventKind.TOOL_INVOCATION), data='{"Tool": "ls", "Argument": null}')
    assert stage.run().query_bytes == len('"hello"') + len('"é"'.encode())
