"""The troubleshooting page: what it quotes is said somewhere, and what is said to a person is on it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType
from typing import Final

import pytest

from tests.docs.pages import GUIDE, ROOT

PAGE: Final = GUIDE / "troubleshooting.md"
PACKAGE: Final = ROOT / "agentstepper_nb"
VIEW: Final = ROOT / "js" / "src"

#: Calls by whose text a person hears what is wrong and what to do.
TELLERS: Final = {
    *("ConnectionLostError", "DiscoveryError", "CodingSessionError", "WorkspaceError"),
    *("ServeOptionError", "UsageError", "ChatUsageError", "CodeUsageError"),
    "_fail",
}
#: The doctor's findings; what to do follows the finding itself.
FINDINGS: Final = {"_note", "_wrong"}
#: The same in what an agent calls itself.
AGENTS: Final = TELLERS | {
    *("AgentStopped", "FileNotFoundError", "NotADirectoryError", "PermissionError"),
    *(
        "ProtocolError",
        "RuntimeError",
        "TimeoutError",
        "ToolDeniedError",
        "TypeError",
        "ValueError",
    ),
}
#: Parts of a message that are too short to look for.
SHORT: Final = 12
HOLE: Final = "…"

_TEXT = re.compile(r'"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\]|\\.)*)`')
_JOINED = re.compile(r'["`]\s*\+\s*["`]')


def quotes() -> list[str]:
    """The messages that the page quotes: the first column of its tables."""
    rows = [line.split(" | ")[0] for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    return [row.removeprefix("| ").strip() for row in rows if not row.startswith("| Message")]


def parts(message: str) -> list[str]:
    """What of a message is always the same."""
    return [part.strip() for part in message.split(HOLE) if part.strip()]


# ---- what is said ----------------------------------------------------------------------------------


def list_texts() -> tuple[str, ...]:
    """Every text of the package and of the view.

    Those of the package come from what is compiled, and kept, already: to parse all of it takes seconds.
    """
    python = (
        text
        for path in sources()
        for text in texts(SourceFileLoader("read", str(path)).get_code("read"))
    )
    return (*python, *of_the_view())


def sources() -> list[Path]:
    return [path for path in PACKAGE.rglob("*.py") if "scripted" not in path.parts]


def texts(code: CodeType | None) -> Iterator[str]:
    """The texts of a module; what is filled in later stands between two of them."""
    constants: list[object] = [code]
    while constants:
        match constants.pop():
            case CodeType(co_consts=inner) | tuple(inner) | frozenset(inner):
                constants += inner
            case str(text):
                yield text


def text_of(node: ast.AST) -> str | None:
    """A string's text; what is filled in later is a hole."""
    match node:
        case ast.Constant(value=str(text)):
            return re.sub(r"\{\w*\}|(?<!%)%[sr]", HOLE, text)
        case ast.JoinedStr(values=values):
            return "".join(
                value.value if isinstance(value, ast.Constant) else HOLE for value in values
            )
    return None


def of_the_view() -> Iterator[str]:
    for path in (*VIEW.rglob("*.ts"), *VIEW.rglob("*.tsx")):
        source = path.read_text()
        yield re.sub(r"\s+", " ", source)  # text between tags
        for found in _TEXT.finditer(_JOINED.sub("", source)):
            yield re.sub(r"\$\{[^}]*\}", HOLE, found[1] or found[2] or "")


# ---- the page is true ------------------------------------------------------------------------------


@pytest.mark.slow
def test_what_is_quoted_is_said() -> None:
    quoted = [part for quote in quotes() for part in parts(quote)]
    said = "\0".join(list_texts())
    assert quoted
    assert [part for part in quoted if part not in said] == []


def test_nothing_is_quoted_twice() -> None:
    found = quotes()
    assert sorted(found) == sorted(set(found))
    assert len(found) > 100


# ---- the page is whole -----------------------------------------------------------------------------


def list_error_texts() -> Iterator[tuple[str, str]]:
    """What a person is told by an error, with its place."""
    for path in sources():
        tellers = AGENTS if "sdk" in path.parts else TELLERS | FINDINGS
        # To parse those that tell nothing takes long.
        if re.search(rf"\b({'|'.join(tellers)})\(", path.read_text()):
            yield from list_told(path, tellers)
    for path in VIEW.rglob("*.ts"):
        source = _JOINED.sub("", path.read_text())
        for found in re.finditer(r"new Advice\(\s*", source):
            text = _TEXT.match(source, found.end())
            if text:
                yield str(path.relative_to(ROOT)), text[1] or text[2]


def list_told(path: Path, tellers: set[str]) -> Iterator[tuple[str, str]]:
    """The texts that a module gives to these, with their places."""
    tree = ast.parse(path.read_text())
    constants: dict[str, ast.expr] = {}
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name), *_], value=value):
                constants[name] = value
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                constants[name] = value
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and called(node) in tellers:
            for text in arguments(node, constants):
                yield f"{path.relative_to(ROOT)}:{node.lineno}", text


def called(call: ast.Call) -> str:
    """The last part of the name that is called; nothing where there is none."""
    match call.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def arguments(call: ast.Call, constants: dict[str, ast.expr]) -> Iterator[str]:
    """The texts that a call is given, also by the name of a constant and its `format`."""
    finding = ast.unparse(call.func) in FINDINGS
    for argument in call.args[1:2] if finding else call.args:
        if isinstance(argument, ast.Call) and isinstance(argument.func, ast.Attribute):
            argument = argument.func.value
        if isinstance(argument, ast.Name) and argument.id in constants:
            argument = constants[argument.id]
        text = text_of(argument)
        if text and " " in text:  # else a code
            yield text


def test_whoever_tells_is_there() -> None:
    """By a name that is no more, nothing would be checked."""
    names = {name for path in sources() for name in re.findall(r"\w+(?=\()", path.read_text())}
    assert (AGENTS | FINDINGS) - names == set()


@pytest.mark.slow
def test_what_a_person_is_told_is_on_the_page() -> None:
    quoted = [part for quote in quotes() for part in parts(quote) if len(part) >= SHORT]
    found = list(list_error_texts())
    assert len(found) > 30
    missing = [
        f"{place}: {text}"
        for place, text in found
        if any(len(part) >= SHORT for part in parts(text))
        and not any(part in text for part in quoted)
    ]
    to_do = f"Say in {PAGE.relative_to(ROOT)} what these mean and what to do:"
    assert missing == [], "\n".join([to_do, *missing])
