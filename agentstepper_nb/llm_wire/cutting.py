"""How an answer is cut for a stream: the same answer always the same way, in every API."""

from __future__ import annotations

import re
from typing import Final

#: Characters of a tool call's arguments that one event carries.
ARGUMENTS_PER_EVENT: Final = 16


def words(text: str) -> list[str]:
    """Cut a text by the word, its spaces kept."""
    return re.findall(r"\s*\S+\s*|\s+", text)


def fragments(arguments: str) -> list[str]:
    """Cut a tool call's arguments, wherever that falls."""
    step = ARGUMENTS_PER_EVENT
    return [arguments[start : start + step] for start in range(0, len(arguments), step)]
