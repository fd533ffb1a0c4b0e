"""A breakpoint in words, as a person writes and reads it: `before tool run_tests hit 2 where "-x" in
text`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final, NoReturn

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from .. import typed_json
from ..errors import ProtocolError
from ..protocol.breakpoint_rules import (
    BreakpointRule,
    CostBudget,
    Reaction,
    Repeated,
    TokenBudget,
    Touched,
    Watch,
)
from ..protocol.data_model import EventKind, EventSide
from ..suggestions import did_you_mean

#: The syntax of a breakpoint, for help and for errors.
USAGE: Final = (
    "[before|after] [any | tool|llm|event [NAME] | start] [by AGENT] [error] "
    "[tokens N | cost DOLLARS | repeated N [overall] | touches GLOB] [hit N] [once] [log] "
    "[for PROGRAM | all agents] [where CONDITION]"
)

_SIDES: Final = {"before": EventSide.BEGIN, "after": EventSide.END}
_KINDS: Final = {
    "tool": EventKind.TOOL_INVOCATION,
    "llm": EventKind.LLM_QUERY,
    "event": EventKind.CUSTOM,
    "start": EventKind.PROGRAM_STARTED,
}
_NAMED: Final = ("tool", "llm", "event")
_WATCHES: Final[dict[str, Callable[[str], Watch]]] = {
    "tokens": lambda text: TokenBudget(limit=_number(text)),
    "cost": lambda text: CostBudget(limit=_dollars(text)),
    "repeated": lambda text: Repeated(times=_number(text)),
    "touches": lambda text: Touched(path=text),
}
_OTHER_WORDS: Final = (
    "any",
    "by",
    "error",
    "hit",
    "once",
    "log",
    "for",
    "all",
    "agents",
    "where",
    "overall",
)
#: Words that are names only in quotes.
_KEYWORDS: Final = frozenset({*_SIDES, *_KINDS, *_WATCHES, *_OTHER_WORDS})

#: A text in quotes of either kind. A single one that nothing closes is an apostrophe.
_QUOTED: Final = r""""(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'(?!\S)"""
_TOKEN: Final = re.compile(rf"""\s*(?:({_QUOTED})|([^\s"]\S*))""", re.DOTALL)
_BARE: Final = re.compile(r"""[^\s"']\S*""")
#: Options that may follow a condition: no expression ends with them.
_TRAILING_OPTIONS: Final = re.compile(
    rf"""\s+(?:hit\s+\d+|once|log|all\s+agents|for\s+(?:{_QUOTED}|[^\s"'()\[\]{{}}]+))\s*$"""
)


# ---- to words ---------------------------------------------------------------------------------------


def format_breakpoint(breakpoint: BreakpointRule, *, program: bool = False) -> str:
    """Format a breakpoint as text that `parse_breakpoint` reads.

    Args:
        breakpoint: The breakpoint.
        program: Whether the text names the agents that the breakpoint is for.
    """
    said = [*_where(breakpoint), *_watch(breakpoint.watch)]
    said = said or ["any"]
    if breakpoint.hit_count > 1:
        said += ["hit", str(breakpoint.hit_count)]
    if breakpoint.once:
        said.append("once")
    if breakpoint.reaction is Reaction.LOG:
        said.append("log")
    if program:
        said += (
            ["all", "agents"] if breakpoint.program == "*" else ["for", _named(breakpoint.program)]
        )
    if breakpoint.condition is not None:
        said += ["where", breakpoint.condition]
    return " ".join(said)


def _where(breakpoint: BreakpointRule) -> list[str]:
    said = [word for word, side in _SIDES.items() if side is breakpoint.side]
    said += [word for word, kind in _KINDS.items() if kind is breakpoint.kind]
    if breakpoint.name is not None:
        said += (
            [_named(breakpoint.name)]
            if breakpoint.kind in _named_kinds()
            else ["any", _named(breakpoint.name)]
        )
    if breakpoint.agent is not UNSET:
        said += ["by", _named(breakpoint.agent)]
    if breakpoint.on_error:
        said.append("error")
    return said if len(said) != 1 or said[0] not in _SIDES else [*said, "any"]


def _named_kinds() -> tuple[EventKind, ...]:
    return tuple(_KINDS[word] for word in _NAMED)


def _watch(watch: Watch | None) -> list[str]:
    match watch:
        case TokenBudget(limit=limit):
            return ["tokens", str(limit)]
        case CostBudget(limit=dollars):
            return ["cost", f"{dollars:.15g}"]
        case Repeated(times=times, in_a_row=in_a_row):
            return ["repeated", str(times), *(() if in_a_row else ("overall",))]
        case Touched(path=path):
            return ["touches", _named(path)]
    return []


def _named(name: str) -> str:
    if _BARE.fullmatch(name) and name not in _KEYWORDS:
        return name
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


# ---- from words -------------------------------------------------------------------------------------


def parse_breakpoint(text: str, id: str, program: str = "*") -> BreakpointRule:
    """Parse the text of a breakpoint.

    Args:
        text: The text, in the form of `USAGE`.
        id: The id of the new breakpoint.
        program: The program name of the agents that the breakpoint is for, if the text names none.

    Raises:
        ProtocolError: `invalid_stop`: the text is no breakpoint. The Core checks the condition.
    """
    return make_breakpoint(_Reader(text).breakpoint(id, program))


