"""Calls that come again, and cycles of calls."""

from __future__ import annotations

from msgspec import UNSET

from agentstepper_nb.core.effects.repetition import RepetitionCounter
from agentstepper_nb.protocol.effects import Repetition

from .tool_runs import ToolRun, changed


def repetition(run: ToolRun) -> Repetition | None:
    report = run.report
    return None if report is None or report.repetition is UNSET else report.repetition


def test_a_call_with_the_same_result_is_counted() -> None:
    run = ToolRun()
    run.call("run_tests", {}, "exit code 1\n1 failed in 0.12s")
    assert repetition(run) is None
    run.call("run_tests", {}, "exit code 1\n1 failed in 3.4s")
    assert repetition(run) == Repetition(count=2, first=2, last=2, is_unchanged=True)
    run.call("run_tests", {}, "exit code 1\n1 failed in 0.3s", changed("a.log"))
    assert repetition(run) == Repetition(count=3, first=2, last=4, is_unchanged=False)
    run.call("run_tests", {}, "exit code 0\n1 passed in 0.3s")
    assert repetition(run) is None
    run.call("run_tests", {}, "exit code 1\n1 failed in 0.3s")
    assert repetition(run) is None


def test_other_arguments_are_another_call_whatever_their_order() -> None:
    run = ToolRun()
    run.call("read", {"a": 1, "b": 2}, "x")
    run.call("read", {"b": 2, "a": 1}, "x")
    assert repetition(run) is not None
    run.call("read", {"a": 2, "b": 2}, "x")
    assert repetition(run) is None


def test_a_cycle_of_calls_is_told_with_its_length_each_time_it_came() -> None:
    run = ToolRun()
    told = []
    for number in range(12):
        run.call("edit" if number % 2 == 0 else "test", {"same": 1}, f"result {number}")
        told.append(repetition(run))
    cycles = [(each.cycle, each.count, each.first) for each in told if each is not None]
    assert cycles == [(2, 3, 2), (2, 4, 6), (2, 5, 10), (2, 6, 14)]
    assert told[5] is not None


def test_a_call_is_forgotten_after_two_thousand_others() -> None:
    counter = RepetitionCounter()
    for seq in range(2001):
        assert counter.count("read", b"%d" % seq, b"x", seq, 0) is None
    assert counter.count("read", b"2", b"x", 2001, 0) == Repetition(
        count=2, first=2, last=2, is_unchanged=True
    )
    assert counter.count("read", b"0", b"x", 2002, 0) is None
