"""Programs that run another one, which is what counts: wrappers and shells."""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

from .command_judge import DIALECTS, CommandJudge, Look
from .command_parts import Assignment, CommandWord, ProgramCall, pair_words
from .shell_parser import Dialect

_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)


class WrapperForm(Struct, frozen=True):
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


WRAPPERS: Final[dict[str, WrapperForm]] = {
    "env": WrapperForm(
        flags="i0v",
        valued="uC",
        longs=("--ignore-environment", "--null", "--debug"),
        long_valued=("--unset", "--chdir"),
    ),
    "nice": WrapperForm(valued="n", long_valued=("--adjustment",)),
    "nohup": WrapperForm(),
    "setsid": WrapperForm(flags="cfw", longs=("--ctty", "--fork", "--wait")),
    "stdbuf": WrapperForm(valued="ioe", long_valued=("--input", "--output", "--error")),
    "timeout": WrapperForm(
        flags="fpv",
        valued="ks",
        longs=("--foreground", "--preserve-status", "--verbose"),
        long_valued=("--kill-after", "--signal"),
        operands=1,
    ),
    "time": WrapperForm(flags="pvqal", valued="f", longs=("--portability", "--verbose", "--quiet")),
    "ionice": WrapperForm(flags="t", valued="cn", longs=("--ignore",)),
    "command": WrapperForm(flags="p", informs="vV"),
    "builtin": WrapperForm(),
    "exec": WrapperForm(flags="cl", valued="a"),
    "busybox": WrapperForm(longs=("--list", "--help")),
    "toybox": WrapperForm(longs=("--help",)),
    "noglob": WrapperForm(),
    "coproc": WrapperForm(),
    "xargs": WrapperForm(
        flags="0rtpxo",
        valued="IEnLPsdaJRS",
        longs=("--null", "--no-run-if-empty", "--verbose", "--interactive", "--exit", "--open-tty"),
        long_valued=("--max-args", "--max-lines", "--max-procs", "--max-chars", "--delimiter"),
    ),
}


def make_wrapper_judge(otherwise: Look) -> Look:
    """What judges a call of a wrapper.

    Args:
        otherwise: What judges one that has options that aren't known.
    """

    def look_at(call: ProgramCall, judge: CommandJudge) -> None:
        name = call.name if call.name in WRAPPERS else call.plain_name
        start = _start(call, WRAPPERS[name])
        if start is None:
            otherwise(call, judge)
        else:
            _inner(call, name, start, judge)

    return look_at


def _inner(call: ProgramCall, name: str, start: int, judge: CommandJudge) -> None:
    words = call.words[start:]
    if any(word.many for word in call.words[1:start]):
        judge.unclear(call, "runs a program whose name is only known when it runs")
    assignments: list[Assignment] = []
    while name == "env" and words and (found := _ASSIGNMENT.match(words[0].text)):
        assignments.append(Assignment(found[1], CommandWord(found[2], words[0].sure)))
        words = words[1:]
    if name == "xargs":
        words = _with_input(call.words[1:start], words)
    judge.inner(call, words, assignments)


def _start(call: ProgramCall, form: WrapperForm) -> int | None:
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


def _width(text: str, form: WrapperForm) -> int | None:
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


def _with_input(
    args: tuple[CommandWord, ...], words: tuple[CommandWord, ...]
) -> tuple[CommandWord, ...]:
    """What `xargs` runs: words from its input come in where it is told, or at the end."""
    place = None
    for word, following in pair_words(args):
        if word.text[:2] in ("-I", "-J"):
            place = word.text[2:] or following.text
    if not place:
        return (*words, CommandWord("", sure=False, many=True)) if words else ()
    return tuple(
        CommandWord(word.text.partition(place)[0], sure=False, many=word.many)
        if place in word.text
        else word
        for word in words
    )


def is_plain_wrapper(call: ProgramCall) -> bool:
    """Whether a wrapper is given a program, and no options that aren't known.

    Args:
        call: The wrapper's call.
    """
    start = _start(call, WRAPPERS[call.name])
    return start is not None and start < len(call.words)


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


def judge_shell(call: ProgramCall, judge: CommandJudge) -> None:
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
        _operand(call, CommandWord("-"), False, judge)
        return
    judge.runs(call, "")
    judge.unclear(call, _UNKNOWN)


def _operand(
    call: ProgramCall, operand: CommandWord, takes_text: bool, judge: CommandJudge
) -> None:
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


def judge_eval(call: ProgramCall, judge: CommandJudge) -> None:
    """Judge `eval TEXT…`; see `shell`."""
    args = [word for word in call.args if not (word.sure and word.text == "--")]
    if all(word.sure for word in args):
        judge.text(" ".join(word.text for word in args))
    else:
        judge.runs(call, "")
        judge.unclear(call, _UNKNOWN)


def judge_trap(call: ProgramCall, judge: CommandJudge) -> None:
    """Judge `trap TEXT SIGNAL…`; see `shell`."""
    args = [word for word in call.args if not (word.sure and word.text in ("--", "-", "-l", "-p"))]
    if args and args[0].sure:
        judge.text(args[0].text)
    elif args:
        judge.unclear(call, _UNKNOWN)


def note_run_file(
    call: ProgramCall, operands: tuple[CommandWord, ...], judge: CommandJudge
) -> None:
    """Note the file that a program runs: the first of its operands, or its input.

    Args:
        call: The call.
        operands: The operands.
        judge: What it is told.
    """
    first = operands[0] if operands else CommandWord("-")
    judge.runs(call, first.text if first.sure and first.text not in _INPUT else "")
