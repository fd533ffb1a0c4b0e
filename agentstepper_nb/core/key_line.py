"""A tool's result on one line: its most informative line."""

from __future__ import annotations

import re
from typing import Final

from ..protocol.line_count import count_lines

#: The most characters of a result's end that are read: the outcome is there.
_TAIL_CHARS: Final = 128 * 1024
#: A test that failed, as test programs list them: the first is shown. Not how many of them failed.
_FAILED_TEST: Final = re.compile(
    r"^[^\S\n]*(?:(?:FAILED|FAIL:?|ERROR:?|not ok|--- FAIL:)[ \t]+(?!\()|✗|✕|×).*", re.MULTILINE
)
#: An error line of a compiler or a program: the first one is shown.
_COMPLAINT: Final = re.compile(
    r"^.{0,200}?\b(?:error|fatal|panic|abort|Error)(?:\[\w+\])?: .*", re.MULTILINE
)
#: An error line of pytest's report of a failed test: without a list of tests, the first is shown.
_PYTEST: Final = re.compile(r"^E {2,}(\S.*)", re.MULTILINE)
#: An exception as Python prints it: the last one is shown, which ended the program.
_EXCEPTION: Final = re.compile(
    r"^(?:\w{1,80}\.){0,10}[A-Z]\w{0,80}(?:Error|Exception|Interrupt|Exit|Warning)(?::.*)?$",
    re.MULTILINE,
)

#: A line without information: an empty line, or the closing tag around an output.
_SAYS_NOTHING: Final = re.compile(r"(?:</\w{1,80}>)?")
#: The most such lines that are skipped.
_MAX_SILENT_LINES: Final = 3


def summarize_result(text: str) -> str:
    """A result's text on one line: the text itself, or its number of lines and the most informative one.

    Args:
        text: The result.
    """
    if "\n" not in text.strip():
        return text
    return f"{count_lines(text)} lines: {find_key_line(text)}"


def find_key_line(text: str) -> str:
    """The line that reports a failure, or else the last line with information."""
    end = text[-_TAIL_CHARS:]
    if found := _FAILED_TEST.search(end):
        return found[0].strip()
    if found := _PYTEST.search(end):
        return found[1].rstrip()
    exceptions = _EXCEPTION.findall(end)
    if exceptions:
        return str(exceptions[-1])
    if found := _COMPLAINT.search(end):
        return found[0].strip()
    lines = end.rstrip().rsplit("\n", _MAX_SILENT_LINES + 1)[-_MAX_SILENT_LINES - 1 :]
    spoken = (line for line in reversed(lines) if not _SAYS_NOTHING.fullmatch(line.strip()))
    return next(spoken, lines[-1])
