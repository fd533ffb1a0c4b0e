"""The lines of a log."""

from __future__ import annotations

import logging
import sys

from ..protocol.visible import on_one_line


def log_to_stderr(level: str, form: str) -> None:
    """Let all loggers write to stderr.

    Args:
        level: As `--log-level` has it.
        form: As `logging.Formatter` takes it.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(LineFormatter(form))
    logging.basicConfig(level=level.upper(), handlers=[handler])


class LineFormatter(logging.Formatter):
    """A record is one line, whatever names stand in it; the traceback below it is as it is."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        """Format a record without its traceback."""
        return on_one_line(super().formatMessage(record))
