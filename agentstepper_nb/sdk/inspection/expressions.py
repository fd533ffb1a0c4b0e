"""Expressions that a person writes in a frame: what they come to, and how they can be completed."""

from __future__ import annotations

import re
import rlcompleter
from types import FrameType
from typing import Any, Final

from ...errors import ProtocolError

#: Seconds that an expression has, and a completion.
EVALUATION_TIMEOUT_S: Final = 10.0
COMPLETION_TIMEOUT_S: Final = 2.0
#: Names that are offered at once.
_MAX_MATCHES: Final = 100

_FILE_NAME: Final = "<expression>"
_DOTTED_NAME: Final = re.compile(r"[\w.]*$")
_LAST_NAME: Final = re.compile(r"(\w+)[\"']?\]?\s*$")

NOT_AN_EXPRESSION: Final = (
    "Only expressions can be evaluated here, since a statement or an assignment would change the "
    "halted program. Write an expression, or drop into pdb."
)
NO_AWAIT: Final = (
    "`await` can't be evaluated here, since the expression runs beside the agent's event loop. Write "
    "an expression without await."
)


def compile_expression(text: str) -> Any:
    """The code of an expression.

    Raises:
        ProtocolError: `inspection_refused`: it is none.
    """
    source = text.strip()
    try:
        return compile(source, _FILE_NAME, "eval")
    except (SyntaxError, ValueError) as error:
        raise ProtocolError("inspection_refused", _explain(source, error)) from None
    except (MemoryError, RecursionError):
        said = "This expression is nested too deeply. Write a shorter one."
        raise ProtocolError("inspection_refused", said) from None


def _explain(source: str, error: SyntaxError | ValueError) -> str:
    if not source:
        return "There is no expression. Write one."
    if isinstance(error, SyntaxError) and "await" in str(error):
        return NO_AWAIT
    try:
        compile(source, _FILE_NAME, "exec")
    except Exception:
        said = error.msg if isinstance(error, SyntaxError) else str(error)
        return f"This isn't an expression of Python: {said}."
    return NOT_AN_EXPRESSION


def make_namespace(frame: FrameType) -> dict[str, Any]:
    """The names that an expression in a frame sees, as a copy.

    In one dict, so that the functions of a comprehension or a lambda find the frame's locals, too.
    """
    return {**frame.f_globals, **frame.f_locals}


def evaluate(code: Any, frame: FrameType) -> Any:
    """The value of an expression in a frame."""
    return eval(code, make_namespace(frame))


def find_last_name(expression: str) -> str:
    """The name that an expression ends with: `api_key` of `config.api_key` and `config["api_key"]`."""
    found = _LAST_NAME.search(expression)
    return found[1] if found else expression


def complete(text: str, cursor: int, frame: FrameType) -> tuple[int, int, tuple[str, ...]]:
    """Complete the name before the cursor.

    Args:
        text: The expression so far.
        cursor: The characters before the cursor.
        frame: The frame in which the expression would be evaluated.

    Returns:
        The part that a match replaces, by its first and its last character's number, and the matches.
    """
    found = _DOTTED_NAME.search(text[:cursor])
    word = found[0] if found else ""
    if not word or word.startswith("."):
        return cursor, cursor, ()
    completer = rlcompleter.Completer(make_namespace(frame))
    matches = completer.attr_matches(word) if "." in word else completer.global_matches(word)
    names = dict.fromkeys(match.rstrip("( :").removesuffix("()") for match in matches)
    return cursor - len(word), cursor, tuple(list(names)[:_MAX_MATCHES])
