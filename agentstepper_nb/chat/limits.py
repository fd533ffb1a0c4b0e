"""The memory limits and the time-outs of a chat."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class ChatLimits:
    """The limits that the sessions of an interpreter share.

    Args:
        max_cached_bytes: The most characters and bytes of a session's messages in memory; the newest
            messages are held in any case.
        max_unread_bytes: The most characters and bytes that wait for a reader of a turn's messages;
            above the limit, the oldest messages are dropped.
        turn_grace_s: Seconds until a cancelled turn that hasn't ended is cancelled again.
        release_timeout_s: Seconds for a connector to release a session.
        release_cancel_timeout_s: Seconds for a cancelled connector to end.
        first_connect_timeout_s: Seconds for which the first turn waits for a debugger.
        reconnect_interval_s: Seconds between attempts to find a debugger.
        run_close_timeout_s: Seconds to close the run in the debugger: the Core may be away, and the
            caller waits.
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
