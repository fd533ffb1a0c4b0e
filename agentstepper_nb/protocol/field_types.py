"""Types and patterns that several messages' fields share: each says which values it accepts."""

from __future__ import annotations

import re
from typing import Annotated, Final

from msgspec import Meta

#: POSIX seconds, of a year that every calendar has.
Time = Annotated[float, Meta(ge=0, lt=253402300800)]
#: A whole number that JavaScript holds exactly, from 0; `Positive` from 1.
Count = Annotated[int, Meta(ge=0, lt=2**53)]
Positive = Annotated[int, Meta(ge=1, lt=2**53)]
#: The id that an agent gives a run, event, halt point or commit.
Id = Annotated[str, Meta(min_length=1, max_length=200)]
#: The name of an agent, tool or model, as the agent sends it.
Name = Annotated[str, Meta(max_length=1000)]
#: The path of agents, tasks and tool calls that an event belongs to: docs/design/0023-scopes.md.
ScopePath = Annotated[tuple[Name, ...], Meta(max_length=100)]
#: A keyed hash, in hex, by which a replay finds an original value.
ContentHash = Annotated[str, Meta(max_length=128)]
#: The key that such hashes are made with, in hex.
HashKey = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
#: The reason for a denial, which the agent reads.
Reason = Annotated[str, Meta(max_length=10_000)]

#: The allowed names of a custom event's type: "retrieval", "plan_step".
EVENT_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,39}", re.ASCII)
#: The same rule as the end of an error message's sentence.
EVENT_NAME_RULE: Final = (
    "name it by a lower-case word like “retrieval”, of up to 40 letters, digits and underscores."
)
