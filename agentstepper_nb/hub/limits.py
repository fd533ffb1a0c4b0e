"""The limits of a Core's work and of its waiting."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ..protocol.envelope import MAX_MESSAGE_BYTES


@dataclass(frozen=True)
class HubLimits:
    """The limits of one Core.

    Args:
        max_backlog_bytes: Bytes that may wait for a slow peer before its connection is closed.
        open_timeout_s: Seconds that a connection may take to open.
        close_timeout_s: Seconds that a connection may take to close; also the limit of `stop`.
        max_content_bytes: Bytes of a content at most, after its pieces are joined.
        max_unacknowledged_bytes: An acknowledgement is due after so many bytes of an agent's
            messages.
        acknowledgement_delay_s: An acknowledgement is due after so many seconds.
        search_page_rows: Rows that a search examines at a time, and whose numbers it sends.
        max_changed_rows: Rows and events that may change between two requests of a search; if more
            change, the search starts again.
        dry_run_timeout_s: Seconds that a dry run on one run may take.
        snapshot_pause_s: The least seconds between snapshots, which show what version 1 has no
            message for.
        max_snapshot_chars: Characters of contents in a snapshot of version 1; live runs are always
            included.
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
