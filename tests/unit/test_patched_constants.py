"""No test or benchmark patches a constant of the package: the value is passed to what uses it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[2]

_MAGIC: Final = "a magic makes what uses it, in a kernel of its own, and takes no such option"
_VERSION: Final = "stands for a program of another version, which no argument makes of this one"

#: Who may patch what, and why it isn't passed.
ALLOWED: Final[dict[tuple[str, str], str]] = {
    ("bench/lease.py", "SUBPROTOCOL"): _VERSION,
    ("tests/kernels/test_view.py", "VIEW_TIMEOUT_S"): _MAGIC,
    ("tests/unit/store/runtime/test_sqlite_file.py", "VERSION"): _VERSION,
    ("tests/unit/store/runtime/test_sqlite_file.py", "_FOLDER"): _VERSION,
    ("tests/widgets/test_step_endings.py", "INTERRUPT_TIMEOUT_S"): _MAGIC,
}

_CONSTANT: Final = re.compile(r"_*[A-Z][A-Z0-9_]*")
#: An assignment to a module's constant, in the text of a program that a test starts.
_IN_TEXT: Final = re.compile(
    rf"^[^#\n]*?\b[a-z_]\w*\.({_CONSTANT.pattern})\b[^=\n!<>]*=(?!=)", re.MULTILINE
)
#: Where a constant's name follows a dot or stands at a text's end: as all patches name it.
_NAMED: Final = re.compile(rf"""[."']({_CONSTANT.pattern})\b""")
_ASSIGNED: Final = re.compile(rf"^({_CONSTANT.pattern})\b *[:=]", re.MULTILINE)
_PATCHERS: Final = ("setattr", "patch", "object", "delattr")


def iterate_patched_names(tree: ast.AST) -> Iterator[str]:
    """Yield each constant that a program sets on something, in the programs that it starts as well."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)) if name in _PATCHERS:
                yield from _iterate_named(node)
            case ast.Attribute(attr=name, ctx=ast.Store() | ast.Del()):
                yield from _CONSTANT.findall(name) if _CONSTANT.fullmatch(name) else ()
            case ast.Constant(value=str(text)):
                yield from _IN_TEXT.findall(text)


def _iterate_named(call: ast.Call) -> Iterator[str]:
    """Yield the constant that a patching call names: as `"NAME"`, or as `"package.module.NAME"`."""
    for argument in call.args[:2]:
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
            name = argument.value.rpartition(".")[2]
            if _CONSTANT.fullmatch(name):
                yield name


@cache
def find_constants() -> frozenset[str]:
    """Name all constants of the package's and the benchmarks' modules, which begin their lines."""
    files = [path for part in ("agentstepper_nb", "bench") for path in (ROOT / part).rglob("*.py")]
    return frozenset(name for path in files for name in _ASSIGNED.findall(path.read_text()))


def find_patches() -> set[tuple[str, str]]:
    """Name the files that patch a constant of the package, each with the constant."""
    constants = find_constants()
    files = [path for part in ("tests", "bench") for path in (ROOT / part).rglob("*.py")]
    return {
        (path.relative_to(ROOT).as_posix(), name)
        for path in files
        if path != Path(__file__)
        if not constants.isdisjoint(_NAMED.findall(text := path.read_text()))
        for name in iterate_patched_names(ast.parse(text))
        if name in constants
    }


@pytest.mark.slow
def test_no_constant_is_patched() -> None:
    """Give what uses it a keyword whose default is the constant, and pass the value."""
    assert find_patches() == set(ALLOWED)


@pytest.mark.parametrize(
    ("program", "names"),
    [
        ('monkeypatch.setattr(module, "_RETRY_S", 0)', ["_RETRY_S"]),
        ('monkeypatch.setattr("package.module.RETRY_S", 0)', ["RETRY_S"]),
        ('with mock.patch.object(module, "RETRY_S", 0): pass', ["RETRY_S"]),
        ('mock.patch("package.module.RETRY_S", 0)', ["RETRY_S"]),
        ("module.RETRY_S = other.WAIT_S = 0", ["RETRY_S", "WAIT_S"]),
        ("run('import module as m\\nm.RETRY_S = 0')", ["RETRY_S"]),
        ("run('before, m.RETRY_S = m.RETRY_S, 0')", ["RETRY_S"]),
        ('monkeypatch.setattr(module, "retry", lambda: None)', []),
        ("run('if m.RETRY_S == 0: pass')", []),
        ("assert module.RETRY_S == 1", []),
    ],
)
def test_a_patch_is_found(program: str, names: list[str]) -> None:
    assert sorted(iterate_patched_names(ast.parse(program))) == names
    assert set(names) <= set(_NAMED.findall(program))
