"""A condition's text to Python's syntax tree, and places in it for people."""

from __future__ import annotations

import ast
import re
from typing import Final, NoReturn

from .evaluation import ConditionError

#: UTF-8 bytes of a condition.
MAX_EXPRESSION_BYTES: Final = 4096
#: A text in quotes, as Python has it, with what may stand before.
_QUOTED: Final = re.compile(r"""([A-Za-z]*)("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')""", re.DOTALL)
_RAW: Final = ("r", "br", "rb", "fr", "rf")
# What Python itself would warn of, on the agent's stderr: escapes that are none, and "1or 2".
_NO_ESCAPE: Final = re.compile(r"""(?:[^\\]|\\[\\'"abfnrtvxuUN0-3])*+(\\.)""", re.DOTALL)
_GLUED: Final = re.compile(r"\b\d\w*?(and|else|for|if|in|is|not|or)\b")

#: Operators of other languages, and those of this one that they stand for.
_MEANT: Final = {"=>": ">=", "=<": "<=", "&&": "and", "||": "or", "!": "not", "=": "=="}
_FOREIGN: Final = re.compile(r"=>|=<|&&|\|\||!(?!=)|(?<![=!<>:])=(?!=)")


def parse_expression(text: str) -> ast.expr:
    """Parse a text as an expression.

    Raises:
        ConditionError: The text is no expression, or is too long.
    """
    try:
        if len(text.encode()) > MAX_EXPRESSION_BYTES:
            raise ConditionError(
                f"the condition is longer than {MAX_EXPRESSION_BYTES:,} bytes: shorten it"
            )
        line = _on_one_line(text)
        _check_escapes(line)
        _check_numbers(line)
        return ast.parse(line, mode="eval").body
    except SyntaxError as failed:
        _explain(line, _lead(text), failed)
    except (ValueError, RecursionError, MemoryError):
        raise ConditionError(
            "the condition is nested too deeply, or contains characters that aren't valid Unicode"
        ) from None


def _explain(line: str, lead: int, failed: SyntaxError) -> NoReturn:
    """Raise an error that explains a text which Python can't parse.

    Args:
        line: The text, on one line.
        lead: The number of characters before the text in the person's input.
        failed: Python's error.
    """
    foreign = _FOREIGN.search(_without_texts(line))
    if foreign:
        meant = _MEANT[foreign[0]]
        raise_at_column(
            lead + foreign.start(),
            f"“{foreign[0]}” isn't an operator of conditions. Did you mean “{meant}”?",
        )
    column = 1 if failed.offset is None else failed.offset
    if not 0 < column <= len(line):  # Python read all of it, and wanted more
        raise_at_column(lead + len(line), "the condition is incomplete at the end")
    raise_at_column(lead + column - 1, f"the syntax is invalid here ({failed.msg})")


def _without_texts(line: str) -> str:
    """A line with all texts in quotes made blank."""
    return _QUOTED.sub(lambda quoted: "_" * len(quoted[0]), line)


def _on_one_line(text: str) -> str:
    """The text with spaces for what ends lines: it may be written on several."""
    return re.sub(r"\s", " ", text).strip()


def _lead(text: str) -> int:
    return len(text) - len(text.lstrip())


def raise_at_column(column: int, why: str) -> NoReturn:
    """Raise an error about a column, from 0.

    Raises:
        ConditionError: Always.
    """
    raise ConditionError(f"column {column + 1}: {why}", column)


def find_column(text: str, node: ast.expr) -> int:
    """The column at which a node begins in a condition: Python counts in bytes."""
    before = _on_one_line(text).encode()[: node.col_offset].decode(errors="ignore")
    return _lead(text) + len(before)


def _check_escapes(text: str) -> None:
    for quoted in _QUOTED.finditer(text):
        if quoted[1].lower() in _RAW:
            continue
        wrong = _NO_ESCAPE.match(quoted[2])
        if wrong:
            raise_at_column(
                quoted.start(2) + wrong.start(1),
                f"“{wrong[1]}” isn't an escape sequence: put an r before the quotes, r{quoted[2]}",
            )


def _check_numbers(text: str) -> None:
    glued = _GLUED.search(_without_texts(text))
    if glued:
        raise_at_column(glued.start(1), f"put a space before “{glued[1]}”")
