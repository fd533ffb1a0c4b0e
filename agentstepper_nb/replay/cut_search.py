"""Searches for the event that decides how an agent ends, and describes the result.

Each step of the search is one execution of the agent.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from .event_matcher import RecordedEvent
from .recording_cuts import RecordingCuts, search_cuts
from .recordings import Recording
from .result_json import encode_result

#: A check whether an outcome is good: a shell command, a command's words, or a function.
Check = str | Sequence[str] | Callable[[Any], object]
#: A function that asks a person before the search, and again if agents make more queries than estimated.
Ask = Callable[[str], bool]
#: A function that is called when a probe begins, and after each of its executions.
ProbeListener = Callable[["Probe"], None]

#: The exit codes of a shell that can't execute a command.
_NOT_EXECUTED: Final = (126, 127)
_DECLINED: Final = "You declined, and the search ended there."
_NONE_DECIDES: Final = (
    "No event decides: where the agent goes on by itself from {where} it passes the check too, "
    "{votes}. Try a larger repeat=, or another bad run."
)
_NOT_GOOD: Final = (
    "No event decides: run {run}, executed again from its recording, doesn't pass the check, {votes}. "
    "Correct the check, or choose another good run."
)


@dataclass(frozen=True)
class Probe:
    """Executions of an agent that were served the same recorded outcomes and went on by themselves.

    Args:
        row: The row of the last outcome that was served; 0: no outcome was served.
        votes: Whether each execution passed the check.
        runs: The ids of the executions' runs.
        queries: The number of LLM queries that the executions made.
    """

    row: int
    votes: tuple[bool, ...]
    runs: tuple[str, ...]
    queries: int

    @property
    def is_good(self) -> bool:
        """Whether more than half of the executions passed the check."""
        return sum(self.votes) * 2 > len(self.votes)

    def __str__(self) -> str:
        return f"{sum(self.votes)} of {len(self.votes)} times"


@dataclass(frozen=True)
class DecidingEvent:
    """The result of `find_deciding_event`.

    Args:
        message: The result in words, for a person.
        event: The deciding event: with its outcome the agent passes, without it the agent fails.
            None: no event decides.
        probes: The executions, in order.
    """

    message: str
    event: RecordedEvent | None
    probes: tuple[Probe, ...]

    @property
    def row(self) -> int | None:
        """The row of the good run at which the event ends."""
        return None if self.event is None else self.event.end_seq

    @property
    def name(self) -> str | None:
        """The name of the event's tool, model or type."""
        return None if self.event is None else self.event.key.name

    @property
    def runs(self) -> tuple[str, ...]:
        """The ids of the runs that the search made."""
        return tuple(run for probe in self.probes for run in probe.runs)

    @property
    def queries(self) -> int:
        """The number of LLM queries that the search made."""
        return sum(probe.queries for probe in self.probes)

    def __str__(self) -> str:
        return self.message


@dataclass(frozen=True)
class Execution:
    """The result of one execution of the agent."""

    run: str
    result: Any = None
    failure: Exception | None = None
    queries: int = 0


@dataclass(frozen=True)
class Cut:
    """The input of one execution of the agent.

    Args:
        count: How many outcomes are served.
        recording: The good run, without the later outcomes.
    """

    count: int
    recording: Recording


#: A generator that yields the next execution of the agent, and is sent the execution's result.
SearchSteps = Generator[Cut, Execution, DecidingEvent]


