"""What commands of the agent find in their environment."""

from __future__ import annotations

import os
from typing import Final

#: Endings of the names whose values commands don't get.
SECRETS: Final = ("KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIALS")
# What would lead them to another repository, another debugger, or to wait for a person.
_DROPPED: Final = ("GIT_", "AGENTSTEPPER_", "SSH_ASKPASS")
_SET: Final = {
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "TERM": "dumb",
    "NO_COLOR": "1",
}


def environment() -> dict[str, str]:
    """The environment of a command: this process's without its secrets, for a program no person sees."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.upper().endswith(SECRETS) and not name.startswith(_DROPPED)
    }
    return kept | _SET
