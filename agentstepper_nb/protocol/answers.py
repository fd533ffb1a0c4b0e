"""The answers to a halt point, as the Core sends them to an agent of version 2."""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, Raw, Struct, UnsetType

#: The name of an exception's class, perhaps with its module.
ErrorType = Annotated[
    str, Meta(min_length=1, max_length=200, pattern=r"^[^\W\d]\w*(\.[^\W\d]\w*)*$")
]


class ResumeAnswer(
    Struct, frozen=True, kw_only=True, omit_defaults=True, tag="resume", tag_field="kind"
):
    """Go on, with `data` where it was edited; an edit to null is told apart from none."""

    data: Raw | UnsetType = UNSET
    approved: bool = False  # what the halt point asks: without this nobody has approved it
    always: bool = False  # and from now on without being asked
    sticky: bool = False  # the edited messages are edited so in later prompts, too


class SkipAnswer(Struct, frozen=True, kw_only=True, tag="skip", tag_field="kind"):
    """Don't make the call; take this as its result."""

    result: Raw


class DenyAnswer(Struct, frozen=True, kw_only=True, tag="deny", tag_field="kind"):
    """Don't make the call; tell the agent why."""

    reason: str


class RaiseAnswer(
    Struct, frozen=True, kw_only=True, omit_defaults=True, tag="raise", tag_field="kind"
):
    """Let the call fail with this message."""

    message: str
    #: The exception's class: a builtin's name, or `module.Class` of a module that the agent has loaded.
    #: Where it is left out, or is none that can be made of a message, InjectedError is raised.
    type: ErrorType | UnsetType = UNSET


class StopAnswer(Struct, frozen=True, kw_only=True, tag="stop", tag_field="kind"):
    """End the agent."""


Answer = ResumeAnswer | SkipAnswer | DenyAnswer | RaiseAnswer | StopAnswer
