"""The lanes of a run: the agents whose events a timeline tells apart.

docs/design/0023-scopes.md has what a scope is; `js/src/model/lanes.ts` computes the same for views.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Annotated, Final

from msgspec import Meta, Struct, UnsetType

from .data_model import AgentLabel, TimelineRow
from .field_types import Count, ScopePath

#: The prefix of a scope's part that names an agent.
_AGENT_PREFIX: Final = "agent:"
#: Characters of a title: as many as names have on the wire.
_MAX_TITLE_CHARS: Final = 1000
#: The main lane of a run: of what happens in none of its agents.
MAIN_LANE: Final[ScopePath] = ()


class Lane(Struct, frozen=True, kw_only=True):
    """An agent of a run, where its events begin."""

    path: Annotated[ScopePath, Meta(min_length=1)]
    seq: Count  # the number of its first row
    label: AgentLabel | None = None  # of that row


def find_lane(row: TimelineRow) -> ScopePath:
    """The lane of a row: its scope up to and including the innermost agent; `MAIN_LANE`: no agent."""
    return MAIN_LANE if isinstance(row.scope, UnsetType) else find_scope_lane(row.scope)


def find_scope_lane(scope: ScopePath) -> ScopePath:
    """The lane of an event with this scope, as `find_lane`."""
    for end in range(len(scope), 0, -1):
        if scope[end - 1].startswith(_AGENT_PREFIX):
            return scope[:end]
    return MAIN_LANE


def find_label(row: TimelineRow) -> AgentLabel | None:
    """The label of a row's agent; None where it has none."""
    return None if isinstance(row.label, UnsetType) else row.label


def name_lanes(rows: Iterable[TimelineRow]) -> dict[ScopePath, str]:
    """Name the lanes of a run.

    Args:
        rows: The run's rows, by number.

    Returns:
        The title of each lane but the main one, in the order in which they begin: the agent's name, and
        a number for the second and further lanes of a name.
    """
    titles: dict[ScopePath, str] = {}
    counts = Counter[str]()
    for row in rows:
        path = find_lane(row)
        if path == MAIN_LANE or path in titles:
            continue
        name = _name(path, find_label(row))
        counts[name] += 1
        titles[path] = name if counts[name] == 1 else f"{name} {counts[name]}"
    return titles


def _name(path: ScopePath, label: AgentLabel | None) -> str:
    if label is not None and label.name:
        return label.name[:_MAX_TITLE_CHARS]
    part = path[-1][: len(_AGENT_PREFIX) + _MAX_TITLE_CHARS].removeprefix(_AGENT_PREFIX)
    name, colon, number = part.rpartition(":")
    return name if colon and number.isdecimal() else part
