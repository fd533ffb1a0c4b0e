"""Programs that delete, overwrite and move files."""

from __future__ import annotations

import re
from typing import Final

from msgspec import structs

from ..judging import Judge, Look
from ..words import Call, Word, given, is_long, operands, options, pairs

_UNKNOWN = "has options that are only known when it runs"
# One bit of setuid or setgid, in digits or letters.
_ATTACHED = re.compile(r"-[A-Za-z]+([/.~].*)", re.DOTALL)
_SETS_ID = re.compile(r"0*[2467]\d{3}|[ugoa]*[+=]\w*s\w*")


def _remove(call: Call, judge: Judge) -> None:
    """`rm`. One named file is no more than the agent's own tools may delete."""
    if given(call.args, "--recursive", "--dir", shorts="rRd"):
        judge.danger(call, "deletes folders and all that is in them")
    elif given(call.args, "--force", "--no-preserve-root", shorts="f"):
        judge.danger(call, "deletes files without asking back")
    elif any(word.glob for word in operands(call.args)):
        judge.danger(call, "deletes whatever matches")
    else:
        _write(call, judge)


def _write(call: Call, judge: Judge) -> None:
    """Programs whose operands are files that they change."""
    if call.name == "split" and given(call.args, "--filter"):
        judge.hidden(call, "runs another program")
    if any(not word.sure for word in options(call.args)):
        judge.unclear(call, _UNKNOWN)
    for word in operands(call.args):
        if word.text.startswith("/dev/") and call.name in ("rm", "unlink", "mv", "ln"):
            judge.danger(call, "replaces a device")
        judge.writes(call, word)
    for word in options(call.args):  # --target-directory=/etc
        _, equals, value = word.text.partition("=")
        if equals:
            judge.writes(call, Word(value, word.sure, word.many, word.glob))
        elif attached := _ATTACHED.match(word.text):  # -t/etc
            judge.writes(call, Word(attached[1], word.sure, word.many, word.glob))


def _change_mode(call: Call, judge: Judge) -> None:
    """`chmod`, `chown`, `chgrp`."""
    if given(call.args, "--recursive", shorts="R"):
        judge.danger(call, "changes the rights of whole folders")
    elif call.name == "chmod" and any(
        _SETS_ID.fullmatch(word.text) for word in operands(call.args)
    ):
        judge.danger(call, "lets a program run with its owner's rights")
    else:
        _write(call, judge)


# Each with what it does; those that take a file name write to it.
_FIND: Final[dict[str, str]] = {
    "-delete": "deletes files",
    "-exec": "runs a program for each file",
    "-execdir": "runs a program for each file",
    "-ok": "runs a program for each file",
    "-okdir": "runs a program for each file",
    "-fprint": "writes a file",
    "-fprint0": "writes a file",
    "-fprintf": "writes a file",
    "-fls": "writes a file",
}


def _find(call: Call, judge: Judge) -> None:
    for word in call.args:
        if word.sure and word.text in _FIND:
            why = _FIND[word.text]
            (judge.hidden if why.startswith("runs") else judge.danger)(call, why)
            return
    if any(not word.sure and not word.glob and word.may_be_option for word in call.args):
        judge.unclear(call, _UNKNOWN)


def _find_fast(call: Call, judge: Judge) -> None:
    """`fd`."""
    if given(call.args, "--exec", "--exec-batch", shorts="xX"):
        judge.hidden(call, "runs a program for each file")


def _search(call: Call, judge: Judge) -> None:
    """`rg`, `ag`, `git grep`-like: harmless but for their preprocessors."""
    if given(call.args, "--pre", "--hostname-bin", "--pager"):
        judge.hidden(call, "runs a program for each file")


_ARCHIVE_RUNS: Final = (
    *("--to-command", "--checkpoint-action", "--use-compress-program", "--info-script"),
    # A list of files may hold options too.
    *("--new-volume-script", "--rmt-command", "--rsh-command", "--files-from"),
)


