"""The design pages name modules, classes and files that exist."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from tests.docs.pages import DOCS, ROOT

PACKAGE: Final = ROOT / "agentstepper_nb"
#: What these two say of the work on them holds names of the time before it.
HISTORY: Final = {"0020-less-code.md", "0021-names.md"}
DESIGN: Final = sorted(page for page in DOCS.glob("design/*.md") if page.name not in HISTORY)
#: Where a path may begin.
ROOTS: Final = (ROOT, PACKAGE, ROOT / "js" / "src", ROOT / "js" / "tests")
#: Files that a Core writes, and those of an agent's repository.
DATA_FILES: Final = re.compile(r"\.(sqlite|jsonl|json)$")

_CODE: Final = re.compile(r"`([^`\n]+)`")
_PATH: Final = re.compile(r"[\w.-]+(/[\w.-]+)*\.(py|tsx?|md|sh)")
_DOTTED: Final = re.compile(r"[a-z_0-9]+(\.\w+)+")
_CLASS: Final = re.compile(r"^\s*class (\w+)", re.MULTILINE)
_MEMBER: Final = re.compile(r"([A-Z]\w*)\.(\w+)(?:\(.*\))?")


def exists(path: str) -> bool:
    if any((root / path).exists() for root in ROOTS):
        return True
    return "/" not in path and any(PACKAGE.rglob(path))


@cache
def names(module: Path) -> frozenset[str]:
    """What a module defines or imports, members of its classes included."""
    found = set()
    for node in ast.walk(ast.parse(module.read_text())):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                found.add(name)
            case ast.ClassDef(name=name) | ast.alias(name=name):
                found.add(name)
            case ast.Name(id=name) | ast.Attribute(attr=name):
                found.add(name)
    return frozenset(found)


@cache
def modules_by_class() -> dict[str, list[Path]]:
    """The modules that define a class of this name."""
    found: dict[str, list[Path]] = {}
    for module in PACKAGE.rglob("*.py"):
        for name in _CLASS.findall(module.read_text()):
            found.setdefault(name, []).append(module)
    return found


def resolves(dotted: str) -> bool:
    """Follow a name through folders and modules; the rest is defined in the module."""
    place, (*parts,) = PACKAGE, dotted.split(".")
    while parts and place.is_dir():
        below = [place / parts[0], place / f"{parts[0]}.py"]
        place = next((each for each in below if each.exists()), place / "__init__.py")
        parts = parts[1:] if place.name != "__init__.py" else parts
    return not parts or (place.is_file() and set(parts) <= names(place))


def missing(text: str) -> list[str]:
    found = []
    for name in sorted(set(_CODE.findall(text))):
        if _PATH.fullmatch(name):
            known = exists(name)
        elif _DOTTED.fullmatch(name) and not DATA_FILES.search(name):
            first = name.partition(".")[0]
            ours = (PACKAGE / first).is_dir() or (PACKAGE / f"{first}.py").exists()
            known = not ours or resolves(name)
        elif member := _MEMBER.fullmatch(name):
            modules = modules_by_class().get(member[1], [])
            known = any(member[2] in names(module) for module in modules)
        else:
            known = True
        if not known:
            found.append(name)
    return found


@pytest.mark.parametrize("page", DESIGN, ids=lambda page: page.stem)
def test_what_a_design_page_names_is_there(page: Path) -> None:
    assert missing(page.read_text()) == []


@pytest.mark.parametrize(
    "gone",
    [
        "core/words.py",
        "house.py",
        "hub.agent_messages.Turns",
        "sdk.talking",
        "core.x.y",
        "Act.GO",
    ],
)
def test_a_name_that_is_gone_is_found(gone: str) -> None:
    assert missing(f"See `{gone}`.") == [gone]