class CutSearch:
    """A search for the deciding event; the arguments are those of `find_deciding_event`.

    Args:
        on_probe: Called with the search's progress.
    """

    def __init__(
        self,
        good: Recording,
        bad: Recording | None,
        check: Check,
        repeat: int,
        ask: Ask,
        on_probe: ProbeListener | None = None,
    ) -> None:
        self._good = good
        self._check = check
        self._repeat = repeat
        self._ask = ask
        self._on_probe = on_probe or (lambda _: None)
        #: The LLM queries that the last question asked for, at most.
        self.asked_queries = 0
        self._cuts = RecordingCuts(good)
        self._is_low_known = bad is not None
        common = 0 if bad is None else self._cuts.count_common(bad)
        self._low = min(common, max(0, len(self._cuts.outcomes) - 1))
        self._agreed = 0  # LLM queries
        self._probes: list[Probe] = []

    def steps(self) -> SearchSteps:
        """Run the search as a generator: each step is one execution of the agent."""
        self._agreed = self._cuts.count_most_queries(self._low, self._repeat)
        try:
            self.asked_queries = self._agreed
            if not self._ask(self._describe_cost()):
                raise _DeclinedError
            return (yield from self._find())
        except _DeclinedError:
            return self._end(_DECLINED)

    def run(self, execute: Callable[[Cut], Execution]) -> DecidingEvent:
        """Run the search to its end.

        Args:
            execute: Executes the agent once.
        """
        steps = self.steps()
        try:
            cut = next(steps)
            while True:
                cut = steps.send(execute(cut))
        except StopIteration as done:
            found: DecidingEvent = done.value
            return found

    def _find(self) -> SearchSteps:
        high = len(self._cuts.outcomes)
        whole = yield from self._probe(high)
        if not whole.is_good:
            return self._end(_NOT_GOOD.format(run=self._good.run, votes=whole))
        if not high:
            return self._end_undecided()
        if not self._is_low_known and (yield from self._passes_alone()):
            return self._end_undecided()
        search = search_cuts(self._low, high)
        try:
            cut = next(search)
            while True:
                probe = yield from self._probe(cut)
                cut = search.send(probe.is_good)
        except StopIteration as done:
            cut = done.value
        is_low_tried = any(probe.row == self._find_row(cut - 1) for probe in self._probes)
        if not is_low_tried and (yield from self._passes_alone()):
            return self._end_undecided()
        event = self._cuts.outcomes[cut - 1]
        return self._end(self._describe_event(event, cut), event)

    def _passes_alone(self) -> Generator[Cut, Execution, bool]:
        """Whether the agent passes even where it goes on by itself from what is bad."""
        return (yield from self._probe(self._low)).is_good

    def _probe(self, cut: int) -> Generator[Cut, Execution, Probe]:
        """Execute the agent until more than half of the executions say the same."""
        recording, cost = self._cuts.make_recording(cut), self._cuts.count_queries(cut)
        votes: list[bool] = []
        runs: list[str] = []
        made = 0
        # Where nothing is live each execution is the same.
        repeat = self._repeat if cost or cut < len(self._cuts.outcomes) else 1
        probe = Probe(self._find_row(cut), (), (), 0)
        self._on_probe(probe)
        while not _is_decided(votes, repeat):
            self._check_budget(made + cost)
            came = yield Cut(cut, recording)
            votes.append(self._passes(came))
            runs.append(came.run)
            made += came.queries
            probe = replace(probe, votes=tuple(votes), runs=tuple(runs), queries=made)
            self._on_probe(probe)
        self._probes.append(probe)
        return probe

    def _check_budget(self, next_queries: int) -> None:
        """Ask again where more LLM queries are made than was agreed."""
        needed = sum(probe.queries for probe in self._probes) + next_queries
        if needed <= self._agreed:
            return
        self.asked_queries = 2 * needed
        question = (
            "The agent made more LLM queries than recorded: "
            f"{needed} are needed until the next check, and {self._agreed} were agreed. "
            f"Go on, with up to {self.asked_queries}?"
        )
        if not self._ask(question):
            raise _DeclinedError
        self._agreed = self.asked_queries

    def _passes(self, came: Execution) -> bool:
        if came.failure is not None:
            return False
        if callable(self._check):
            return bool(self._check(came.result))
        return run_check(self._check, came.run, encode_result(came.result))

    # ---- texts --------------------------------------------------------------------------------------

    def _describe_cost(self) -> str:
        tried = len(self._cuts.outcomes) - self._low
        return (
            f"To find which of {tried} events of run {self._good.run} decides, the agent is executed "
            f"up to {self._repeat} times for each event that is tried, and makes up to {self._agreed} "
            "LLM queries. Its tools run too, where they aren't served. Begin?"
        )

    def _describe_event(self, event: RecordedEvent, cut: int) -> str:
        votes = {probe.row: str(probe) for probe in self._probes}
        what = f"{event.key.kind.value} {event.key.name or ''}".strip()
        return (
            f"Row {event.end_seq} of run {self._good.run}, the end of {what}, decides: with its "
            f"outcome the agent passes {votes[self._find_row(cut)]}, without it "
            f"{votes[self._find_row(cut - 1)]}."
        )

    def _find_row(self, cut: int) -> int:
        return self._cuts.outcomes[cut - 1].end_seq or 0 if cut else 0

    def _end(self, message: str, event: RecordedEvent | None = None) -> DecidingEvent:
        return DecidingEvent(message, event, tuple(self._probes))

    def _end_undecided(self) -> DecidingEvent:
        where = f"row {self._find_row(self._low)}" if self._low else "its start"
        return self._end(_NONE_DECIDES.format(where=where, votes=self._probes[-1]))


class _DeclinedError(Exception):
    """The person said no."""


def _is_decided(votes: Sequence[bool], repeat: int) -> bool:
    """Whether more votes can't change what more than half of them say."""
    good = sum(votes)
    return good * 2 > repeat or (len(votes) - good) * 2 >= repeat


def run_check(command: str | Sequence[str], run: str, outcome: str) -> bool:
    """Run a command that checks an outcome; return whether the outcome is good.

    Args:
        command: The command: a text for a shell, or a list of words.
        run: The run's id.
        outcome: The text that the command reads.

    Raises:
        ValueError: The shell can't execute the command.
        OSError: The command is a list of words and can't be executed.
    """
    done = subprocess.run(
        command if isinstance(command, str) else list(command),
        shell=isinstance(command, str),
        input=outcome,
        text=True,
        env={**os.environ, "AGENTSTEPPER_RUN": run},
        check=False,
    )
    if done.returncode in _NOT_EXECUTED:
        raise ValueError(
            f"The check {command!r} can't be executed: it ended with {done.returncode}. "
            "Correct the command."
        )
    return done.returncode == 0
