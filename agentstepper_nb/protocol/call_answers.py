"""Version 2 between a view and the Core: answers to a halt point beyond an edit."""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from .answers import ErrorType

#: An exception's message, which the agent's code reads, or a guide's text, which the model reads.
MessageText = Annotated[str, Meta(min_length=1, max_length=100_000)]


class SkipCall(Struct, frozen=True, kw_only=True, rename={"halt_point": "breakpoint"}):
    """Don't let the call happen that a pending halt point begins, and give its result.

    The run's mode stays. A call that asks for an approval is answered by it, too: it isn't made.
    """

    run: str
    halt_point: str
    revision: int
    result: str  # JSON text


class RaiseError(Struct, frozen=True, kw_only=True, rename={"halt_point": "breakpoint"}):
    """Let the agent's code see an exception: in the call's place, or at its end in the result's.

    The run's mode stays. A call that asks for an approval is answered by it, too: it isn't made.
    """

    run: str
    halt_point: str
    revision: int
    message: MessageText
    type: ErrorType | UnsetType = UNSET  # as `RaiseAnswer.type`


class GuidePrompt(Struct, frozen=True, kw_only=True, rename={"halt_point": "breakpoint"}):
    """Add a message to the prompt of a pending LLM query, without answering.

    It becomes part of the halt point's edit, in the prompt's own form, and is recorded as a guide.
    """

    run: str
    halt_point: str
    revision: int
    text: MessageText
    edit: str | None = None  # JSON text to set as the edit first
