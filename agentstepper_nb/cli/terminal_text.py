"""Text of agents, made ready for a terminal: inert, readable, not too long."""

from __future__ import annotations

import json
import logging
import re
import sys
import unicodedata
from typing import Final, NoReturn

import msgspec

from ..json_log import JsonLogFormatter
from ..protocol.opaque_values import find_edited_opaque_value, find_opaque_values
from ..protocol.text_escaping import escape_character, escape_invisible, escape_to_one_line

#: Lines of a message that are shown at a halt, and how many of them are its last.
MAX_FOLDED_LINES: Final = 40
_TAIL_LINES: Final = 8
#: Characters of one line that are shown at a halt.
MAX_LINE_CHARS: Final = 2000

_LINE_ENDS: Final = re.compile(r"(?<!\\)((?:\\\\)*\\n)")
#: A JSON line whose text has line ends is shown over several lines if it is longer than this.
_MAX_ERROR_LINE_CHARS: Final = 100
#: Not printable, but shown by `escape_controls`: the joiners hold emoji and scripts together.
_VISIBLE_CONTROLS: Final = "\n\u200c\u200d"


def escape_controls(text: str) -> str:
    r"""Escape characters that control a terminal, or are invisible: an escape is shown as `\x1b`.

    Args:
        text: The text, which isn't trusted.
    """
    text = escape_invisible(text.replace("\r\n", "\n"), escape_character)
    return "".join(character if _shows(character) else _escaped(character) for character in text)


def _shows(character: str) -> bool:
    if character.isprintable() or character in _VISIBLE_CONTROLS:
        return True
    return unicodedata.category(character) == "Zs"  # spaces of all widths


def _escaped(character: str) -> str:
    if character == "\t":
        return "    "
    return escape_character(character)


def indent_json(data: str) -> str:
    """Indent a JSON text. Numbers, strings and the order of keys don't change.

    Args:
        data: The text; one that isn't strict JSON is returned unchanged.
    """
    try:
        return msgspec.json.format(data, indent=2)
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return data


def format_readable(data: str) -> str:
    r"""Format a JSON text for people: a string as text, others indented, with line ends after `\n`."""
    try:
        value = msgspec.json.decode(data, type=str)
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return "\n".join(map(_broken, indent_json(data).split("\n")))
    return value


def _broken(line: str) -> str:
    if len(line) <= _MAX_ERROR_LINE_CHARS:
        return line
    indent = " " * (len(line) - len(line.lstrip()) + 2)
    return _LINE_ENDS.sub(lambda end: f"{end[1]}\n{indent}", line)


def fold_text(text: str, hint: str) -> str:
    """Cut a text to a size that is read at a glance.

    Args:
        text: The text.
        hint: How to see the whole text.
    """
    lines = [line if len(line) <= MAX_LINE_CHARS else _cut(line, hint) for line in text.split("\n")]
    hidden = len(lines) - MAX_FOLDED_LINES
    if hidden <= 0:
        return "\n".join(lines)
    head, tail = lines[: MAX_FOLDED_LINES - _TAIL_LINES], lines[-_TAIL_LINES:]
    return "\n".join([*head, f"… {hidden} more lines: {hint}", *tail])


def _cut(line: str, hint: str) -> str:
    return f"{line[:MAX_LINE_CHARS]}… {len(line) - MAX_LINE_CHARS} more characters: {hint}"


def find_json_error(text: str) -> str | None:
    """Describe a text's JSON error, with its line and column; None if it is valid."""
    try:
        json.loads(text, parse_constant=_refuse)
    except json.JSONDecodeError as error:
        return f"line {error.lineno}, column {error.colno}: {error.msg}"
    except (ValueError, RecursionError) as error:
        return str(error)
    return None


def list_read_only_values(text: str) -> list[tuple[str, str]]:
    """List the values in a message that can't be edited, each with the reason."""
    try:
        return list(find_opaque_values(json.loads(text)))
    except (ValueError, RecursionError):
        return []


def find_read_only_edit(text: str, edit: str) -> str | None:
    """Explain why an edit is refused that changes read-only values; None if it changes none."""
    try:
        return find_edited_opaque_value(json.loads(text), json.loads(edit))
    except (ValueError, RecursionError):
        return None


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


def log_to_stderr(level: str, log_format: str, *, is_json: bool = False) -> None:
    """Make all loggers write to stderr.

    Args:
        level: The level, as in `--log-level`.
        log_format: The format, as in `logging.Formatter`.
        is_json: Whether each record is a JSON object instead.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLogFormatter() if is_json else LogLineFormatter(log_format))
    logging.basicConfig(level=level.upper(), handlers=[handler])


class LogLineFormatter(logging.Formatter):
    """Formats a record as one line, with all names escaped; the traceback below it isn't changed."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        """Format a record without its traceback."""
        return escape_to_one_line(super().formatMessage(record))
