"""Requests of a program that has no run of its own to a Core's agent socket, and the answers.

The commands on breakpoints and edit rules, which need no hello either, are in `breakpoint_rules` and
`edit_rules`.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from .breakpoint_rules import BreakpointRule, DryRunOutcome, Price
from .data_model import Run
from .edit_rules import EditRuleDefinition, EditRuleOutcome

# ---- program to Core --------------------------------------------------------------------------------


class UploadRun(Struct, frozen=True, kw_only=True):
    """Answered by `RunUploaded`: a run from a file. It needs no hello, and begins no run."""

    data: str  # as in the UI's `ImportRun`


class GetDebuggerConfig(Struct, frozen=True, kw_only=True):
    """Answered by `DebuggerConfig`. As `UploadRun`, this and the commands on breakpoints need no hello.

    `SetBreakpoint`, `DeleteBreakpoint` and `SetPrices` are answered by `DebuggerConfig` as well,
    `DryRunBreakpoint` by `DryRunResponse`; its run may be named as people name one.
    """


class RecordCheckRun(Struct, frozen=True, kw_only=True):
    """A person ran a command to see how a run came out; answered by `DebuggerConfig`."""

    run: str  # as people name one
    command: Annotated[str, Meta(max_length=1000)]
    exit_code: int
    line: Annotated[str, Meta(max_length=300)] = ""  # the line of its output that says most


# ---- Core to program --------------------------------------------------------------------------------


class RunUploaded(Struct, frozen=True, kw_only=True):
    """Answers `UploadRun`, under its id."""

    run: Run


class DebuggerConfig(Struct, frozen=True, kw_only=True, rename={"breakpoints": "stops"}):
    """Breakpoints, prices and edit rules; answers `GetDebuggerConfig` and each change, under its id."""

    breakpoints: tuple[BreakpointRule, ...]  # in the order in which they were made
    prices: tuple[Price, ...]
    edit_rules: tuple[EditRuleDefinition, ...] | UnsetType = (
        UNSET  # in that order, where there are any
    )


class DryRunResponse(Struct, frozen=True, kw_only=True, rename={"outcomes": "trials"}):
    """Answers `DryRunBreakpoint`, under its id."""

    outcomes: tuple[DryRunOutcome, ...]
    runs: tuple[Run, ...]  # that it was tried on, one for each


class EditRuleResponse(Struct, frozen=True, kw_only=True):
    """Answers `DryRunEditRule`, under its id, without contents."""

    outcomes: tuple[EditRuleOutcome, ...]
    runs: tuple[Run, ...]  # that it was tried on, one for each
