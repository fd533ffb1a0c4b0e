"""The start method by which a run can be started again, and the run that a fork or replay repeats.

A start method goes from an agent to its Core alone, which keeps it beside the run: no view, no export
and no import has one.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Final

from msgspec import UNSET, Meta, Struct, UnsetType

from .field_types import Count, Id, Name, Positive

#: Characters of a cell, of a word of a command, and words of a command at most.
MAX_SOURCE_CHARS: Final = 1_000_000
_MAX_WORD_CHARS: Final = 100_000
_MAX_WORDS: Final = 10_000
_Word = Annotated[str, Meta(max_length=_MAX_WORD_CHARS)]
#: Characters of a function's arguments at most.
MAX_ARGUMENTS_CHARS: Final = 1_000_000
_Arguments = Annotated[str, Meta(max_length=MAX_ARGUMENTS_CHARS)]


class CellStart(Struct, frozen=True, kw_only=True, tag="cell"):
    """A cell of a notebook, under `%%step`."""

    source: Annotated[str, Meta(max_length=MAX_SOURCE_CHARS)]  # below the magic's line
    line: Name = ""  # what stands behind `%%step`
    is_masked: bool = False  # whether masks stand in the place of secrets
    freezes: bool = False  # whether its run sees a time and random numbers that a replay can repeat


class CommandStart(Struct, frozen=True, kw_only=True, tag="command"):
    """A command, by `agentstepper run` or `spawn`."""

    argv: Annotated[tuple[_Word, ...], Meta(min_length=1, max_length=_MAX_WORDS)]
    folder: str  # where it ran
    #: The names of the environment's variables, or of those that were set for it. Never their values.
    variables: Annotated[tuple[Name, ...], Meta(max_length=_MAX_WORDS)] = ()
    masked: tuple[Count, ...] = ()  # which words of argv have masks in the place of secrets
    name: Name | None = None  # what its runs are called, in place of their own names
    attaches: bool = False  # whether its Python is attached to without a line changed
    discovers_tools: bool = False
    freezes: bool = False  # as of a cell


class FunctionCall(Struct, frozen=True, kw_only=True):
    """By which a new process imports a function and calls it again."""

    python: str  # the interpreter
    folder: str  # where it ran
    paths: Annotated[tuple[str, ...], Meta(max_length=_MAX_WORDS)] = ()  # of modules, first to last
    arguments: _Arguments = "[]"  # JSON, with masks in the place of secrets
    keywords: _Arguments = "{}"  # those given by their names
    masked: tuple[Name, ...] = ()  # the names of arguments that have masks
    unrecorded: tuple[Name, ...] = ()  # of those that JSON can't carry: null stands in their places
    variables: Annotated[tuple[Name, ...], Meta(max_length=_MAX_WORDS)] = ()  # as of a command
    freezes: bool = False  # as of a cell


class FunctionStart(Struct, frozen=True, kw_only=True, tag="function"):
    """A function that Python called: one marked by `entry`, or by `replay_run` or `fork_run`."""

    module: Name
    name: Name  # qualified
    call: FunctionCall | UnsetType = UNSET  # UNSET: no other process can call it


StartMethod = CellStart | CommandStart | FunctionStart


class ForkOrigin(Struct, frozen=True, kw_only=True):
    """The run that another was started again from: a fork, or without a row a strict replay."""

    run: Id
    row: Positive | UnsetType = UNSET  # the number of the row that it is forked at
    is_live: bool = False  # neither: nothing is served from the record


class WorkspaceMode(StrEnum):
    """The folder that a fork works on, where its recorded run had a workspace."""

    FRESH = "fresh"  # a new one with the files of the snapshot
    IN_PLACE = "in_place"  # the recorded run's, in which the files of the snapshot are restored
    NONE = "none"  # none: files are as the agent finds them


# ---- view to Core, and back --------------------------------------------------------------------------


class StartAgain(Struct, frozen=True, kw_only=True):
    """Start a run again; answered by `RunStartedAgain`, or refused by `cannot_start_again`."""

    run: Id
    row: Positive | UnsetType = UNSET  # fork it at this row
    is_replay: bool = False  # without a row: serve its whole recording
    workspace: WorkspaceMode | UnsetType = UNSET  # with a row; UNSET: fresh


class RunStartedAgain(Struct, frozen=True, kw_only=True):
    """Answers `StartAgain`."""

    run: Id | UnsetType = UNSET  # the new run; UNSET: it hasn't begun yet, or is a cell's
    cell: str | UnsetType = UNSET  # the text of a cell that the person, or the view, is to run
