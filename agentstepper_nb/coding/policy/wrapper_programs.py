"""Analyzes programs that run another program: wrappers such as `env`, and shells."""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

from .command_analyzer import DIALECTS, CallAnalyzer, CommandAnalyzer
from .command_model import Assignment, CommandWord, ProgramCall, pair_with_next_word
from .shell_parser import Dialect

_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)


class WrapperSyntax(Struct, frozen=True):
    """The syntax of a wrapper's own arguments, which precede the other program's name.

    Args:
        flags: The letters of options without a value.
        valued_flags: The letters of options with a value.
        long_flags: The long options without a value, or with a value after `=`.
        long_valued_flags: The long options whose value may be the next word.
        operands: The number of the wrapper's own operands.
        info_flags: The letters of options with which the wrapper prints information and runs nothing.
    """

    flags: str = ""
    valued_flags: str = ""
    long_flags: tuple[str, ...] = ()
    long_valued_flags: tuple[str, ...] = ()
    operands: int = 0
    info_flags: str = ""


WRAPPERS: Final[dict[str, WrapperSyntax]] = {
    "env": WrapperSyntax(
        flags="i0v",
        valued_flags="uC",
        long_flags=("--ignore-environment", "--null", "--debug"),
        long_valued_flags=("--unset", "--chdir"),
    ),
    "nice": WrapperSyntax(valued_flags="n", long_valued_flags=("--adjustment",)),
    "nohup": WrapperSyntax(),
    "setsid": WrapperSyntax(flags="cfw", long_flags=("--ctty", "--fork", "--wait")),
    "stdbuf": WrapperSyntax(
        valued_flags="ioe", long_valued_flags=("--input", "--output", "--error")
    ),
    "timeout": WrapperSyntax(
        flags="fpv",
        valued_flags="ks",
        long_flags=("--foreground", "--preserve-status", "--verbose"),
        long_valued_flags=("--kill-after", "--signal"),
        operands=1,
    ),
    "time": WrapperSyntax(
        flags="pvqal", valued_flags="f", long_flags=("--portability", "--verbose", "--quiet")
    ),
    "ionice": WrapperSyntax(flags="t", valued_flags="cn", long_flags=("--ignore",)),
    "command": WrapperSyntax(flags="p", info_flags="vV"),
    "builtin": WrapperSyntax(),
    "exec": WrapperSyntax(flags="cl", valued_flags="a"),
    "busybox": WrapperSyntax(long_flags=("--list", "--help")),
    "toybox": WrapperSyntax(long_flags=("--help",)),
    "noglob": WrapperSyntax(),
    "coproc": WrapperSyntax(),
    "xargs": WrapperSyntax(
        flags="0rtpxo",
        valued_flags="IEnLPsdaJRS",
        long_flags=(
            "--null",
            "--no-run-if-empty",
            "--verbose",
            "--interactive",
            "--exit",
            "--open-tty",
        ),
        long_valued_flags=(
            "--max-args",
            "--max-lines",
            "--max-procs",
            "--max-chars",
            "--delimiter",
        ),
    ),
}


def make_wrapper_analyzer(fallback: CallAnalyzer) -> CallAnalyzer:
    """Make the analyzer of calls of wrappers.

    Args:
        fallback: The analyzer of calls that have unknown options.
    """

    def analyze_one(call: ProgramCall, analyzer: CommandAnalyzer) -> None:
        name = call.name if call.name in WRAPPERS else call.unversioned_name
        start = _start(call, WRAPPERS[name])
        if start is None:
            fallback(call, analyzer)
        else:
            _analyze_inner_call(call, name, start, analyzer)

    return analyze_one


def _analyze_inner_call(
    call: ProgramCall, name: str, start: int, analyzer: CommandAnalyzer
) -> None:
    words = call.words[start:]
    if any(word.can_split for word in call.words[1:start]):
        analyzer.add_unclear_finding(call, "runs a program whose name is known only when it runs")
    assignments: list[Assignment] = []
    while name == "env" and words and (found := _ASSIGNMENT.match(words[0].text)):
        assignments.append(Assignment(found[1], CommandWord(found[2], words[0].is_certain)))
        words = words[1:]
    if name == "xargs":
        words = _with_input(call.words[1:start], words)
    analyzer.analyze_wrapped_command(call, words, assignments)


def _start(call: ProgramCall, syntax: WrapperSyntax) -> int | None:
    """Return the index of the other program's name; the number of words if there is no name.

    None: the index can't be determined.
    """
    index = 1
    while index < len(call.words):
        word = call.words[index]
        text = word.text
        if text == "--":
            return index + 1 + syntax.operands
        if not word.is_certain or not text.startswith("-"):
            break
        if not text.startswith("--") and set(text[1:2]) & set(syntax.info_flags):
            return len(call.words)
        width = 1 if text == "-" else _width(text, syntax)
        if width is None:
            return None
        index += width
    return index + syntax.operands


def _width(text: str, syntax: WrapperSyntax) -> int | None:
    """Return the number of words of an option, 1 or 2; None: the option is unknown."""
    stem, equals, _ = text.partition("=")
    if text.startswith("--"):
        if stem in syntax.long_valued_flags:
            return 1 if equals else 2
        return 1 if stem in syntax.long_flags else None
    for position, letter in enumerate(text[1:], start=2):
        if letter in syntax.valued_flags:
            return 1 if position < len(text) else 2
        if letter not in syntax.flags:
            return None
    return 1


