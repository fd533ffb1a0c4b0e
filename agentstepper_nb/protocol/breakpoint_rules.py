"""Breakpoints: a person's rules for where a run halts by itself while it continues.

`core.breakpoints` evaluates them, in the agent's SDK and in the Core alike; the page
docs/design/0011-breakpoints-and-lease.md has the whole.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Final

from msgspec import UNSET, Meta, Struct, UnsetType

from .data_model import EventKind, EventSide
from .field_types import Count, Id, Positive

#: A pattern as shells have it (`*`, `?`, `[...]`), matched with case, against the whole.
Glob = Annotated[str, Meta(min_length=1, max_length=1000)]
#: An expression, as `core.breakpoints.conditions` reads it.
Condition = Annotated[str, Meta(min_length=1, max_length=4096)]
#: US dollars.
Dollars = Annotated[float, Meta(ge=0, lt=1e12)]


#: The most breakpoints there may be: each is looked at wherever an agent could halt.
MAX_BREAKPOINTS: Final = 200
#: Breakpoints that hit at one halt point.
Hits = Annotated[tuple[Id, ...], Meta(max_length=MAX_BREAKPOINTS)]


class Reaction(StrEnum):
    """The effect of a breakpoint where the breakpoint hits."""

    HALT = "halt"
    LOG = "log"  # the row is marked, and the agent goes on


class TokenBudget(Struct, frozen=True, kw_only=True, tag="tokens", tag_field="kind"):
    """Matches at the first halt point at which the run has used more tokens, in and out, than this."""

    limit: Positive


class CostBudget(Struct, frozen=True, kw_only=True, tag="cost", tag_field="kind"):
    """Matches at the first halt point at which the run has cost more than this."""

    limit: Dollars


class Repeated(Struct, frozen=True, kw_only=True, tag="repeated", tag_field="kind"):
    """Matches where an event begins just as others of its kind did before, so many times."""

    times: Annotated[int, Meta(ge=2, le=1000)] = 3
    in_a_row: bool = (
        True  # no other of its kind between them; false: wherever they stand in the run
    )


class Touched(Struct, frozen=True, kw_only=True, tag="touched", tag_field="kind"):
    """Matches at the first halt point after a file of the workspace was changed whose path is such."""

    path: Glob


Watch = TokenBudget | CostBudget | Repeated | Touched


class BreakpointRule(
    Struct, frozen=True, kw_only=True, rename={"hit_count": "nth", "reaction": "then"}
):
    """A rule for where to halt. All that is given has to hold; what is null holds everywhere."""

    id: Id
    program: Glob = "*"  # agents of such a name: by it breakpoints are kept for a program
    kind: EventKind | None = None
    side: EventSide | None = None
    name: Glob | None = None  # of the tool, the model, or the custom event's type
    agent: Glob | UnsetType = UNSET  # by the name in the event's label
    on_error: bool = False  # only where an event ended with an exception
    condition: Condition | None = None
    watch: Watch | None = None
    hit_count: Positive = 1  # hits from the nth match in a run on
    once: bool = False  # hits once a run
    reaction: Reaction = Reaction.HALT
    enabled: bool = True


class Price(Struct, frozen=True, kw_only=True):
    """A model's price as a person set it, to estimate costs that the agent doesn't report."""

    model: Glob
    input: Dollars  # a million tokens
    output: Dollars
    context_window: Positive | UnsetType = UNSET  # tokens that a prompt and its answer may have


class DryRunOutcome(Struct, frozen=True, kw_only=True):
    """The rows of a recorded run at which a breakpoint would have hit."""

    run: str
    rows: Count  # that it was tried on
    hits: tuple[int, ...] = ()  # seqs of rows, rising; the first thousand
    total: Count = 0
    error: str | None = None  # what its condition failed with, at the last of the hits


# ---- commands of people, from a view or from Python --------------------------------------------------


class SetBreakpoint(Struct, frozen=True, kw_only=True, rename={"breakpoint": "stop"}):
    """Set a breakpoint, in place of the one with its id; agents that run get it at once."""

    breakpoint: BreakpointRule


class DeleteBreakpoint(Struct, frozen=True, kw_only=True, rename={"breakpoint": "stop"}):
    """Delete a breakpoint."""

    breakpoint: str


class DryRunBreakpoint(Struct, frozen=True, kw_only=True, rename={"breakpoint": "stop"}):
    """Answered by `DryRunAnswer`: where a breakpoint, set or not, would have hit."""

    breakpoint: BreakpointRule
    run: str | None = None  # null: in the last runs of agents that it is for, newest first


class SetPrices(Struct, frozen=True, kw_only=True):
    """Set what models cost: all prices. The first whose pattern fits a model is its price."""

    prices: Annotated[tuple[Price, ...], Meta(max_length=200)]


# ---- what views are told ------------------------------------------------------------------------------


class BreakpointChanged(Struct, frozen=True, kw_only=True, rename={"breakpoint": "stop"}):
    """A breakpoint is new or changed: it replaces the one of the same id."""

    breakpoint: BreakpointRule


class BreakpointGone(Struct, frozen=True, kw_only=True, rename={"breakpoint": "stop"}):
    """A breakpoint was deleted."""

    breakpoint: str


class PricesChanged(Struct, frozen=True, kw_only=True):
    """A person set the prices of models."""

    prices: tuple[Price, ...]


class DryRunAnswer(Struct, frozen=True, kw_only=True, rename={"outcomes": "trials"}):
    """Answers `DryRunBreakpoint`."""

    outcomes: tuple[DryRunOutcome, ...]
