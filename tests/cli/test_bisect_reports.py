"""What a search tells the Core that started it, and what becomes of it where that Core is gone."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator

import pytest

from agentstepper_nb.cli.bisect_reports import open_reporter
from agentstepper_nb.protocol.run_programs import (
    BisectProbe,
    BisectReport,
    FailureReport,
    ProbeReport,
    QuestionReport,
    ResultReport,
    bisect_report_decoder,
)
from agentstepper_nb.replay.cut_search import DecidingEvent, Probe


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    ends = os.pipe()
    yield ends
    for end in ends:
        try:
            os.close(end)
        except OSError:  # the test has closed it
            continue


def read_reports(end: int) -> list[BisectReport]:
    return [bisect_report_decoder.decode(line) for line in os.read(end, 65536).splitlines()]


def test_each_probe_keeps_its_number(pipe: tuple[int, int]) -> None:
    reporter = open_reporter(pipe[1])
    reporter.show(Probe(7, (), (), 0))
    reporter.show(Probe(7, (True,), ("x",), 2))
    reporter.show(Probe(4, (), (), 0))
    reporter.end(DecidingEvent("None.", None, ()))
    reporter.fail("No.")
    assert read_reports(pipe[0]) == [
        ProbeReport(number=0, probe=BisectProbe(row=7, votes=(), runs=(), queries=0)),
        ProbeReport(number=0, probe=BisectProbe(row=7, votes=(True,), runs=("x",), queries=2)),
        ProbeReport(number=1, probe=BisectProbe(row=4, votes=(), runs=(), queries=0)),
        ResultReport(message="None.", row=None),
        FailureReport(message="No."),
    ]


@pytest.mark.parametrize(("answer", "agrees"), [("yes\n", True), ("no\n", False), ("", False)])
def test_the_core_answers_and_one_that_is_gone_declines(
    pipe: tuple[int, int], monkeypatch: pytest.MonkeyPatch, answer: str, agrees: bool
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(answer))
    assert open_reporter(pipe[1]).ask("Up to 6?", 6) is agrees
    assert read_reports(pipe[0]) == [QuestionReport(text="Up to 6?", queries=6)]


def test_a_search_goes_on_where_its_core_is_gone(pipe: tuple[int, int]) -> None:
    os.close(pipe[0])
    reporter = open_reporter(pipe[1])
    reporter.show(Probe(7, (), (), 0))
    reporter.end(DecidingEvent("None.", None, ()))


def test_a_terminal_is_told_the_result_alone(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))
    reporter = open_reporter(None)
    assert reporter.ask("Up to 6?", 6)
    reporter.show(Probe(7, (), (), 0))
    reporter.end(DecidingEvent("None.", None, ()))
    reporter.fail("No.")
    assert capfd.readouterr().out == "Up to 6? [y/N] "
