"""Programs that run another one, which is what counts."""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

from .command_words import Assignment, Call, Word, pairs
from .judge import Judge, Look

_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)


class Form(Struct, frozen=True):
    """How a wrapper's own arguments look: what stands before the other program's name.

    Args:
        flags: Letters of options without a value.
        valued: Letters of options with one.
        longs: Long options without a value, or with one behind `=`.
        long_valued: Long options whose value may be the next word.
        operands: How many words of its own follow.
        informs: Letters that make it tell something instead of running anything.
    """

    flags: str = ""
    valued: str = ""
    longs: tuple[str, ...] = ()
    long_valued: tuple[str, ...] = ()
    operands: int = 0
    informs: str = ""


WRAPPERS: Final[dict[str, Form]] = {
    "env": Form(
        flags="i0v",
        valued="uC",
        longs=("--ignore-environment", "--null", "--debug"),
        long_valued=("--unset", "--chdir"),
    ),
    "nice": Form(valued="n", long_valued=("--adjustment",)),
    "nohup": Form(),
    "setsid": Form(flags="cfw", longs=("--ctty", "--fork", "--wait")),
    "stdbuf": Form(valued="ioe", long_valued=("--input", "--output", "--error")),
    "timeout": Form(
        flags="fpv",
        valued="ks",
        longs=("--foreground", "--preserve-status", "--verbose"),
        long_valued=("--kill-after", "--signal"),
        operands=1,
    ),
    "time": Form(flags="pvqal", valued="f", longs=("--portability", "--verbose", "--quiet")),
    "ionice": Form(flags="t", valued="cn", longs=("--ignore",)),
    "command": Form(flags="p", informs="vV"),
    "builtin": Form(),
    "exec": Form(flags="cl", valued="a"),
    "busybox": Form(longs=("--list", "--help")),
    "toybox": Form(longs=("--help",)),
    "noglob": Form(),
    "coproc": Form(),
    "xargs": Form(
        flags="0rtpxo",
        valued="IEnLPsdaJRS",
        longs=("--null", "--no-run-if-empty", "--verbose", "--interactive", "--exit", "--open-tty"),
        long_valued=("--max-args", "--max-lines", "--max-procs", "--max-chars", "--delimiter"),
    ),
}


def wrapper(otherwise: Look) -> Look:
    """What judges a call of a wrapper.

    Args:
        otherwise: What judges one that has options that aren't known.
    """

    def look_at(call: Call, judge: Judge) -> None:
        name = call.name if call.name in WRAPPERS else call.plain_name
        start = _start(call, WRAPPERS[name])
        if start is None:
            otherwise(call, judge)
        else:
            _inner(call, name, start, judge)

    return look_at


def _inner(call: Call, name: str, start: int, judge: Judge) -> None:
    words = call.words[start:]
    if any(word.many for word in call.words[1:start]):
        judge.unclear(call, "runs a program whose name is only known when it runs")
    assignments: list[Assignment] = []
    while name == "env" and words and (found := _ASSIGNMENT.match(words[0].text)):
        assignments.append(Assignment(found[1], Word(found[2], words[0].sure)))
        words = words[1:]
    if name == "xargs":
        words = _with_input(call.words[1:start], words)
    judge.inner(call, words, assignments)


def _start(call: Call, form: Form) -> int | None:
    """Where the other program's name stands, behind the last word where there is none.

    None where that can't be told.
    """
    index = 1
    while index < len(call.words):
        word = call.words[index]
        text = word.text
        if text == "--":
            return index + 1 + form.operands
        if not word.sure or not text.startswith("-"):
            break
        if not text.startswith("--") and set(text[1:2]) & set(form.informs):
            return len(call.words)
        width = 1 if text == "-" else _width(text, form)
        if width is None:
            return None
        index += width
    return index + form.operands


def _width(text: str, form: Form) -> int | None:
    """How many words an option takes, 1 or 2; None where it isn't known."""
    stem, equals, _ = text.partition("=")
    if text.startswith("--"):
        if stem in form.long_valued:
            return 1 if equals else 2
        return 1 if stem in form.longs else None
    for position, letter in enumerate(text[1:], start=2):
        if letter in form.valued:
            return 1 if position < len(text) else 2
        if letter not in form.flags:
            return None
    return 1


def _with_input(args: tuple[Word, ...], words: tuple[Word, ...]) -> tuple[Word, ...]:
    """What `xargs` runs: words from its input come in where it is told, or at the end."""
    place = None
    for word, following in pairs(args):
        if word.text[:2] in ("-I", "-J"):
            place = word.text[2:] or following.text
    if not place:
        return (*words, Word("", sure=False, many=True)) if words else ()
    return tuple(
        Word(word.text.partition(place)[0], sure=False, many=word.many)
        if place in word.text
        else word
        for word in words
    )


def is_plain(call: Call) -> bool:
    """Whether a wrapper is given a program, and no options that aren't known.

    Args:
        call: The wrapper's call.
    """
    start = _start(call, WRAPPERS[call.name])
    return start is not None and start < len(call.words)
