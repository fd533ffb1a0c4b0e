"""`sed` and `awk`: small languages, in which programs can be run and files written."""

from __future__ import annotations

import re
from typing import Final

from ..judging import Judge, Look
from ..words import Call, Word, given, pairs

_UNKNOWN = "is given a program that is only known when it runs"


def _pattern(mark: str) -> str:
    """A regular expression up to its mark, which may stand in it behind a backslash alone.

    In `[…]` programs differ in whether the mark ends it: there it may not stand.
    """
    escaped = r"\\[^\]\n]"
    bracket = rf"\[\^?(?:{escaped}|(?!{mark})[^\]^\\\n])(?:{escaped}|(?!{mark})[^\]\\\n])*\]"
    return rf"(?:(?!{mark})[^\\\n\[]|\\.|{bracket})*"


# One address: a line, the last one, a pattern.
_ADDRESS = rf"(?:\d+(?:~\d+)?|\$|/{_pattern('/')}/[IM]*|\+\d+|~\d+)"
# Commands that neither run anything nor write files.
_TAME = re.compile(
    rf"(?:{_ADDRESS}(?:[ \t]*,[ \t]*{_ADDRESS})?)?[ \t]*(?:![ \t]*)?"
    r"(?:[dDgGhHlnNpPxz=FqQ]\d*"
    rf"|[sy](?P<mark>[^\w\s\\\[]){_pattern('(?P=mark)')}(?P=mark)"
    r"(?:(?!(?P=mark))[^\\\n]|\\.)*(?P=mark)[gpiImM0-9]*"
    r"|[aic]\\?[^\n]*|[btT:][ \t]*\w*|\})?[ \t]*",
    re.DOTALL,
)


def _sed(call: Call, judge: Judge) -> None:
    if any(not word.sure and word.may_be_option for word in call.args):
        judge.unclear(call, _UNKNOWN)
        return
    scripts, files, in_place = _parted(call.args)
    for script in scripts:
        if not script.sure:
            judge.unclear(call, _UNKNOWN)
        elif not tame(script.text):
            judge.unclear(call, "may run programs or write files: `sed` has commands for that")
    if in_place:
        for word in files:
            judge.writes(call, word)


def _parted(args: tuple[Word, ...]) -> tuple[list[Word], list[Word], bool]:
    """The scripts, the files, and whether those are changed."""
    scripts: list[Word] = []
    others: list[Word] = []
    named = in_place = False
    rest = list(args)
    while rest:
        word = rest.pop(0)
        text = word.text
        if not word.sure or not text.startswith("-") or text == "-":
            others.append(word)
        elif text == "--":
            others.extend(rest)
            break
        elif text.startswith("--"):
            stem, equals, value = text.partition("=")
            in_place = in_place or "--in-place".startswith(stem)
            if len(stem) > 3 and "--line-length".startswith(stem) and not equals:
                del rest[:1]
            if "--expression".startswith(stem) or "--file".startswith(stem):
                named = True
                found = Word(value) if equals else rest.pop(0) if rest else Word("")
                scripts.append(_script(found, "--expression".startswith(stem)))
        else:
            in_place = in_place or "i" in text or "I" in text
            if text.endswith("l"):
                del rest[:1]  # -l N
            letter = re.search(r"[ef]", text.partition("i")[0])
            if letter:
                named = True
                value = text[letter.end() :]
                found = Word(value) if value else rest.pop(0) if rest else Word("")
                scripts.append(_script(found, letter[0] == "e"))
    if not named and others:
        scripts.append(others.pop(0))
        if others and scripts == [Word("")]:  # `-i ''` of BSD
            scripts.append(others.pop(0))
    return scripts, others, in_place


def _script(word: Word, inline: bool) -> Word:
    """The script that an option gives. A file of the workspace is taken as its tests are."""
    if inline:
        return word
    known = word.sure and not word.text.startswith(("-", "/dev/"))
    return Word("", sure=known)


def tame(script: str) -> bool:
    """Whether a script of `sed` surely runs nothing and writes nothing by itself.

    Args:
        script: The script.
    """
    position = 0
    while position < len(script):
        found = _TAME.match(script, position)
        if not found:
            return False
        position = found.end()
        if position < len(script):
            if script[position] not in ";\n{}":
                return False
            position += 1
    return True


_AWK_LEAVES = re.compile(
    r"\bsystem\b|\bgetline\b|(?<!\|)\|(?!\|)|\bprintf?\b.*>(?!=|>?\s*[\d.])|@\w|\bclose\b",
    re.DOTALL,
)


def _awk(call: Call, judge: Judge) -> None:
    if given(call.args, "--include", "--load", "--exec", "--debug", shorts="ilED"):
        judge.hidden(call, "loads other programs")
    if any(not word.sure for word in call.args if not word.glob):
        judge.unclear(call, _UNKNOWN)
    # Whatever word is the program: none of the others has reason to look like this.
    if any(_AWK_LEAVES.search(word.text) for word in call.args):
        judge.hidden(call, "runs programs or writes files")
    for word, following in pairs(call.args):
        if re.match(r"-f|--file", word.text):
            value = re.sub(r"^(-f|--file=?)", "", word.text) or following.text
            if value.startswith(("-", "/dev/")):
                judge.unclear(call, _UNKNOWN)


LOOKS: Final[dict[str, Look]] = {
    **dict.fromkeys(("sed", "gsed"), _sed),
    **dict.fromkeys(("awk", "gawk", "mawk", "nawk", "original-awk"), _awk),
}
