"""The claims in a tool's result: success, failure, an exit code.

The claims are read from a result's fields, its first lines and its last lines: output that a command
printed in between proves nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

#: Characters of a result's texts that are read, from each end.
_MAX_END_CHARS: Final = 1500
#: Lines that are read, from each end.
_MAX_END_LINES: Final = 10
#: Values of a result that are looked at.
_MAX_VALUES: Final = 2000

_EXIT_KEYS: Final = frozenset(
    {"exit_code", "exitcode", "returncode", "return_code", "exit_status", "exitstatus"}
)
_EXIT_TEXT: Final = re.compile(
    r"(?:exit(?:ed with)?[ _-]?(?:code|status)|return[ _-]?code|exited with)\W{0,4}(-?\d{1,10})\b",
    re.IGNORECASE,
)
_FLAG_KEYS: Final = frozenset({"ok", "success", "succeeded", "is_success"})
_FAILED_FLAG_KEYS: Final = frozenset({"iserror", "is_error", "failed"})
_GOOD_STATUS: Final = frozenset({"ok", "success", "succeeded", "successful"})
_BAD_STATUS: Final = frozenset({"error", "failed", "failure"})

#: A first line by which a tool reports failure.
_FAILED_LINE: Final = re.compile(
    r"\W*(?:(?:an? )?(?:error|failure|exception|fatal)\b(?!s? (?:fixed|resolved|handling|handled))"
    r"|failed\b|could ?(?:n.t|not)\b|can ?(?:n.t|not) (?!be improved)|unable to\b"
    r"|[\w./ -]{0,60}?\b(?:failed to|did(?: not|n.t) start|(?:has )?failed[.!:]?$))",
    re.IGNORECASE,
)
#: A first or last line by which a tool reports success.
_WORKED_LINE: Final = re.compile(
    r"\W*(?:ok\b|done\b|success\b|successfully\b|(?:the )?[\w./ -]{0,80}?\b(?:succeeded|successfully"
    r"|(?:was|were|has been|have been|is) (?:now )?(?:written|saved|created|updated|applied|edited"
    r"|modified|deleted|removed|replaced|patched|fixed|started))\b|all tests pass(?:ed)?\b"
    r"|(?:fix|fixes|edit|edits|patch|change|changes) (?:applied|written|saved|made)\b"
    r"|(?:wrote|written|saved|created|updated|applied|edited|modified|deleted|removed|replaced"
    r"|patched|inserted|appended|overwrote)\b)",
    re.IGNORECASE,
)
#: Words by which a tool reports that it changed nothing, or not all.
_NOTHING_DONE: Final = re.compile(
    r"\bno changes?\b|\bunchanged\b|\bnothing\b|\balready\b|\bidentical\b|\bnot changed\b|\bskip"
    r"|\bdry[ -]run\b|\bwould\b|\bno (?:match|occurrence|replacement)|\b0 (?:lines?|files?|bytes?"
    r"|characters?|changes?|edits?|replacements?)\b|\bnot found\b|\bup[ -]to[ -]date\b"
    r"|\bno such\b|\bdoes(?: not|n.t) exist\b|\bdenied\b|\brefused\b|\brejected\b|\bsame as\b",
    re.IGNORECASE,
)
_FAILED_WORD: Final = re.compile(
    r"error|fail|exception|traceback|not found|no such|denied|cannot|could not|warning|fatal|usage:",
    re.IGNORECASE,
)
#: The report of failed tests in a test program's last lines.
FAILED_TESTS: Final = re.compile(
    r"\b([1-9]\d{0,6}) (?:tests? )?(?:failed|failures?|failing)\b|^FAILED \((?:failures|errors)="
    r"|\b(?:failures|errors): [1-9]",
    re.IGNORECASE | re.MULTILINE,
)
#: The report that something which was to be made exists already.
EXISTS: Final = re.compile(
    r"\balready (?:exists?|running|started|in use|created|allocated|up)\b|\bis in use\b",
    re.IGNORECASE,
)


class ResultClaims(NamedTuple):
    """The claims of a result.

    Args:
        headline: The result's first line that says anything.
        text: The result's texts, without the middle of long texts.
        exit_code: The result's exit code; None where it has none.
        failed: The claim of failure, in the result's words; "": no such claim.
        failed_field: Whether a field of the result claims failure, and no line of text.
        worked: The claim of success, in the result's words; "": no such claim.
        does_nothing: Whether the result says itself that nothing was changed, or not all.
    """

    headline: str = ""
    text: str = ""
    exit_code: int | None = None
    failed: str = ""
    failed_field: bool = False
    worked: str = ""
    does_nothing: bool = False

    @property
    def has_failed_words(self) -> bool:
        """Whether any of the result's texts has a word of failure."""
        return _FAILED_WORD.search(self.text) is not None


