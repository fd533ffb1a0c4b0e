"""Results of effect checks on a tool's end: its claim against what happened, and repeated calls."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from .field_types import Count, Name, Positive

#: A check's message, of one or two sentences.
MarkText = Annotated[str, Meta(max_length=300)]
#: A check's name.
CheckName = Annotated[str, Meta(pattern="^[a-z][a-z0-9_]{0,39}$")]


class MarkSeverity(StrEnum):
    """The severity of a mark."""

    WARNING = "warning"  # the tool says one thing, and another happened
    NOTE = "note"  # worth a look


class EffectMark(Struct, frozen=True, kw_only=True):
    """A mark that one check set on a tool's end."""

    check: CheckName
    message: MarkText
    severity: MarkSeverity = MarkSeverity.WARNING


class Repetition(Struct, frozen=True, kw_only=True):
    """A call that was made before in the same run, with the same result."""

    count: Positive  # how often it was made, this time included
    first: Count  # the seq of the first one's end
    last: Count  # the seq of the end before this one
    is_unchanged: bool = False  # no file of the workspace changed since that end
    #: The number of calls in the cycle that this call ends, where calls repeat in a cycle; `count` then
    #: counts the cycle's repetitions.
    cycle: Positive | UnsetType = UNSET


class EffectReport(Struct, frozen=True, kw_only=True):
    """The marks and the repetition of one tool's end."""

    marks: tuple[EffectMark, ...] = ()
    repetition: Repetition | UnsetType = UNSET


class EffectCounts(Struct, frozen=True, kw_only=True):
    """The marked rows of a run."""

    rows: Count  # how many have marks
    warnings: Count  # how many of these have a warning
    first: (
        Count  # the seq of the first row with a warning; where none has, of the first with a mark
    )


class EffectCheckInfo(Struct, frozen=True, kw_only=True):
    """An effect check of the Core, and whether the check is enabled."""

    name: CheckName
    title: Name  # what it compares, in words
    enabled: bool = True


class CheckRun(Struct, frozen=True, kw_only=True):
    """A command that a person ran on a run's workspace to see how the run came out."""

    command: Annotated[str, Meta(max_length=1000)]
    exit_code: int
    at: float  # when it ended; POSIX seconds, the Core's clock
    line: Annotated[str, Meta(max_length=300)] = ""  # the line of its output that says most
    rows: Count = 0  # the run's rows by then
