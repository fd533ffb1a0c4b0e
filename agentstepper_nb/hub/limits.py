"""How much a Core does at once, and how long it waits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ..protocol.envelope import MAX_MESSAGE_BYTES


@dataclass(frozen=True)
class HubLimits:
    """The limits of one Core.

    Args:
        max_backlog_bytes: Bytes that may wait for a peer that doesn't read, before it is let go.
        open_timeout_s: Seconds that a connection has to open before it is cut.
        close_timeout_s: Seconds that a connection has to close before it is cut; `stop` waits no longer.
        max_content_bytes: Bytes that a content has at most, once its pieces are joined.
        max_unacknowledged_bytes: An acknowledgement is due after so many bytes of an agent's messages.
        acknowledgement_delay_s: An acknowledgement is due after so many seconds.
        search_page_rows: Rows that a search looks at, at a time, and of which it tells the numbers.
        max_changed_rows: Rows and events that may change until a search is asked again: of more, it
            looks at all anew.
        dry_run_timeout_s: Seconds that a dry run on one run may take.
        snapshot_pause_s: Seconds until a snapshot shows what version 1 has no message for, at least.
        max_snapshot_chars: Characters of contents that a snapshot of version 1 may hold; live runs
            always are in it.
    """

    max_backlog_bytes: int = 64 * 1024 * 1024
    open_timeout_s: float = 10.0
    close_timeout_s: float = 5.0
    max_content_bytes: int = MAX_MESSAGE_BYTES
    max_unacknowledged_bytes: int = 1024 * 1024
    acknowledgement_delay_s: float = 0.25
    search_page_rows: int = 500
    max_changed_rows: int = 20_000
    dry_run_timeout_s: float = 30.0
    snapshot_pause_s: float = 1.0
    max_snapshot_chars: int = 256 * 1024 * 1024


DEFAULT_HUB_LIMITS: Final = HubLimits()
