"""Programs that a Core starts for a view: the search for a run's deciding event, and the test export.

A view sends a command to the Core, which starts the program; a search's program reports its progress to
the Core as lines of JSON. docs/design/0026-replay.md.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Final

from msgspec import UNSET, Meta, Struct, UnsetType
from msgspec.json import Decoder

from .field_types import Count, Id, Positive

#: Executions for each event at most.
MAX_REPEAT: Final = 25
_ShellCommand = Annotated[str, Meta(min_length=1, max_length=10_000)]
_Word = Annotated[str, Meta(min_length=1, max_length=1000)]
_Repeat = Annotated[int, Meta(ge=1, le=MAX_REPEAT)]


class BisectPhase(StrEnum):
    """The phase of a search."""

    READING = "reading"  # the recordings are read
    ASKING = "asking"  # a person is asked whether it may make LLM queries
    RUNNING = "running"
    FOUND = "found"
    UNDECIDED = "undecided"  # no event decides
    FAILED = "failed"
    CANCELLED = "cancelled"


class BisectProbe(Struct, frozen=True, kw_only=True):
    """Executions of an agent that are served up to the same outcome."""

    row: Count  # of the last outcome that is served; 0: none is
    votes: tuple[bool, ...]  # whether each passed the check
    runs: tuple[Id, ...]
    queries: Count  # LLM queries that they made


# ---- view to Core, and back -------------------------------------------------------------------------


class StartBisect(Struct, frozen=True, kw_only=True):
    """Look for the event of a good run that decides; refused by `cannot_bisect`.

    Answered by `BisectState`, as the next three. Nothing is executed before the person has agreed to the
    LLM queries that it may make.
    """

    run: Id
    bad: Id | None  # None: there is none
    check: _ShellCommand
    repeat: _Repeat


class GetBisect(Struct, frozen=True, kw_only=True):
    """Tell of a run's search, once that is another state than the one that the view has."""

    run: Id
    seen: Count | UnsetType = UNSET  # the view's revision; UNSET: answered at once


class AnswerBisect(Struct, frozen=True, kw_only=True):
    """The person answers the question of a search."""

    run: Id
    goes_on: bool


class CancelBisect(Struct, frozen=True, kw_only=True):
    """End a search, and what it executes."""

    run: Id


class BisectState(Struct, frozen=True, kw_only=True):
    """A run's search: the one that goes on, or else the last."""

    run: Id
    revision: Count
    phase: BisectPhase | None = None  # None: there was none
    bad: Id | None = None
    check: str = ""
    repeat: Count = 0
    question: str = ""  # while it asks
    queries: Count = 0  # that it may make, or asks to make, at most
    probes: tuple[BisectProbe, ...] = ()  # the last may still go on
    execution: Id | None = None  # the run that is being executed
    is_cancelling: bool = False
    message: str = ""  # what it came to, or why it failed
    row: Positive | None = None  # the row that decides


class ExportTest(Struct, frozen=True, kw_only=True):
    """Write a run as a test of pytest into its command's folder; refused by `cannot_export_test`."""

    run: Id
    agent: _Word  # MODULE:FUNCTION
    args: Annotated[tuple[Annotated[str, Meta(max_length=100_000)], ...], Meta(max_length=100)]
    file: _Word  # its name
    replaces: bool = False  # whether files that are there are replaced


class ExportedTest(Struct, frozen=True, kw_only=True):
    """Answers `ExportTest`."""

    path: str


BisectCommand = StartBisect | GetBisect | AnswerBisect | CancelBisect
RunProgramAnswer = BisectState | ExportedTest
#: The names of these in the envelope.
RUN_PROGRAM_COMMANDS: Final[dict[str, type[Struct]]] = {
    "start_bisect": StartBisect,
    "get_bisect": GetBisect,
    "answer_bisect": AnswerBisect,
    "cancel_bisect": CancelBisect,
    "export_test": ExportTest,
}
RUN_PROGRAM_ANSWERS: Final[dict[str, type[Struct]]] = {
    "bisect": BisectState,
    "test_exported": ExportedTest,
}

# ---- a search's program to its Core -----------------------------------------------------------------


class QuestionReport(Struct, frozen=True, kw_only=True, tag="question"):
    """The program asks a question, and reads `yes` or `no` from its standard input."""

    text: str
    queries: Count


class ProbeReport(Struct, frozen=True, kw_only=True, tag="probe"):
    """A probe began, or one of its executions ended."""

    number: Count  # from 0
    probe: BisectProbe


class ResultReport(Struct, frozen=True, kw_only=True, tag="result"):
    """The search is over."""

    message: str
    row: Positive | None


class FailureReport(Struct, frozen=True, kw_only=True, tag="failure"):
    """The search failed."""

    message: str


BisectReport = QuestionReport | ProbeReport | ResultReport | FailureReport
bisect_report_decoder: Final[Decoder[BisectReport]] = Decoder(BisectReport)
