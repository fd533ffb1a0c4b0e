"""How an event of a run that is executed again relates to the recording: docs/design/0026-replay.md."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from .field_types import Id


class ReplayRole(StrEnum):
    """How an event relates to the recording."""

    SERVED = "served"  # its recorded outcome was taken, and its call not made
    ENTERED = "entered"  # its call was made; recorded events inside of it were served
    FORKED = "forked"  # the run was forked here
    LIVE = "live"  # the recording has no outcome that could be served
    DIVERGED = "diverged"  # a strict replay ended here


class ReplayMark(Struct, frozen=True, kw_only=True):
    """Stands at an event of a replay or a fork."""

    role: ReplayRole
    #: The recorded event that it is, or that was expected in its place.
    event: Id | UnsetType = UNSET
    #: Why it wasn't served, or that its outcome is another scope's, for a person.
    note: Annotated[str, Meta(max_length=1000)] = ""
    #: Whether a person is to see the event before the run goes on.
    halts: bool = False
