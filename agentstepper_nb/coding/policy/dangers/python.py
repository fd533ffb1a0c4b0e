"""Python: its options, and the few programs in a command that need no question."""

from __future__ import annotations

import ast
from typing import Final

from ..judging import Judge, Look
from ..words import Call, Word, names
from .interpreters import INLINE, PIPED, UNKNOWN, script

#: Modules that run what they are given, or install it.
_RUNNERS: Final = names(
    """
    pip ensurepip easy_install timeit code pdb trace profile cProfile IPython ptpython bpython pipx uv
    conda twine smtpd idlelib webbrowser antigravity runpy asyncio xonsh
    """
)


def _python(call: Call, judge: Judge) -> None:
    rest = list(call.args)
    while rest:
        word = rest.pop(0)
        if not word.sure and word.may_be_option:
            judge.unclear(call, UNKNOWN)
            return
        text = word.text
        if text in ("--version", "-V", "-VV", "--help", "-h"):
            return
        if text == "-":
            break
        if text.startswith("--"):
            if text == "--check-hash-based-pycs":
                del rest[:1]
        elif text.startswith("-"):
            if _python_option(call, text, rest, judge):
                return
        else:
            script(call, word, judge)
            if word.text.endswith("setup.py") and _SETS_UP & {each.text for each in rest}:
                judge.danger(call, "installs or publishes packages")
            return
    if call.stdin and call.stdin.sure and shows_only(call.stdin.text):
        return
    judge.hidden(call, PIPED)


def _python_option(call: Call, text: str, rest: list[Word], judge: Judge) -> bool:
    """Look at a cluster of Python's options, and say whether it names what is run."""
    for position, letter in enumerate(text[1:], start=2):
        attached = text[position:]
        if letter in "WX":
            if not attached:
                del rest[:1]
            return False
        if letter == "i":
            judge.hidden(call, PIPED)
            return True
        if letter in "cm":
            value = Word(attached) if attached else (rest.pop(0) if rest else Word(""))
            (_python_text if letter == "c" else _python_module)(call, value, tuple(rest), judge)
            return True
    return False


def _python_text(call: Call, value: Word, rest: tuple[Word, ...], judge: Judge) -> None:
    if not (value.sure and shows_only(value.text)):
        judge.unclear(call, INLINE)


def _python_module(call: Call, value: Word, rest: tuple[Word, ...], judge: Judge) -> None:
    if not value.sure:
        judge.unclear(call, UNKNOWN)
    elif value.text in _PROGRAMS:
        judge.inner(call, (value, *rest))
    elif value.text.partition(".")[0] in _RUNNERS:
        judge.hidden(call, "runs or installs what it is given")


#: What the old `setup.py` is told to bring packages in or out.
_SETS_UP: Final = names("install develop easy_install upload register")
#: Modules that are programs with a look of their own.
_PROGRAMS: Final = names("pip poetry pdm pipenv hatch coverage")


def _coverage(call: Call, judge: Judge) -> None:
    """`coverage run` is Python with its arguments; only its `-m` isn't a file of the workspace."""
    words = [word.text for word in call.args]
    if words[:1] == ["run"] and "-m" in words:
        judge.inner(call, (Word("python"), *call.args[words.index("-m") :]))


#: What a program that only shows something may call.
_SHOWING: Final = {"print", "len", "repr", "str", "type", "dir", "sorted", "list", "bool", "int"}
_SHOWING_NODES: Final = (
    *(ast.Module, ast.Expr, ast.Import, ast.ImportFrom, ast.alias, ast.Call, ast.Name, ast.Load),
    *(ast.Attribute, ast.Constant, ast.JoinedStr, ast.FormattedValue, ast.Subscript, ast.Slice),
    *(
        ast.Tuple,
        ast.List,
        ast.Compare,
        ast.BinOp,
        ast.UnaryOp,
        ast.operator,
        ast.unaryop,
        ast.cmpop,
    ),
    ast.keyword,
)


def shows_only(program: str) -> bool:
    """Whether a Python program does no more than import modules and print what they hold.

    Importing runs what is in the workspace, as tests do. Anything else isn't looked into.

    Args:
        program: Its text.
    """
    try:
        tree = ast.parse(program)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    bound: set[str] = set()
    for node in ast.walk(tree):
        if not isinstance(node, _SHOWING_NODES):
            return False
        if isinstance(node, ast.alias):
            bound.add((node.asname or node.name).partition(".")[0])
        if isinstance(node, ast.Call) and not (
            isinstance(node.func, ast.Name) and node.func.id in _SHOWING
        ):
            return False
        if isinstance(node, ast.keyword) and node.arg not in ("sep", "end", "flush"):
            return False  # print(file=…)
    return "*" not in bound and not bound & _SHOWING


LOOKS: Final[dict[str, Look]] = {
    **dict.fromkeys(
        ("python", "python2", "python3", "pypy", "pypy3", "ipython", "ptpython", "bpython"), _python
    ),
    "coverage": _coverage,
}
