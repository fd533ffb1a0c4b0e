"""Shells, and the builtins by which one runs text."""

from __future__ import annotations

from typing import Final

from .command_words import Call, Word
from .judge import DIALECTS, Judge
from .shfmt import Dialect

_UNKNOWN: Final = "runs what is only known when it runs"
_ONLY_BASH: Final[tuple[Dialect, ...]] = ("bash",)
_ONLY_POSIX: Final[tuple[Dialect, ...]] = ("posix",)
#: By what grammar each may read what it is given.
SHELLS: Final[dict[str, tuple[Dialect, ...]]] = {
    **dict.fromkeys(("sh", "ash", "ksh", "mksh", "zsh", "yash", "hush", "fish"), DIALECTS),
    **dict.fromkeys(("bash", "rbash"), _ONLY_BASH),
    "dash": _ONLY_POSIX,
}
_INPUT: Final = ("-", "--", "/dev/stdin")


def shell(call: Call, judge: Judge) -> None:
    """Judge `sh -c TEXT`, `sh FILE`, or `sh` that reads its input.

    Args:
        call: The call.
        judge: What it is told.
    """
    rest = list(call.args)
    takes_text = False
    while rest:
        word = rest.pop(0)
        if not word.sure:
            break
        if word.text in ("--version", "--help"):
            return
        if word.text in ("--rcfile", "--init-file"):
            del rest[:1]
        elif word.text.startswith("--") and len(word.text) > 2:
            continue
        elif word.text.startswith(("-", "+")) and word.text not in _INPUT:
            takes_text = takes_text or "c" in word.text
            # -o and -O take a word each, wherever they stand in a cluster.
            del rest[: word.text.lower().count("o")]
            if "s" in word.text:
                break
        else:
            operand = rest.pop(0) if word.text in ("-", "--") and rest else word
            _operand(call, operand, takes_text, judge)
            return
    else:
        _operand(call, Word("-"), False, judge)
        return
    judge.runs(call, "")
    judge.unclear(call, _UNKNOWN)


def _operand(call: Call, operand: Word, takes_text: bool, judge: Judge) -> None:
    dialects = SHELLS.get(call.name) or SHELLS.get(call.plain_name, DIALECTS)
    if operand.sure and takes_text:
        judge.text(operand.text, dialects)
    elif operand.sure and operand.text not in _INPUT:
        judge.runs(call, operand.text)
    elif operand.sure and call.stdin and call.stdin.sure:
        judge.text(call.stdin.text, dialects)
    else:
        judge.runs(call, "")
        judge.unclear(call, "runs whatever it is piped" if operand.sure else _UNKNOWN)


def evaluate(call: Call, judge: Judge) -> None:
    """Judge `eval TEXT…`; see `shell`."""
    args = [word for word in call.args if not (word.sure and word.text == "--")]
    if all(word.sure for word in args):
        judge.text(" ".join(word.text for word in args))
    else:
        judge.runs(call, "")
        judge.unclear(call, _UNKNOWN)


def trap(call: Call, judge: Judge) -> None:
    """Judge `trap TEXT SIGNAL…`; see `shell`."""
    args = [word for word in call.args if not (word.sure and word.text in ("--", "-", "-l", "-p"))]
    if args and args[0].sure:
        judge.text(args[0].text)
    elif args:
        judge.unclear(call, _UNKNOWN)


def run_file(call: Call, operands: tuple[Word, ...], judge: Judge) -> None:
    """Note the file that a program runs: the first of its operands, or its input.

    Args:
        call: The call.
        operands: The operands.
        judge: What it is told.
    """
    first = operands[0] if operands else Word("-")
    judge.runs(call, first.text if first.sure and first.text not in _INPUT else "")
