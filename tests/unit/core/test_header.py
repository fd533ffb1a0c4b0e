"""What a run's header counts: the time that it was halted, its commits, and the size of its queries."""

from __future__ import annotations

import pytest

from agentstepper_nb.protocol.data_model import EventKind, EventSide, RunEnding, RunMode
from tests.helpers.debugger_harness import DebuggerHarness


@pytest.fixture
def harness() -> DebuggerHarness:
    harness = DebuggerHarness()
    harness.start()
    return harness


def halted(harness: DebuggerHarness) -> tuple[float | None, float | None]:
    return harness.run().halted_at, harness.run().halted_s


def test_the_time_that_a_person_takes_is_counted_apart(harness: DebuggerHarness) -> None:
    assert halted(harness) == (None, 0.0)
    harness.now = 1010.0
    event, _ = harness.begin_query()
    assert halted(harness) == (1010.0, 0.0)
    harness.now = 1040.0
    harness.step()
    assert halted(harness) == (None, 30.0)
    harness.now = 1045.0
    harness.reach(event, EventSide.END)
    harness.now = 1047.5
    harness.step()
    assert halted(harness) == (None, 32.5)


def test_what_waits_at_once_is_counted_once(harness: DebuggerHarness) -> None:
    harness.begin_query()
    harness.now = 1005.0
    harness.begin_query()
    harness.now = 1010.0
    harness.step()
    assert halted(harness) == (1000.0, 0.0)
    harness.now = 1020.0
    harness.step()
    assert halted(harness) == (None, 20.0)


def test_a_run_that_ends_while_it_is_halted_counts_until_then(harness: DebuggerHarness) -> None:
    harness.begin_query()
    harness.now = 1007.0
    harness.finish(ending=RunEnding.CRASHED)
    assert halted(harness) == (None, 7.0)


def test_what_doesnt_halt_costs_no_person_time() -> None:
    harness = DebuggerHarness()
    harness.start(mode=RunMode.CONTINUE)
    event, _ = harness.begin_query()
    harness.now = 1030.0
    harness.reach(event, EventSide.END)
    assert halted(harness) == (None, 0.0)


def test_a_commit_counts_once_something_has_changed(harness: DebuggerHarness) -> None:
    """The first one is the state that others are compared with: it changes nothing."""
    harness.commit(changes=())
    assert harness.run().commits == 0
    harness.commit(snapshot=True)
    harness.commit()
    assert harness.run().commits == 1
    harness.commit(changes=())  # a name for a moment at which nothing has changed since
    assert harness.run().commits == 2


def test_the_size_of_all_queries_and_answers_is_counted(harness: DebuggerHarness) -> None:
    harness.resume()
    event, _ = harness.begin_query()
    harness.reach(event, EventSide.END, data='"é"')
    harness.reach(harness.begin(EventKind.TOOL_INVOCATION), data='{"Tool": "ls", "Argument": null}')
    assert harness.run().query_bytes == len('"hello"') + len('"é"'.encode())
