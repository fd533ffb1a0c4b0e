"""StepFrame-v0: the input and the output of a background agent's step."""

from __future__ import annotations

from typing import Annotated, Any, Final

from msgspec import UNSET, Meta, Struct, UnsetType

#: The first step of a session whose config names no other.
FIRST_STEP: Final = "start"

#: A moniker's cursor: "4.2", "review/1". Never parsed.
Token = Annotated[str, Meta(min_length=1, max_length=1000)]


class FrameIn(Struct, frozen=True, kw_only=True):
    """The input of a step."""

    step: Token
    state: Any = None
    guidance: Any | UnsetType = UNSET  # only where there is some, and in exactly one frame


class FrameOut(Struct, frozen=True, kw_only=True):
    """The output of a step."""

    step: Token
    next_step: Token
    state: Any = None
    text: str | None = None
    data: Any = None
    done: bool
    notes: str | None = None
