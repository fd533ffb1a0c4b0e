"""Interpreters that are given a program as an argument, or on their input."""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

from ..judging import Judge, Look
from ..words import Call, Word, is_long

INLINE = "runs a program that stands in the command, which isn't looked into"
PIPED = "runs whatever it is piped"
UNKNOWN = "runs what is only known when it runs"


class Form(Struct, frozen=True):
    """How an interpreter is given its program.

    Args:
        inline: Letters of the options that a program follows.
        longs: The same, long.
        valued: Letters of options with a value.
        long_valued: Long options with one.
        commands: First words that a program follows, as in `deno eval`.
        quiet: Whether it does nothing where it is given nothing to run.
    """

    inline: str = ""
    longs: tuple[str, ...] = ()
    valued: str = ""
    long_valued: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    quiet: bool = False


_FORMS: Final[dict[str, Form]] = {
    "perl": Form(inline="eEMmdS", valued="I"),
    "ruby": Form(inline="eS", valued="IrCEF"),
    "node": Form(inline="ep", longs=("--eval", "--print"), valued="rC", long_valued=("--import",)),
    "deno": Form(commands=("eval", "repl", "install", "upgrade"), quiet=True),
    "bun": Form(
        inline="ep",
        longs=("--eval", "--print"),
        commands=(
            "add",
            "install",
            "i",
            "a",
            "x",
            "create",
            "publish",
            "remove",
            "update",
            "upgrade",
        ),
        quiet=True,
    ),
    "php": Form(inline="rBREd", longs=("--run", "--process-begin", "--process-code"), valued="czt"),
    "lua": Form(inline="e", valued="l"),
    "luajit": Form(inline="e", valued="l"),
    "julia": Form(inline="eE", longs=("--eval", "--print"), valued="JtpHL"),
    "rscript": Form(inline="e"),
    "r": Form(inline="e", valued="fg", commands=("CMD",)),
    "groovy": Form(inline="e"),
    "scala": Form(inline="e"),
    "elixir": Form(inline="e", longs=("--eval", "--rpc-eval"), valued="r"),
    "erl": Form(inline="es"),
    "ghc": Form(inline="e", quiet=True),
    "guile": Form(inline="ce"),
    "racket": Form(inline="e"),
    "swift": Form(inline="e", quiet=True),
    "ts-node": Form(inline="ep", longs=("--eval", "--print")),
    "tsx": Form(inline="ep", longs=("--eval", "--print")),
    "clojure": Form(inline="e", commands=("-e",)),
}
_FORMS["nodejs"] = _FORMS["node"]
# What stands where a file's name could.
_ELSEWHERE = re.compile(r"^(--(import|loader|require)=)?(data|npm|jsr|https?):")
_INFORMS: Final = {"--version", "-v", "-V", "--help", "-h", "--test", "--check"}


def _interpreter(call: Call, judge: Judge) -> None:
    form = _FORMS.get(call.name) or _FORMS[call.plain_name]
    if any(_ELSEWHERE.search(word.text) for word in call.args):
        judge.hidden(call, "runs a program from elsewhere")
    if form.quiet and any(word.text == "-" for word in call.args):
        judge.hidden(call, PIPED)
    rest = list(call.args)
    while rest:
        word = rest.pop(0)
        if not word.sure and word.may_be_option:
            judge.unclear(call, UNKNOWN)
            return
        if word.text in form.commands or is_long(word.text, *form.longs):
            judge.unclear(call, INLINE)
            return
        if word.text == "-":
            break
        if word.text.startswith("--"):
            if word.text in form.long_valued:
                del rest[:1]
        elif word.text.startswith("-"):
            if set(word.text[1:]) & set(form.inline):
                judge.unclear(call, INLINE)
                return
            if word.text[-1] in form.valued and len(word.text) == 2:
                del rest[:1]
        else:
            script(call, word, judge)
            return
    informs = len(call.args) == 1 and call.args[0].text in _INFORMS
    if not (informs or form.quiet):
        judge.hidden(call, PIPED)


def script(call: Call, word: Word, judge: Judge) -> None:
    """Judge the file that an interpreter is given."""
    if word.sure or word.text:
        judge.runs(call, word.text)
    else:
        judge.unclear(call, UNKNOWN)


LOOKS: Final[dict[str, Look]] = dict.fromkeys(_FORMS, _interpreter)