def _archive(call: Call, judge: Judge) -> None:
    """`tar`, whose first word is options even without a hyphen."""
    if call.args and not call.args[0].text.startswith("-"):
        first = structs.replace(call.args[0], text="-" + call.args[0].text)
        call = structs.replace(call, words=(call.words[0], first, *call.args[1:]))
    if given(call.args, *_ARCHIVE_RUNS, shorts="IFT"):
        judge.hidden(call, "runs another program")
    elif given(call.args, "--absolute-names", shorts="P"):
        judge.danger(call, "writes wherever the archive says")
    elif given(call.args, "--remove-files", "--recursive-unlink", "--unlink-first"):
        judge.danger(call, "deletes files")
    elif any(not word.sure for word in options(call.args)):
        judge.unclear(call, _UNKNOWN)
    else:
        _target_folder(call, judge, "--directory", "-C", "--one-top-level")
        _archive_places(call, judge)


def _archive_places(call: Call, judge: Judge) -> None:
    """The values of the first word's letters: `cf FILE`, `xfC FILE FOLDER`."""
    if not call.args or call.args[0].text.startswith("--"):
        return
    letters = call.args[0].text
    creates = bool(set(letters) & set("cruA"))
    values = iter(call.args[1:])
    for letter in (each for each in letters if each in "fCbgKNVXLH"):
        value = next(values, Word(""))
        if letter == "C" or (letter == "f" and creates and value.text != "-"):
            judge.writes(call, value)


def _zip(call: Call, judge: Judge) -> None:
    """`zip`, `unzip`, `7z`."""
    if given(call.args, "--unzip-command", "--move", shorts="Tm"):
        judge.hidden(call, "runs another program, or deletes what it packs")
    else:
        _target_folder(call, judge, "--directory", "-d")
        if call.name == "zip":
            for word in operands(call.args)[:1]:
                judge.writes(call, word)


def _second(call: Call, judge: Judge) -> None:
    """`uniq`, `xxd`: from one file to another."""
    for word in operands(call.args)[-1:]:
        judge.writes(call, word)


def _output(call: Call, judge: Judge) -> None:
    """`shuf` and compilers."""
    if any(_COMPILER_RUNS.match(word.text) for word in call.args):
        judge.hidden(call, "runs another program")
    _target_folder(call, judge, "--output", "-o")


# Options of compilers by which they run or load other programs.
_COMPILER_RUNS = re.compile(r"-(wrapper|fplugin|specs)\b")


def _target_folder(call: Call, judge: Judge, *names: str) -> None:
    """Look at the folder that an option names, in the next word or its own."""
    for word, following in pairs(call.args):
        for name in names:
            if word.text == name:
                judge.writes(call, following)
            elif name.startswith("--") and is_long(word.text, name) and "=" in word.text:
                judge.writes(call, Word(word.text.partition("=")[2], word.sure))
            elif not name.startswith("--") and word.text.startswith(name):
                judge.writes(call, Word(word.text[len(name) :], word.sure))


def _sort(call: Call, judge: Judge) -> None:
    if given(call.args, "--compress-program"):
        judge.hidden(call, "runs another program")
    _target_folder(call, judge, "--output", "-o")


def _change_folder(call: Call, judge: Judge) -> None:
    """`cd`: paths that follow are told by where they seem to be."""
    where = operands(call.args)
    away = call.name == "popd" or not where
    for word in where:
        place = judge.places
        away = away or not word.sure or word.text == "-" or place.is_outside(word.text)
        away = away or place.is_git(word.text)
    if away:
        judge.unclear(call, "leaves the folder, so that it can't be told where the rest happens")


LOOKS: Final[dict[str, Look]] = {
    "rm": _remove,
    "unlink": _remove,
    "rmdir": _write,
    **dict.fromkeys(
        ("mv", "cp", "ln", "link", "install", "tee", "touch", "mkdir", "mkfifo"), _write
    ),
    **dict.fromkeys(("mknod", "patch", "split", "csplit", "sponge", "mktemp"), _write),
    **dict.fromkeys(("chmod", "chown", "chgrp", "chflags"), _change_mode),
    **dict.fromkeys(("find", "gfind", "bfs"), _find),
    **dict.fromkeys(("fd", "fdfind"), _find_fast),
    **dict.fromkeys(("rg", "ripgrep", "ag", "ack"), _search),
    **dict.fromkeys(("tar", "gtar", "bsdtar"), _archive),
    **dict.fromkeys(("zip", "unzip", "7z", "7za"), _zip),
    "sort": _sort,
    **dict.fromkeys(("uniq", "xxd"), _second),
    **dict.fromkeys(
        ("shuf", "cc", "c++", "gcc", "g++", "clang", "clang++", "rustc", "ld"), _output
    ),
    **dict.fromkeys(("cd", "pushd", "popd"), _change_folder),
}
