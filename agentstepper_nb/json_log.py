"""A log of JSON objects, one a line, for programs (`--log-json`).

Each has `time` (RFC 3339, UTC), `level`, `logger` and `message`; where they are known `session_id`,
`run_id`, `action_id` and `agent_id`; `exc` is a traceback. A worker's line is the Core's too, whole,
with the worker's process id as `worker`.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Mapping
from contextvars import ContextVar
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, Final

#: Characters of a message, and of a traceback, whose end is kept: it says most.
MAX_MESSAGE_CHARS: Final = 20_000
MAX_TRACEBACK_CHARS: Final = 20_000
#: The keys that every line has.
_KEYS: Final = frozenset({"time", "level", "logger", "message"})
#: The fields that a record may carry as `extra`, or its context.
_ID_FIELDS: Final = ("session_id", "run_id", "action_id", "agent_id")
#: A placeholder for an id in a message template, and all placeholders.
_NAMED: Final = re.compile(r"\b(run|session|action) %[rs]")
_PLACEHOLDER: Final = re.compile(r"%[-+ #0]*\d*(?:\.\d+)?[a-z]")
#: The attribute of a record that holds a worker's line.
_LINE: Final = "json_line"

_context_fields: ContextVar[Mapping[str, str]] = ContextVar(
    "log_fields", default=MappingProxyType({})
)


def set_log_fields(**fields: str) -> None:
    """Add ids to all log records of this task, and of the tasks that it starts, from now on.

    Args:
        fields: `session_id`, `run_id`, `action_id`, `agent_id`; they replace earlier ones.
    """
    _context_fields.set(fields)


def add_log_fields(**fields: str) -> None:
    """The same, beside those before."""
    _context_fields.set({**_context_fields.get(), **fields})


class JsonLogFormatter(logging.Formatter):
    """Makes each record one JSON object on one line of ASCII, which no terminal or pipe changes."""

    def format(self, record: logging.LogRecord) -> str:
        """The line of a record."""
        line: dict[str, Any] | None = getattr(record, _LINE, None)
        return json.dumps(_make_line(record, self) if line is None else line)


def is_json_logged() -> bool:
    """Whether this process logs JSON."""
    return any(isinstance(each.formatter, JsonLogFormatter) for each in logging.root.handlers)


def forward_line(log: logging.Logger, text: str, worker: int, shown: str) -> bool:
    """Log a line of a worker as the worker logged it, where it is JSON of ours.

    Args:
        log: The Core's log.
        text: The line.
        worker: The worker's process id.
        shown: The line as other formatters show it.

    Returns:
        Whether it was one.
    """
    if not text.startswith("{"):
        return False
    try:
        line = json.loads(text)
    except (ValueError, RecursionError):
        return False
    if not (isinstance(line, dict) and line.keys() >= _KEYS):
        return False
    level = logging.getLevelNamesMapping().get(str(line["level"]).upper(), logging.INFO)
    log.log(level, "worker: %s", shown, extra={_LINE: {**line, "worker": worker}})
    return True


def _make_line(record: logging.LogRecord, formatter: logging.Formatter) -> dict[str, Any]:
    at = datetime.fromtimestamp(record.created, UTC)
    line: dict[str, Any] = {
        "time": f"{at:%Y-%m-%dT%H:%M:%S}.{at.microsecond // 1000:03d}Z",
        "level": record.levelname.lower(),
        "logger": record.name,
        "message": _clean(record.getMessage())[:MAX_MESSAGE_CHARS],
        **_find_ids(record),
    }
    if record.exc_info:
        traceback = formatter.formatException(record.exc_info)
        line["exc"] = _clean(traceback)[-MAX_TRACEBACK_CHARS:]
    return line


def _find_ids(record: logging.LogRecord) -> dict[str, str]:
    """Find a record's ids: in its message, its task, or its `extra`."""
    ids = dict(_context_fields.get())
    template = record.msg if isinstance(record.msg, str) else ""
    arguments = record.args if isinstance(record.args, tuple) else ()
    for match in _NAMED.finditer(template):
        position = len(_PLACEHOLDER.findall(template[: match.start()]))
        if position < len(arguments):
            ids[f"{match[1]}_id"] = str(arguments[position])
    ids |= {name: str(getattr(record, name)) for name in _ID_FIELDS if hasattr(record, name)}
    return {name: _clean(value) for name, value in ids.items()}


def _clean(text: str) -> str:
    """Replace lone surrogates in a text, which some JSON parsers reject."""
    return text.encode("utf-8", "replace").decode()
