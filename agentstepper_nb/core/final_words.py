"""A run's outcome: the agent's claim at the end, and facts in the record that contradict the claim."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from ..protocol.data_model import Failure, Run, RunEnding
from ..protocol.overview import Contradiction, RunOutcome

#: An exception by which a framework ends a run that went on for too long.
_LIMIT_TYPE: Final = re.compile(
    r"MaxTurns|MaxIterations|MaxSteps|RecursionError|RecursionLimit|IterationLimit|UsageLimit"
    r"|LimitExceeded|LimitsExceeded",
)
_LIMIT_WORDS: Final = re.compile(
    r"\b(?:max(?:imum)?(?: number of)?[ _-]?(?:turns?|iterations?|steps?|cycles|calls)"
    r"|(?:turn|iteration|step|recursion|call|cycle)s? limit|(?:ran )?out of (?:turns|steps|iterations)"
    r"|budget (?:is )?(?:exhausted|exceeded))\b",
    re.IGNORECASE,
)
_GAVE_UP: Final = re.compile(
    r"\b(?:i (?:give|gave|am giving) up|giving up|(?:i )?(?:could ?n.t|could not|cannot|can ?n.t"
    r"|was(?: not|n.t) able to|am unable to|(?:was )?unable to|failed to)"
    r" (?:fix|complete|finish|solve|find|resolve|make|get|do|start|build|reproduce)"
    r"|(?:still|tests?) (?:fails?|failing)\b|the tests fail\b|without success|not (?:been )?"
    r"(?:fixed|solved|resolved|completed))",
    re.IGNORECASE,
)
_SUCCESS: Final = re.compile(
    r"\b(?:fixed|solved|resolved|completed?|done|finished|succeed(?:s|ed)|successful(?:ly)?"
    r"|(?:tests?|suite) (?:now )?pass(?:es|ed)?|pass(?:es|ing) now|works? now|now works?|all green"
    r"|is (?:now )?(?:running|up|ready|working|correct))\b",
    re.IGNORECASE,
)
#: The most characters of the last words that are read: their beginning, and their end.
_MAX_SAID_CHARS: Final = 4000


class LastTest(NamedTuple):
    """A run of tests by the agent."""

    row: int
    has_failed: bool
    line: str  # what it came to, in one line


class Ending(NamedTuple):
    """The facts about a run at its end.

    Args:
        said: The agent's last words: of the last answer, or of a debug message after that answer.
        said_row: The row of the last words.
        asks_on: Whether the last answer asks for tools, so that the run ended before the model did.
        test: The agent's last run of tests.
        first_warning: The first row with a warning of an effect check.
        warning_text: The tool and the message of that warning.
        warnings: The number of rows with warnings of effect checks.
    """

    said: str = ""
    said_row: int | None = None
    asks_on: bool = False
    test: LastTest | None = None
    first_warning: int | None = None
    warning_text: str = ""
    warnings: int = 0


class JudgedEnding(NamedTuple):
    """The outcome of a run, with its reason and contradictions."""

    outcome: RunOutcome
    reason: str
    contradictions: tuple[Contradiction, ...]


def judge_ending(run: Run, ending: Ending) -> JudgedEnding:
    """Judge the outcome of a run, as far as its record tells.

    Args:
        run: The run's header.
        ending: The known facts of the run's end.
    """
    outcome, reason = _find_outcome(run, ending)
    claims = bool(_SUCCESS.search(_shorten(ending.said))) and outcome is not RunOutcome.GAVE_UP
    found: list[Contradiction] = []
    if outcome in (RunOutcome.FINISHED, RunOutcome.GAVE_UP):
        if ending.test is not None and ending.test.has_failed:
            text = f"its last tests failed: {ending.test.line}"
            found.append(Contradiction(text=text, row=ending.test.row))
        if run.checks and run.checks[-1].exit_code != 0:
            last = run.checks[-1]
            how = f"the check “{last.command}” exits with {last.exit_code}"
            found.append(Contradiction(text=how))
        if ending.first_warning is not None:
            more = ending.warnings - 1
            others = f" {more} more row{'s are' if more > 1 else ' is'} marked." if more else ""
            text = f"{ending.warning_text}{others}"
            found.append(Contradiction(text=text, row=ending.first_warning))
    return JudgedEnding(outcome, reason, tuple(_begin_sentences(found, claims=claims)))


def _begin_sentences(found: list[Contradiction], *, claims: bool) -> Iterator[Contradiction]:
    """Begin the first contradiction with the claim, where the agent's last words claim success."""
    for number, each in enumerate(found):
        is_named = each.text.startswith(("its ", "the "))  # else a tool's name begins it
        text = f"{each.text[:1].upper()}{each.text[1:]}" if is_named else each.text
        if claims and number == 0:
            text = f"It says that it succeeded, but {each.text}"
        yield Contradiction(text=f"{text.rstrip('.')}.", row=each.row)


_ENDINGS: Final = {
    RunEnding.STOPPED: RunOutcome.STOPPED,
    RunEnding.LOST: RunOutcome.LOST,
    RunEnding.CRASHED: RunOutcome.CRASHED,
}


def _find_outcome(run: Run, ending: Ending) -> tuple[RunOutcome, str]:
    if run.live:
        return RunOutcome.RUNNING, ""
    if run.failure is not None and run.ending is RunEnding.CRASHED and _is_limit(run.failure):
        return RunOutcome.GAVE_UP, f"It reached a limit: {run.failure.message}"
    if run.ending in _ENDINGS:
        return _ENDINGS[run.ending], ""
    reason = _find_reason(ending)
    return (RunOutcome.GAVE_UP, reason) if reason else (RunOutcome.FINISHED, "")


def _find_reason(ending: Ending) -> str:
    """The reason why a run that ended without an exception counts as given up; "": it doesn't."""
    said = _shorten(ending.said)
    if _LIMIT_WORDS.search(said):
        return "By its own words it reached a limit"
    if _GAVE_UP.search(said) and not _SUCCESS.search(said):
        return "By its own words it did not reach its goal"
    return "It ended while the model still asked for tools" if ending.asks_on else ""


def _is_limit(failure: Failure) -> bool:
    return bool(_LIMIT_TYPE.search(failure.type) or _LIMIT_WORDS.search(failure.message[:500]))


def _shorten(text: str) -> str:
    if len(text) <= _MAX_SAID_CHARS:
        return text
    half = _MAX_SAID_CHARS // 2
    return f"{text[:half]}\n{text[-half:]}"
