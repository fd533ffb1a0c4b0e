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
#: What an agent names its runs, events, halt points and commits by.
Id = Annotated[str, Meta(min_length=1, max_length=200)]
#: What an agent calls itself, its tools and its models.
Name = Annotated[str, Meta(max_length=1000)]
#: The path of agents, tasks and tool calls that an event belongs to: docs/design/0023-scopes.md.
ScopePath = Annotated[tuple[Name, ...], Meta(max_length=100)]
#: What an original value is known by when the run is replayed, in hex.
ContentHash = Annotated[str, Meta(max_length=128)]
#: The key that such hashes are made with, in hex.
HashKey = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
#: Why something is denied, for the agent to read.
Reason = Annotated[str, Meta(max_length=10_000)]

#: What the type of a custom event may be called: "retrieval", "plan_step".
EVENT_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,39}", re.ASCII)
#: The same for people, to end a sentence with.
EVENT_NAME_RULE: Final = (
    "name it by a lower-case word like “retrieval”, of up to 40 letters, digits and underscores."
)
