"""Processes, builds, and small programs with a way out to others."""

from __future__ import annotations

import re
from typing import Final

from ..judging import Judge, Look
from ..words import Call, Word, given, operands, options, pairs

# make's options for a file or folder, and what may stand behind them in the same word.
_PLACE = re.compile(r"(?:-[fC]|--(?:file|makefile|directory)=?)(.*)", re.DOTALL)
# A variable with a command as its value: recipes run what they find in `$(CC)`.
_RECIPE = re.compile(r"[A-Za-z_]\w*[:+?!]*=(.*[\s;&|<>].*)", re.DOTALL)
_PID = re.compile(r"[1-9]\d*|%[\w%+-]*")
_SIGNAL = re.compile(r"-(s|n|\d+|[A-Z][A-Z0-9+]*|l|L)")
#: Words of a database's program that leave the database.
_LEAVES_DATABASE = re.compile(
    r"(^|\s)(\.(shell|system|output|once|import|load|excel|read)\b|\\!|system\b)"
)
#: Targets that by custom change more than the workspace.
_FAR_TARGETS: Final = {"install", "uninstall", "deploy", "publish", "release", "upload"}


def _kill(call: Call, judge: Judge) -> None:
    """`kill`: one process by its number is the agent's own; -1 is all, others below 0 are groups."""
    words = [word for word in call.args if not (word.sure and word.text == "--")]
    if words and _SIGNAL.fullmatch(words[0].text) and words[0].sure:
        skipped = 2 if words[0].text in ("-s", "-n") else 1
        if words[0].text in ("-l", "-L"):
            return
        # `kill -1` alone is a signal without anybody to send it to.
        words = words[skipped:] if len(words) > skipped else words
    for word in words:
        if not word.sure:
            judge.unclear(call, "ends a process that is only known when it runs")
        elif not _PID.fullmatch(word.text) or word.text == "1":
            judge.danger(call, "ends all processes, or a group of them")


def _make(call: Call, judge: Judge) -> None:
    """`make`: what its recipes do belongs to the workspace, as its tests do."""
    computes = any("$(" in word.text or "`" in word.text for word in call.args)
    if computes or given(call.args, "--eval", shorts="E"):
        judge.hidden(call, "runs what it is given as a recipe")
    elif any(not word.sure for word in options(call.args)):
        judge.unclear(call, "has options that are only known when it runs")
    for word, following in pairs(call.args):
        if word.text in _FAR_TARGETS:
            judge.danger(call, "changes more than the workspace")
        elif recipe := _RECIPE.fullmatch(word.text):
            judge.text(recipe[1])
        if word.text.startswith("SHELL="):
            judge.hidden(call, "changes what its recipes are run by")
        elif place := _PLACE.match(word.text):
            _recipes(call, Word(place[1], word.sure) if place[1] else following, judge)


def _recipes(call: Call, place: Word, judge: Judge) -> None:
    """Look where recipes come from."""
    if not place.sure or place.text == "-":
        judge.unclear(call, "takes its recipes from somewhere that is only known when it runs")
    else:
        judge.runs(call, place.text)


def _database(call: Call, judge: Judge) -> None:
    """`sqlite3`, `psql`, `mysql`: their own commands can run programs."""
    said = given(
        call.args, "--command", "--execute", "--file", "--version", "--help", shorts="cefV"
    )
    if any(_LEAVES_DATABASE.search(word.text) for word in call.args):
        judge.hidden(call, "can leave its database: it runs programs and writes files")
    elif not said and len(operands(call.args)) < 2:
        judge.hidden(call, "runs whatever it is piped")
    elif any(not word.sure for word in call.args):
        judge.unclear(call, "is given commands that are only known when it runs")


def _pager(call: Call, judge: Judge) -> None:
    """`less`, `more`, `man`."""
    if any(word.text.startswith("+") for word in call.args) or given(
        call.args, "--pager", "--html", "--preview", shorts="PHk"
    ):
        judge.hidden(call, "runs another program")


def _shower(call: Call, judge: Judge) -> None:
    """`bat`."""
    if given(call.args, "--pager"):
        judge.hidden(call, "runs another program")


def _jobs(call: Call, judge: Judge) -> None:
    if given(call.args, shorts="x"):
        judge.hidden(call, "runs another program")


def _cmake(call: Call, judge: Judge) -> None:
    if any(word.text in ("-E", "-P") for word in call.args):
        judge.hidden(call, "runs commands of its own, `rm` among them")


def _fuser(call: Call, judge: Judge) -> None:
    if given(call.args, "--kill", shorts="k"):
        judge.danger(call, "ends processes")


def _history(call: Call, judge: Judge) -> None:
    """Builtins that call back."""
    if given(call.args, shorts="Cc"):
        judge.hidden(call, "runs a command for what it reads")


def _alias(call: Call, judge: Judge) -> None:
    if any("=" in word.text or not word.sure for word in call.args):
        judge.hidden(call, "changes what a name runs")


def _hash(call: Call, judge: Judge) -> None:
    if given(call.args, shorts="p"):
        judge.hidden(call, "changes what a name runs")


LOOKS: Final[dict[str, Look]] = {
    "kill": _kill,
    **dict.fromkeys(("make", "gmake", "bmake", "just", "task", "ninja"), _make),
    **dict.fromkeys(
        ("sqlite", "sqlite3", "psql", "mysql", "mariadb", "duckdb", "redis-cli"), _database
    ),
    **dict.fromkeys(("less", "more", "man", "fzf"), _pager),
    "cmake": _cmake,
    "fuser": _fuser,
    **dict.fromkeys(("mapfile", "readarray"), _history),
    **dict.fromkeys(("bat", "batcat", "delta"), _shower),
    "jobs": _jobs,
    "alias": _alias,
    "hash": _hash,
}
