"""The second gesture by which a person at a terminal approves what is of high risk."""

from __future__ import annotations

import re
from typing import Final

#: Names that are easily typed, and that no answer to a question is.
_TYPEABLE: Final = re.compile(r"[A-Za-z][A-Za-z0-9_.:-]{2,39}")
_ANSWERS: Final = frozenset(
    {"yes", "always", "approve", "deny", "edit", "step", "next", "continue"}
)
_ELSE: Final = "I approve"


def confirming_words(tool: str) -> str:
    """What a person types to approve a call of high risk: no key, and no word that answers otherwise.

    Args:
        tool: The tool's name; where that can't be typed well, the words are the same for all such tools.
    """
    return tool if _TYPEABLE.fullmatch(tool) and tool.lower() not in _ANSWERS else _ELSE


def confirming_prompt(words: str) -> str:
    """What a person is asked once more."""
    return f"High risk: type “{words}” and Enter to approve it; anything else doesn't: "