def read_claims(value: Any) -> ResultClaims:
    """Read the claims of a result.

    Args:
        value: The result, as a JSON value.
    """
    text = "\n".join(_list_texts(value))
    if len(text) > 2 * _MAX_END_CHARS:
        text = f"{text[:_MAX_END_CHARS]}\n{text[-_MAX_END_CHARS:]}"
    whole = text.splitlines()
    ends = (
        whole
        if len(whole) <= 2 * _MAX_END_LINES
        else whole[:_MAX_END_LINES] + whole[-_MAX_END_LINES:]
    )
    lines = [line.strip() for line in ends if line.strip()]
    spoken = [line for line in lines if not _EXIT_TEXT.fullmatch(line.strip("[](). "))]
    fields = dict(_read_fields(value))
    failed_field = _say_failed(fields)
    failed_line = next((line for line in spoken[:1] if _FAILED_LINE.match(line)), "")
    worked = _say_worked(fields)
    if not worked and not failed_line:
        worked = next(
            (line for line in (*spoken[:1], *spoken[-1:]) if _WORKED_LINE.match(line)), ""
        )
    return ResultClaims(
        headline=spoken[0] if spoken else "",
        text=text,
        exit_code=_find_exit_code(fields, lines),
        failed=failed_field or failed_line,
        failed_field=bool(failed_field),
        worked=worked,
        does_nothing=_NOTHING_DONE.search(text) is not None,
    )


def _list_texts(value: Any) -> Iterator[str]:
    """The texts of a value, in their order; keys aren't among them."""
    left, seen = [value], 0
    while left and seen < _MAX_VALUES:
        item, seen = left.pop(), seen + 1
        if isinstance(item, str):
            yield item
        elif isinstance(item, Mapping):
            left += reversed(list(item.values()))
        elif isinstance(item, list):
            left += reversed(item)


def _read_fields(value: Any) -> Iterator[tuple[str, Any]]:
    """The fields of a result, and of an object right inside of it."""
    if not isinstance(value, Mapping):
        return
    for key, item in value.items():
        if isinstance(item, Mapping):
            yield from ((str(name).lower(), inner) for name, inner in item.items())
        yield str(key).lower(), item


def _say_failed(fields: Mapping[str, Any]) -> str:
    error = fields.get("error")
    if isinstance(error, str) and error.strip():
        return error.strip().splitlines()[0]
    for key, item in fields.items():
        if key in _FLAG_KEYS and item is False:
            return f"{key}: false"
        if key in _FAILED_FLAG_KEYS and item is True:
            return f"{key}: true"
        if key == "status" and isinstance(item, str) and item.lower() in _BAD_STATUS:
            return f"status: {item}"
    return ""


def _say_worked(fields: Mapping[str, Any]) -> str:
    for key, item in fields.items():
        if key in _FLAG_KEYS and item is True:
            return f"{key}: true"
        if key == "status" and isinstance(item, str) and item.lower() in _GOOD_STATUS:
            return f"status: {item}"
    return ""


def _find_exit_code(fields: Mapping[str, Any], lines: list[str]) -> int | None:
    for key, item in fields.items():
        if key in _EXIT_KEYS and isinstance(item, int) and not isinstance(item, bool):
            return item
    for line in (*lines[:2], *lines[-2:]):
        found = _EXIT_TEXT.search(line)
        if found and len(line) < 200:
            return int(found[1])
    return None
