"""The target at which a step halts: docs/design/0025-stepping.md."""

from __future__ import annotations

from enum import StrEnum

from msgspec import UNSET, Struct, UnsetType

from .event_kinds import EventKind, EventSide
from .field_types import Count, Id, Name, ScopePath


class StepKind(StrEnum):
    """The kind of a step."""

    INTO = "into"  # to the next halt point of the scope
    OVER = (
        "over"  # at an event's begin: to its end; at its end: to the next event that is no deeper
    )
    OUT = "out"  # to the end of the event around it, or of the run
    TO = "to"  # to the next halt point that has the event kind, the side and the name


class StepTarget(Struct, frozen=True, kw_only=True):
    """The target at which a step halts.

    A person gives `kind`, `freeze_others` and, of a step to a halt point, `event_kind`, `side`, `name`
    and `scope`. The Core sets all else by the halt point that the run goes on from.
    """

    kind: StepKind
    #: The step halts only in scopes that begin with this path. A step to a halt point may name another
    #: scope than its first, as () for the whole run.
    scope: ScopePath | UnsetType = UNSET
    freeze_others: bool = False  # halt points outside of the scope wait, too
    event: Id | None = None  # halts at the end of this event
    depth: Count | None = None  # halts at events that are inside of no more events than this
    event_kind: EventKind | None = None  # of the event that is stepped over, out of, or to
    side: EventSide | None = None  # of a step to a halt point; None: either
    name: Name | None = None  # as `event_kind`: the tool, the model or the custom event's type
    point: Id | None = None  # the halt point that the run goes on from
