"""Version 2 between a view and the Core: what a run spent time and tokens on, and what models are."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from .breakpoint_rules import Dollars
from .data_model import AgentLabel, EventKind, EventOutcome, Usage
from .field_types import Count, Name, Positive, ScopePath

# ---- view to Core -----------------------------------------------------------------------------------


class GetProfile(Struct, frozen=True, kw_only=True):
    """Answered by `RunProfile`."""

    run: str


class GetModelInfo(Struct, frozen=True, kw_only=True):
    """Answered by `ModelInfoList`."""

    models: Annotated[tuple[Name, ...], Meta(max_length=200)]


# ---- Core to view -----------------------------------------------------------------------------------


class PromptSizes(Struct, frozen=True, kw_only=True):
    """The sizes of a prompt's parts, in bytes of JSON."""

    system: Count = 0
    tools: Count = 0  # the schemas of tools
    history: Count = 0  # messages that the agent's previous prompt had
    new: Count = 0


class ProfiledEvent(Struct, frozen=True, kw_only=True):
    """The time and the usage of an event."""

    seq: Count  # the number of the row at which it begins
    kind: EventKind
    name: Name | None
    scope: ScopePath
    label: AgentLabel | None
    started_at: (
        float  # POSIX seconds, the agent's clock: when the call began, not the halt before it
    )
    duration_s: float | None  # without the time halted; None: it hasn't ended
    outcome: EventOutcome | None
    usage: Usage | None  # of a query
    prompt: PromptSizes | None  # of a query; None: a prompt of another form


class RunProfile(Struct, frozen=True, kw_only=True):
    """Answers `GetProfile`."""

    run: str
    events: tuple[ProfiledEvent, ...]  # queries, tool calls and custom events, by seq
    first_row: Count  # the number of the first row that was read: of a long run only its end is


class ModelPricing(Struct, frozen=True, kw_only=True):
    """A model's prices and context window; None: unknown."""

    model: str  # as it was asked for
    input: Dollars | None = None  # a million tokens
    output: Dollars | None = None
    context_window: Positive | None = None  # tokens


class ModelInfoList(Struct, frozen=True, kw_only=True):
    """Answers `GetModelInfo`."""

    source: str | None  # the package that knows, with its version; None: it isn't installed
    models: tuple[ModelPricing, ...]  # those of which something is known
