"""Marks that relate a replay's or fork's events to the recording: docs/design/0026-replay.md."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from .field_types import Id


class ReplayRole(StrEnum):
    """The relation of an event to the recording."""

    SERVED = "served"  # its recorded outcome was taken, and its call not made
    ENTERED = "entered"  # its call was made; recorded events inside of it were served
    FORKED = "forked"  # the run was forked here
    LIVE = "live"  # the recording has no outcome that could be served
    DIVERGED = "diverged"  # a strict replay ended here


class ReplayMark(Struct, frozen=True, kw_only=True):
    """The mark of an event of a replay or a fork."""

    role: ReplayRole
    #: The recorded event that this event matches, or that was expected in its place.
    event: Id | UnsetType = UNSET
    #: For a person: why the event wasn't served, or that the served outcome is of another scope.
    note: Annotated[str, Meta(max_length=1000)] = ""
    #: Whether the run halts at the event.
    halts: bool = False
