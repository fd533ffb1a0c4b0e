"""The shell's grammar, asked of shfmt: a program that parses shells and runs nothing."""

from __future__ import annotations

import re
import subprocess
from functools import cache
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

Dialect = Literal["posix", "bash"]
Tree = dict[str, Any]

#: Longer commands are asked about: their tree would take megabytes, and nobody would read them.
TEXT_LIMIT: Final = 8 * 1024
#: Seconds; it takes milliseconds.
PATIENCE: Final = 10.0

# Letters and signs of which every shell makes the same; and what is bash's alone among them, or is read
# in another way by it: its own keywords and declarations, `&>`, `|&`, `<<<`, `a+=b`, `;&`.
_COMMON: Final = re.compile(r"""[\w\s./:,@%+=~^#!*?"'|;&<>-]|\$(?=\w)""", re.ASCII)
_BASH_ALONE: Final = re.compile(
    r"""&>|>&(?!\d)|\|&|<<|<>|>\||\+=|;\s*;|;\s*&|[*?+@!]\s*\("""
    r"""|\b(?:coproc|declare|export|function|let|local|nameref|readonly|select|time|typeset)\b"""
)

# Bytes that shells and the parser may understand differently. A tab and a newline are white space.
_ODD = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")


class UnparsableError(Exception):
    """The text is no command that could be judged; the message says why."""


def is_common(text: str) -> bool:
    """Whether all dialects make the same tree of a text, as of most commands.

    Only plain words, quotes, `$name` and the usual operators are looked through; of all else the
    parser is asked by each grammar.

    Args:
        text: The command.
    """
    return not _COMMON.sub("", text) and not _BASH_ALONE.search(text)


def tree(text: str, dialect: Dialect) -> Tree:
    """The syntax tree of a command. It takes a process.

    Args:
        text: The command.
        dialect: Whose grammar.

    Raises:
        UnparsableError: It has none, or it can't be told.
    """
    if len(text) > TEXT_LIMIT:
        raise UnparsableError(f"the command is longer than {TEXT_LIMIT} characters")
    if _ODD.search(text):
        raise UnparsableError("the command has control characters")
    try:
        done = subprocess.run(
            [_program(), "--to-json", f"--language-dialect={dialect}"],
            input=text.encode(),
            capture_output=True,
            timeout=PATIENCE,
            # It looks for settings where it is, and in the environment: there are none.
            cwd="/",
            env={},
            check=False,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise UnparsableError(f"commands can't be parsed here ({error})") from None
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().removeprefix("<standard input>:")
        raise UnparsableError(f"the command can't be parsed: {said[:200]}")
    try:
        parsed: Tree = msgspec.json.decode(done.stdout)
    except (msgspec.DecodeError, RecursionError):
        raise UnparsableError("the command is nested too deeply") from None
    return parsed


@cache
def _program() -> str:
    """Where shfmt is: that of the package, since one on the PATH may be anybody's.

    Raises:
        FileNotFoundError: The package is not installed, or without its program.
    """
    try:
        listed = files("shfmt-py") or []
    except PackageNotFoundError:
        listed = []
    for path in listed:
        if path.name in ("shfmt", "shfmt.exe"):
            return str(Path(str(path.locate())).resolve())
    raise FileNotFoundError("shfmt is missing; install shfmt-py")
