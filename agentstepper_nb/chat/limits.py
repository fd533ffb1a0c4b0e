"""How much of a conversation waits in memory, and how long a chat waits for agents and the debugger."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class ChatLimits:
    """The limits that the sessions of an interpreter share.

    Args:
        max_cached_bytes: Characters and bytes that are held in memory together, beside the newest
            messages.
        max_unread_bytes: Characters and bytes that wait for a reader of a turn's messages; of more, the
            oldest messages go.
        turn_grace_s: Seconds that a turn which was cancelled has to end, before it is cancelled again.
        release_timeout_s: Seconds that a connector has to let go.
        release_cancel_timeout_s: Seconds that a connector has to end, once it was cancelled.
        first_connect_timeout_s: Seconds that a turn waits for a debugger for the first time.
        reconnect_interval_s: Seconds until a debugger is looked for again where there was none.
        run_close_timeout_s: Seconds that the goodbye to the debugger may take: the Core may be away, and
            whoever ends a session waits.
    """

    max_cached_bytes: int = 64 * 1024 * 1024
    max_unread_bytes: int = 64 * 1024 * 1024
    turn_grace_s: float = 2.0
    release_timeout_s: float = 1.0
    release_cancel_timeout_s: float = 0.2
    first_connect_timeout_s: float = 10.0
    reconnect_interval_s: float = 1.0
    run_close_timeout_s: float = 2.0


DEFAULT_CHAT_LIMITS: Final = ChatLimits()
