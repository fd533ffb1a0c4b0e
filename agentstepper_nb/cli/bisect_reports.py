"""Reports the progress of a search for the deciding event, to the terminal or to the Core."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import Protocol

import msgspec

from ..protocol.run_programs import (
    BisectProbe,
    BisectReport,
    FailureReport,
    ProbeReport,
    QuestionReport,
    ResultReport,
)
from ..replay.cut_search import DecidingEvent, Probe
from ..replay.deciding_event import ask_person


class SearchReporter(Protocol):
    """Hears of a search, and asks for it."""

    def ask(self, question: str, queries: int) -> bool:
        """Whether the person agrees to so many LLM queries."""

    def show(self, probe: Probe) -> None:
        """Report that a probe began, or one of its executions ended."""

    def end(self, found: DecidingEvent) -> None:
        """Report the end of the search."""

    def fail(self, message: str) -> None:
        """The search failed."""


def open_reporter(descriptor: int | None) -> SearchReporter:
    """Open the reporter of the search.

    Args:
        descriptor: A pipe to the Core; None: report to the terminal.
    """
    return _TerminalReporter() if descriptor is None else _CoreReporter(descriptor)


class _TerminalReporter:
    """Asks a person at the terminal, and reports only the result."""

    def ask(self, question: str, queries: int) -> bool:
        return ask_person(question)

    def show(self, probe: Probe) -> None:
        pass

    def end(self, found: DecidingEvent) -> None:
        pass

    def fail(self, message: str) -> None:
        pass


class _CoreReporter:
    """Writes reports into a pipe, and reads answers from standard input.

    Args:
        descriptor: The pipe's.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._begun = 0  # probes

    def ask(self, question: str, queries: int) -> bool:
        self._write(QuestionReport(text=question, queries=queries))
        return sys.stdin.readline().strip() == "yes"  # the Core that is gone says nothing

    def show(self, probe: Probe) -> None:
        if not probe.votes:
            self._begun += 1
        told = BisectProbe(row=probe.row, votes=probe.votes, runs=probe.runs, queries=probe.queries)
        self._write(ProbeReport(number=self._begun - 1, probe=told))

    def end(self, found: DecidingEvent) -> None:
        self._write(ResultReport(message=found.message, row=found.row))

    def fail(self, message: str) -> None:
        self._write(FailureReport(message=message))

    def _write(self, report: BisectReport) -> None:
        line = memoryview(msgspec.json.encode(report) + b"\n")
        with suppress(BrokenPipeError):  # the search goes on where its Core ends
            while line:
                line = line[os.write(self._descriptor, line) :]