def make_breakpoint(fields: dict[str, Any]) -> BreakpointRule:
    """Make a breakpoint of its fields.

    Raises:
        ProtocolError: `invalid_stop`: a field is out of its bounds.
    """
    try:
        return typed_json.convert(
            {name: _plain(value) for name, value in fields.items() if value is not None},
            BreakpointRule,
        )
    except msgspec.ValidationError as error:
        raise ProtocolError("invalid_stop", f"This breakpoint isn't valid: {error}.") from None


def _plain(value: Any) -> Any:
    if isinstance(value, TokenBudget | CostBudget | Repeated | Touched):
        return msgspec.to_builtins(value)
    return value


class _Reader:
    """Reads a text word by word."""

    def __init__(self, text: str) -> None:
        self._text = text.strip()
        self._at = 0
        self._fields: dict[str, Any] = {}

    def breakpoint(self, id: str, program: str) -> dict[str, Any]:
        if not self._text:
            _raise_usage_error("The breakpoint names no place to halt")
        while (word := self._word()) is not None:
            self._parse_word(*word)
        return {"id": id, "program": program} | self._fields

    def _parse_word(self, word: str, quoted: bool) -> None:
        if quoted:
            _raise_usage_error(f"The name “{word}” isn't expected here")
        if not (self._place(word) or self._option(word)):
            _raise_usage_error(
                f"“{word}” isn't understood here", did_you_mean(word, sorted(_KEYWORDS))
            )

    def _place(self, word: str) -> bool:
        if word in _SIDES:
            self._set("side", _SIDES[word])
        elif word == "any":
            self._name()
        elif word in _KINDS:
            self._set("kind", _KINDS[word])
            if word in _NAMED:
                self._name()
        elif word == "error":
            self._set("on_error", True)
        elif word in _WATCHES:
            self._set("watch", self._overall(_WATCHES[word](self._next(word))))
        elif word == "where":
            self._condition()
        else:
            return False
        return True

    def _overall(self, watch: Watch) -> Watch:
        """Read the watch; the word “overall” may follow a repetition."""
        before = self._at
        if isinstance(watch, Repeated) and self._word() == ("overall", False):
            return replace(watch, in_a_row=False)
        self._at = before
        return watch

    def _option(self, word: str) -> bool:
        match word:
            case "by":
                self._set("agent", self._next(word))
            case "hit":
                self._set("nth", _number(self._next(word)))
            case "once":
                self._set("once", True)
            case "log":
                self._set("then", Reaction.LOG)
            case "for":
                self._set("program", self._next(word))
            case "all":
                if self._next(word) != "agents":
                    _raise_usage_error("“agents” must follow “all”")
                self._set("program", "*")
            case _:
                return False
        return True

    def _condition(self) -> None:
        """Read the condition: the rest of the text without the options at its end."""
        rest = self._text[self._at :]
        while (behind := _TRAILING_OPTIONS.search(rest)) is not None:
            rest, options = rest[: behind.start()], _Reader(behind[0])
            while (word := options._word()) is not None:
                options._parse_word(*word)
            for name, value in options._fields.items():
                self._set(name, value)
        self._at = len(self._text)
        if not rest.strip():
            _raise_usage_error("A condition must follow “where”")
        self._set("condition", rest.strip())

    def _name(self) -> None:
        """Read an optional name."""
        before = self._at
        word = self._word()
        if word is None or (word[0] in _KEYWORDS and not word[1]):
            self._at = before
        else:
            self._set("name", word[0])

    def _next(self, after: str) -> str:
        word = self._word()
        if word is None:
            _raise_usage_error(f"A value must follow “{after}”")
        return word[0]

    def _word(self) -> tuple[str, bool] | None:
        """Read the next word, and whether it was in quotes; None at the end."""
        found = _TOKEN.match(self._text, self._at)
        if found is None:
            if self._text[self._at :].strip():
                _raise_usage_error("A quote isn't closed")
            return None
        self._at = found.end()
        if found[1] is None:
            return found[2], False
        return re.sub(r"\\(.)", r"\1", found[1][1:-1], flags=re.DOTALL), True

    def _set(self, name: str, value: Any) -> None:
        if name in self._fields:
            _raise_usage_error(f"The {_FIELDS.get(name, name)} is given twice")
        self._fields[name] = value


_FIELDS: Final = {
    "nth": "hit count",
    "then": "word “log”",
    "on_error": "word “error”",
    "once": "word “once”",
}


def _number(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        _raise_usage_error(f"“{text}” isn't a whole number")


def _dollars(text: str) -> float:
    try:
        return float(text.removeprefix("$"))
    except ValueError:
        _raise_usage_error(f"“{text}” isn't an amount in dollars")


def _raise_usage_error(what: str, hint: str = "") -> NoReturn:
    raise ProtocolError("invalid_stop", f"{what}.{hint} Write a breakpoint as: {USAGE}")
