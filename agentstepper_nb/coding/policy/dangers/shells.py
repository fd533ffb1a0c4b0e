"""Shells and the builtins by which one runs text."""

from __future__ import annotations

from typing import Final

from ..judging import DIALECTS, Judge, Look
from ..shfmt import Dialect
from ..words import Assignment, Call, Word, pairs
from .variables import why_not

_ONLY_BASH: Final[tuple[Dialect, ...]] = ("bash",)
_ONLY_POSIX: Final[tuple[Dialect, ...]] = ("posix",)
#: By what grammar each may read what it is given.
_SHELLS: Final[dict[str, tuple[Dialect, ...]]] = {
    **dict.fromkeys(
        ("sh", "ash", "ksh", "mksh", "oksh", "lksh", "pdksh", "posh", "hush", "yash"), DIALECTS
    ),
    **dict.fromkeys(("bash", "rbash"), _ONLY_BASH),
    "dash": _ONLY_POSIX,
}
_INFORMS: Final = {"--version", "--help"}


def _shell(call: Call, judge: Judge) -> None:
    """`sh -c TEXT`, `sh FILE`, or `sh` that reads what it is piped."""
    dialects = _SHELLS.get(call.name) or _SHELLS.get(call.plain_name, DIALECTS)
    rest = list(call.args)
    takes_text = False
    while rest:
        word = rest.pop(0)
        if not word.sure:
            judge.unclear(call, "runs what is only known when it runs")
            return
        if word.text in _INFORMS:
            return
        if word.text in ("--rcfile", "--init-file"):
            judge.runs(call, rest.pop(0).text if rest else "")
        elif word.text.startswith("--") and len(word.text) > 2:
            continue
        elif word.text.startswith(("-", "+")) and word.text not in ("-", "--"):
            takes_text = takes_text or "c" in word.text
            # -o and -O take a word each, wherever they stand in a cluster.
            del rest[: word.text.lower().count("o")]
            if "s" in word.text:
                break
        else:
            operand = rest.pop(0) if word.text in ("-", "--") and rest else word
            _run(call, operand, takes_text, dialects, judge)
            return
    _piped(call, dialects, judge)


def _run(
    call: Call, operand: Word, takes_text: bool, dialects: tuple[Dialect, ...], judge: Judge
) -> None:
    if not operand.sure:
        judge.unclear(call, "runs what is only known when it runs")
    elif takes_text:
        judge.text(operand.text, dialects)
    elif operand.text in ("-", "--"):
        _piped(call, dialects, judge)
    else:
        judge.runs(call, operand.text)


def _piped(call: Call, dialects: tuple[Dialect, ...], judge: Judge) -> None:
    if call.stdin and call.stdin.sure:
        judge.text(call.stdin.text, dialects)
    else:
        judge.hidden(call, "runs whatever it is piped")


def _eval(call: Call, judge: Judge) -> None:
    args = [word for word in call.args if not (word.sure and word.text == "--")]
    if all(word.sure for word in args):
        judge.text(" ".join(word.text for word in args))
    else:
        judge.unclear(call, "runs what is only known when it runs")


def _source(call: Call, judge: Judge) -> None:
    """`. FILE`."""
    for word in call.args[:1]:
        if word.sure:
            judge.runs(call, word.text)
        else:
            judge.unclear(call, "runs a file that is only known when it runs")


def _trap(call: Call, judge: Judge) -> None:
    words = [word for word in call.args if not (word.sure and word.text in ("--", "-"))]
    if not words or words[0].text in ("-l", "-p"):
        return
    if words[0].sure:
        judge.text(words[0].text)
    else:
        judge.unclear(call, "runs what is only known when it runs")


def _printf(call: Call, judge: Judge) -> None:
    """`printf -v NAME`."""
    for word, following in pairs(call.args[:2]):
        if word.text.startswith("-v"):
            name = Word(word.text[2:], word.sure) if word.text[2:] else following
            _declare(Call((call.words[0], name), call.part), judge)


def _declare(call: Call, judge: Judge) -> None:
    """`export NAME=VALUE` and the like, also `read NAME`."""
    for word in call.args:
        if not word.sure and not word.text.partition("=")[1]:
            judge.unclear(call, "sets variables that are only known when it runs")
        name, _, value = word.text.partition("=")
        why = why_not(Assignment(name, Word(value, word.sure)))
        if why:
            judge.danger(call, why)


LOOKS: Final[dict[str, Look]] = {
    **dict.fromkeys(_SHELLS, _shell),
    "eval": _eval,
    "source": _source,
    ".": _source,
    "trap": _trap,
    "printf": _printf,
    **dict.fromkeys(("export", "declare", "typeset", "local", "readonly", "read"), _declare),
}
