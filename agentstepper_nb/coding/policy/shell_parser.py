"""Finds the programs that a shell would run, by the syntax tree that shfmt makes of a command."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from functools import cache
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path
from typing import Any, Final, Literal

import msgspec
from msgspec import Struct

from .command_model import (
    Assignment,
    CommandWord,
    ProgramCall,
    Redirect,
    is_short_option,
    shorten_part,
)

Dialect = Literal["posix", "bash"]
Tree = dict[str, Any]

#: The most characters of a command that is parsed. Longer commands require approval.
MAX_TEXT_CHARS: Final = 8 * 1024
#: The most seconds of one parse, which usually takes milliseconds.
PARSE_TIMEOUT_S: Final = 10.0

# Letters and signs of which every shell makes the same; and what is bash's alone among them, or is read
# in another way by it: its own keywords and declarations, `&>`, `|&`, `<<<`, `a+=b`, `;&`.
_COMMON: Final = re.compile(r"""[\w\s./:,@%+=~^#!*?"'|;&<>-]|\$(?=\w)""", re.ASCII)
_BASH_ALONE: Final = re.compile(
    r"""&>|>&(?!\d)|\|&|<<|<>|>\||\+=|;\s*;|;\s*&|[*?+@!]\s*\("""
    r"""|\b(?:coproc|declare|export|function|let|local|nameref|readonly|select|time|typeset)\b"""
)

# Bytes that shells and the parser may understand differently. A tab and a newline are white space.
_CONTROL_CHARACTERS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")


class UnparsableError(Exception):
    """The command can't be analyzed; the message is the reason."""


def is_same_in_all_dialects(text: str) -> bool:
    """Whether all dialects parse a command to the same tree, as they do most commands.

    True only for commands of plain words, quotes, `$name` and the usual operators. Other commands must
    be parsed in each dialect.

    Args:
        text: The command.
    """
    return not _COMMON.sub("", text) and not _BASH_ALONE.search(text)


def parse_tree(text: str, dialect: Dialect) -> Tree:
    """Parse a command with shfmt, in a process of its own.

    Args:
        text: The command.
        dialect: The shell dialect.

    Raises:
        UnparsableError: The command isn't valid in this dialect, or shfmt fails.
    """
    if len(text) > MAX_TEXT_CHARS:
        raise UnparsableError(f"the command is longer than {MAX_TEXT_CHARS} characters")
    if _CONTROL_CHARACTERS.search(text):
        raise UnparsableError("the command contains control characters")
    try:
        done = subprocess.run(
            [_program(), "--to-json", f"--language-dialect={dialect}"],
            input=text.encode(),
            capture_output=True,
            timeout=PARSE_TIMEOUT_S,
            # It looks for settings where it is, and in the environment: there are none.
            cwd="/",
            env={},
            check=False,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise UnparsableError(f"commands can't be parsed here ({error})") from None
    if done.returncode:
        message = done.stderr.decode(errors="replace").strip().removeprefix("<standard input>:")
        raise UnparsableError(f"the command can't be parsed: {message[:200]}")
    try:
        parsed: Tree = msgspec.json.decode(done.stdout)
    except (msgspec.DecodeError, RecursionError):
        raise UnparsableError("the command is nested too deeply") from None
    return parsed


@cache
def _program() -> str:
    """Return the path of shfmt in its Python package, since a program on the PATH isn't trusted.

    Raises:
        FileNotFoundError: The package isn't installed, or has no program.
    """
    try:
        listed = files("shfmt-py") or []
    except PackageNotFoundError:
        listed = []
    for path in listed:
        if path.name in ("shfmt", "shfmt.exe"):
            return str(Path(str(path.locate())).resolve())
    raise FileNotFoundError("shfmt is missing; install shfmt-py")


_PATTERN = re.compile(r"[*?\[]")
# What stands in double quotes with a backslash, and loses it.
_ESCAPED = re.compile(r"\\([$`\"\\])")
# Expansions that the parser left in plain text: it took them for something else than the shell will.
_LEFT = re.compile(r"(?:^|[^\\])(?:\\\\)*(?:`|\$[({])")
# Stands for `$!`, the number of the last process in the background, whichever that is.
_PROCESS: Final = "4194303"
_CODE = re.compile(r"\$\(|`")
_CALCULATES: Final = {"ArithmExp", "ArithmCmd", "LetClause", "CStyleLoop"}
_COMPARES: Final = {"-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-v", "-R"}
# Builtins that take the name of a variable, which bash computes: `unset 'a[$(…)]'`. Some do so with
# these options alone.
_TAKE_NAMES: Final = {
    **dict.fromkeys(("unset", "read", "wait", "getopts", "mapfile", "readarray"), ""),
    **dict.fromkeys(("printf", "test", "["), "v"),
    **dict.fromkeys(("declare", "typeset", "local", "readonly", "export"), "aAin"),
}
# Their patterns are left unparsed.
_OPAQUE: Final = {"ExtGlob", "TestDecl"}


class ParsedShellText(Struct):
    """The contents of a parsed command.

    Args:
        calls: The program calls, at any place in the command.
        redirects: The files that are read and written.
        assignments: The variables that are set, in any way.
    """

    calls: list[ProgramCall]
    redirects: list[Redirect]
    assignments: list[Assignment]


def read_tree(tree: Tree, source: str) -> ParsedShellText:
    """Extract the calls, redirects and assignments of a syntax tree.

    Args:
        tree: The syntax tree, from `parse_tree`.
        source: The command that was parsed.

    Raises:
        UnparsableError: A part of the command can't be determined from its text.
    """
    text = source.encode()
    shell_text = ParsedShellText([], [], [])
    calculates = holds_code = False
    for node in _nodes(tree):
        kind = node.get("Type")
        if kind in _OPAQUE:
            raise UnparsableError("the command has patterns that only bash interprets")
        calculates = calculates or _calculates(node)
        value = node.get("Value")
        holds_code = holds_code or (isinstance(value, str) and bool(_CODE.search(value)))
        if variable := _variable(node):
            shell_text.assignments.append(variable)
        if "Redirs" in node or "Cmd" in node:
            _read_statement(node, text, shell_text)
    calculates = calculates or any(map(_takes_names, shell_text.calls))
    if calculates and holds_code:
        # bash computes a[$(…)] where a variable holds that text.
        raise UnparsableError("the command has arithmetic with text that bash could run")
    return shell_text


def _nodes(tree: Tree) -> Iterator[Tree]:
    """Iterate over all objects of a tree, in the order of the text."""
    pending: list[Any] = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, dict):
            yield node
            pending.extend(reversed(node.values()))
        elif isinstance(node, list):
            pending.extend(reversed(node))


def _calculates(node: Tree) -> bool:
    return (
        node.get("Type") in _CALCULATES
        or node.get("Op") in _COMPARES
        or "Index" in node
        or "Excl" in node  # ${!x}
        or node.get("Exp", {}).get("Op") == "@"  # ${x@P}
        or "Slice" in node
    )


def _takes_names(call: ProgramCall) -> bool:
    letters = _TAKE_NAMES.get(call.name)
    if letters is None:
        return False
    named = any(not word.is_certain or _CODE.search(word.text) for word in call.args)
    return any(is_short_option(word.text, letters) for word in call.args) if letters else named


def _variable(node: Tree) -> Assignment | None:
    """Return the variable that a loop, or an expansion such as `${x:=y}`, sets."""
    if node.get("Type") == "WordIter":
        return Assignment(node["Name"]["Value"], CommandWord("", is_certain=False))
    if node.get("Exp", {}).get("Op") in ("=", ":=") and "Param" in node:
        return Assignment(node["Param"]["Value"], CommandWord("", is_certain=False))
    return None


def _read_statement(node: Tree, text: bytes, shell_text: ParsedShellText) -> None:
    redirects = node.get("Redirs", [])
    for each in redirects:
        if not each["Op"].startswith("<<"):
            shell_text.redirects.append(Redirect(each["Op"], read_word(each["Word"])))
    command = node.get("Cmd")
    if not command or command["Type"] not in ("CallExpr", "DeclClause"):
        return
    if command["Type"] == "CallExpr":
        words = [read_word(each) for each in command.get("Args", [])]
        assignments = [_assignment(each) for each in command.get("Assigns", [])]
    else:
        # export, declare and the like: what isn't an assignment is a word of the call.
        args = command.get("Args", [])
        words = [CommandWord(command["Variant"]["Value"])]
        words += [
            read_word(each["Value"]) for each in args if each.get("Naked") and "Value" in each
        ]
        assignments = [_assignment(each) for each in args if "Name" in each]
    shell_text.assignments.extend(assignments)
    if words:
        part = text[command["Pos"]["Offset"] : command["End"]["Offset"]].decode(errors="replace")
        call = ProgramCall(tuple(words), shorten_part(part), tuple(assignments), _stdin(redirects))
        shell_text.calls.append(call)


def _assignment(node: Tree) -> Assignment:
    value = (
        read_word(node["Value"])
        if "Value" in node
        else CommandWord("", is_certain="Array" not in node)
    )
    return Assignment(node["Name"]["Value"], value)


def _stdin(redirects: list[Tree]) -> CommandWord | None:
    """Return a call's input, if the command contains it; the last of several."""
    found = None
    for each in redirects:
        if each["Op"] in ("<<", "<<-"):
            found = _here_document(each)
        elif each["Op"] in ("<<<", "<"):
            found = read_word(each["Word"]) if each["Op"] == "<<<" else None
    return found


def _here_document(redirect: Tree) -> CommandWord:
    body = redirect.get("Hdoc", {}).get("Parts", [])
    if any(part["Type"] != "Lit" for part in body):
        return CommandWord("", is_certain=False)
    quoted = _quoted(redirect["Word"])
    lines = "".join(part["Value"] for part in body)
    if redirect["Op"] == "<<-":
        lines = re.sub(r"(?m)^\t+", "", lines)
    return CommandWord(lines if quoted else _ESCAPED.sub(r"\1", lines))


def _quoted(delimiter: Tree) -> bool:
    parts = delimiter.get("Parts", [])
    return any(part["Type"] != "Lit" or "\\" in part["Value"] for part in parts)


# ---- words -----------------------------------------------------------------------------------------


def read_word(node: Tree) -> CommandWord:
    """Convert a word of the tree, as far as its text determines the word.

    Args:
        node: The node of a word.

    Raises:
        UnparsableError: The parser left a part of the word unparsed.
    """
    builder = _Builder()
    for part in node.get("Parts", []):
        builder.add(part)
    return builder.word()


def _is_list(part: Tree) -> bool:
    """Whether a part may expand to several words even in double quotes, as `"$@"` does."""
    return part.get("Param", {}).get("Value") == "@" or "Index" in part or "Excl" in part


def _has_braces(bare: str) -> bool:
    """Whether bash may expand a text to several words, as it does `{a,b}` and `{1..3}`."""
    inside = bare.partition("{")[2].rpartition("}")[0]
    return "," in inside or ".." in inside


class _Builder:
    """Builds a word from its parts."""

    def __init__(self) -> None:
        self._text = ""
        self._all = ""  # with what patterns stand for
        self._bare = ""  # without what is quoted: braces count there only
        self._is_certain = True
        self._can_split = False
        self._is_glob = False

    def add(self, part: Tree, quoted: bool = False) -> None:
        kind = part["Type"]
        if kind == "Lit":
            self._add_literal(part["Value"], quoted)
        elif kind == "SglQuoted" and not part.get("Dollar"):
            self._add_text(part.get("Value", ""))
        elif kind == "DblQuoted":
            for inner in part.get("Parts", []):
                self.add(inner, quoted=True)
            self._bare += "q"
        elif kind == "SglQuoted":
            self._end()  # $'…': shells differ in whether they know it
        elif kind == "ParamExp" and part.get("Short") and part["Param"]["Value"] == "!":
            self._add_text(_PROCESS)
        else:
            self._end(can_split=not quoted or _is_list(part))

    def word(self) -> CommandWord:
        if self._bare in ("[", "[["):
            return CommandWord(self._bare)  # the command: no pattern without its end
        if _has_braces(self._bare):
            return CommandWord(self._text.partition("{")[0], is_certain=False, can_split=True)
        if self._is_glob and not self._can_split and not self._may_climb():
            return CommandWord(self._text, is_certain=False, is_glob=True, pattern=self._all)
        return CommandWord(self._text, self._is_certain, self._can_split)

    def _may_climb(self) -> bool:
        """Whether a pattern may match `..` or `.git`, or is followed by one of them."""
        names = self._all.split("/")
        first = next(place for place, name in enumerate(names) if _PATTERN.search(name))
        return any(name.startswith(".") for name in names[first:])

    def _add_literal(self, value: str, quoted: bool) -> None:
        if _LEFT.search(value):
            raise UnparsableError("the command has an expansion that can't be parsed")
        if quoted:
            self._add_text(_ESCAPED.sub(r"\1", value))
            return
        characters = iter(value)
        for character in characters:
            if character == "\\":
                self._add_text(next(characters, ""))
            elif character in "*?[":
                self._bare += character
                self._all += character
                self._is_glob = self._is_glob or self._is_certain
                self._is_certain = False
            else:
                self._bare += character
                self._all += character
                self._text += character if self._is_certain else ""

    def _add_text(self, text: str) -> None:
        self._all += text
        self._bare += "q"
        if self._is_certain:
            self._text += text

    def _end(self, can_split: bool = False) -> None:
        """Mark the rest of the word as unknown."""
        self._is_certain = self._is_glob = False
        self._can_split = self._can_split or can_split
