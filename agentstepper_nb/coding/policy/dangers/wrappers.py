"""Programs that run another one, which is what counts."""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

from ..judging import Judge, Look
from ..words import Assignment, Call, Word, pairs

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


_FORMS: Final[dict[str, Form]] = {
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
    "taskset": Form(flags="ac", operands=1),
    "chrt": Form(flags="abfior", operands=1),
    "caffeinate": Form(flags="disu", valued="t"),
    "command": Form(flags="p", informs="vV"),
    "builtin": Form(),
    "exec": Form(flags="cl", valued="a"),
    "busybox": Form(longs=("--list", "--help")),
    "toybox": Form(longs=("--help",)),
    "noglob": Form(),
    "nocorrect": Form(),
    "coproc": Form(),
    "xargs": Form(
        flags="0rtpxo",
        valued="IEnLPsdaJRS",
        longs=("--null", "--no-run-if-empty", "--verbose", "--interactive", "--exit", "--open-tty"),
        long_valued=("--max-args", "--max-lines", "--max-procs", "--max-chars", "--delimiter"),
    ),
}


def _wrapper(call: Call, judge: Judge) -> None:
    name = call.name if call.name in _FORMS else call.plain_name
    start = _start(call, name, judge)
    if start is None:
        return
    words = call.words[start:]
    assignments: list[Assignment] = []
    if name == "env":
        _moves(call, call.words[1:start], judge)
    while name == "env" and words and (found := _ASSIGNMENT.match(words[0].text)):
        word = words[0]
        assignments.append(Assignment(found[1], Word(found[2], word.sure, word.many, word.glob)))
        words = words[1:]
    if name == "xargs":
        words = _with_input(call.words[1:start], words)
    judge.inner(call, words, assignments)


def _moves(call: Call, args: tuple[Word, ...], judge: Judge) -> None:
    """`env -C FOLDER`."""
    for word, following in pairs(args):
        found = re.match(r"(?:-[i0v]*C|--c[a-z]*=?)(.*)", word.text, re.DOTALL)
        if found and judge.places.is_outside(found[1] or following.text):
            judge.unclear(call, "works in another folder")


def _start(call: Call, name: str, judge: Judge) -> int | None:
    """Where the other program's name stands; None where that can't be told, or nothing is run."""
    form = _FORMS[name]
    index = 1
    while index < len(call.words):
        word = call.words[index]
        if not word.sure:
            judge.unclear(call, "runs a program whose name is only known when it runs")
            return None
        text = word.text
        if text == "--":
            return index + 1 + form.operands
        if text == "-" and name == "env":
            index += 1  # short for -i
            continue
        if not text.startswith("-") or text == "-":
            break
        if not text.startswith("--") and set(text[1:2]) & set(form.informs):
            return None
        width = _width(text, form)
        if width is None:
            judge.unclear(call, f"has the option `{text}`, which isn't known")
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


LOOKS: Final[dict[str, Look]] = dict.fromkeys(_FORMS, _wrapper)
