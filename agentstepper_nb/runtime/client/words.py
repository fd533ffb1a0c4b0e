"""What clients may leave out or say in plain words, as the protocol has it."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from enum import StrEnum
from typing import TypeVar

from ...protocol.runtime import SessionStatus

Member = TypeVar("Member", bound=StrEnum)


def new_id() -> str:
    """An id of the client's own: what has one can be asked again, and is done once."""
    return str(uuid.uuid4())


def member(kind: type[Member], name: str) -> Member:
    """A word of the protocol's.

    Args:
        kind: Its kind.
        name: The word.

    Raises:
        ValueError: There is no such word; the text says which there are.
    """
    try:
        return kind(name)
    except ValueError:
        known = ", ".join(kind)
        raise ValueError(f"{name!r} is no {kind.__name__}: take one of {known}.") from None


def statuses(given: str | Sequence[str]) -> tuple[SessionStatus, ...]:
    """Statuses of sessions: one by its name, or several."""
    names = (given,) if isinstance(given, str) else given
    return tuple(member(SessionStatus, name) for name in names)