def _with_input(
    args: tuple[CommandWord, ...], words: tuple[CommandWord, ...]
) -> tuple[CommandWord, ...]:
    """Return the words that `xargs` runs, with unknown words where its input is inserted."""
    place = None
    for word, following in pair_with_next_word(args):
        if word.text[:2] in ("-I", "-J"):
            place = word.text[2:] or following.text
    if not place:
        return (*words, CommandWord("", is_certain=False, can_split=True)) if words else ()
    return tuple(
        CommandWord(word.text.partition(place)[0], is_certain=False, can_split=word.can_split)
        if place in word.text
        else word
        for word in words
    )


def is_plain_wrapper(call: ProgramCall) -> bool:
    """Whether a wrapper's call has a program and no unknown options.

    Args:
        call: The wrapper's call.
    """
    start = _start(call, WRAPPERS[call.name])
    return start is not None and start < len(call.words)


_UNKNOWN: Final = "runs what is known only when it runs"
_ONLY_BASH: Final[tuple[Dialect, ...]] = ("bash",)
_ONLY_POSIX: Final[tuple[Dialect, ...]] = ("posix",)
#: The dialects in which each shell may parse its input.
SHELLS: Final[dict[str, tuple[Dialect, ...]]] = {
    **dict.fromkeys(("sh", "ash", "ksh", "mksh", "zsh", "yash", "hush", "fish"), DIALECTS),
    **dict.fromkeys(("bash", "rbash"), _ONLY_BASH),
    "dash": _ONLY_POSIX,
}
_INPUT: Final = ("-", "--", "/dev/stdin")


def analyze_shell(call: ProgramCall, analyzer: CommandAnalyzer) -> None:
    """Analyze `sh -c TEXT`, `sh FILE`, or `sh` that reads its input.

    Args:
        call: The call.
        analyzer: The analyzer that collects the findings.
    """
    rest = list(call.args)
    has_text_option = False
    while rest:
        word = rest.pop(0)
        if not word.is_certain:
            break
        if word.text in ("--version", "--help"):
            return
        if word.text in ("--rcfile", "--init-file"):
            del rest[:1]
        elif word.text.startswith("--") and len(word.text) > 2:
            continue
        elif word.text.startswith(("-", "+")) and word.text not in _INPUT:
            has_text_option = has_text_option or "c" in word.text
            # -o and -O take a word each, wherever they stand in a cluster.
            del rest[: word.text.lower().count("o")]
            if "s" in word.text:
                break
        else:
            operand = rest.pop(0) if word.text in ("-", "--") and rest else word
            _operand(call, operand, has_text_option, analyzer)
            return
    else:
        _operand(call, CommandWord("-"), False, analyzer)
        return
    analyzer.record_execution(call, "")
    analyzer.add_unclear_finding(call, _UNKNOWN)


def _operand(
    call: ProgramCall, operand: CommandWord, has_text_option: bool, analyzer: CommandAnalyzer
) -> None:
    dialects = SHELLS.get(call.name) or SHELLS.get(call.unversioned_name, DIALECTS)
    if operand.is_certain and has_text_option:
        analyzer.analyze_text(operand.text, dialects)
    elif operand.is_certain and operand.text not in _INPUT:
        analyzer.record_execution(call, operand.text)
    elif operand.is_certain and call.stdin and call.stdin.is_certain:
        analyzer.analyze_text(call.stdin.text, dialects)
    else:
        analyzer.record_execution(call, "")
        analyzer.add_unclear_finding(
            call, "runs its input as a program" if operand.is_certain else _UNKNOWN
        )


def analyze_eval(call: ProgramCall, analyzer: CommandAnalyzer) -> None:
    """Analyze `eval TEXT…`. See `analyze_shell`."""
    args = [word for word in call.args if not (word.is_certain and word.text == "--")]
    if all(word.is_certain for word in args):
        analyzer.analyze_text(" ".join(word.text for word in args))
    else:
        analyzer.record_execution(call, "")
        analyzer.add_unclear_finding(call, _UNKNOWN)


def analyze_trap(call: ProgramCall, analyzer: CommandAnalyzer) -> None:
    """Analyze `trap TEXT SIGNAL…`. See `analyze_shell`."""
    args = [
        word for word in call.args if not (word.is_certain and word.text in ("--", "-", "-l", "-p"))
    ]
    if args and args[0].is_certain:
        analyzer.analyze_text(args[0].text)
    elif args:
        analyzer.add_unclear_finding(call, _UNKNOWN)


def record_executed_file(
    call: ProgramCall, operands: tuple[CommandWord, ...], analyzer: CommandAnalyzer
) -> None:
    """Record the file that a program runs: the first of its operands, or its input.

    Args:
        call: The call.
        operands: The operands.
        analyzer: The analyzer that collects the findings.
    """
    first = operands[0] if operands else CommandWord("-")
    analyzer.record_execution(
        call, first.text if first.is_certain and first.text not in _INPUT else ""
    )
