"""What every test runs under."""

from __future__ import annotations

import signal


def pytest_configure() -> None:
    """Let processes that tests start hear Ctrl+C: a shell's background jobs are started deaf to it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
