"""Each package says what it does, what it may import, and where to begin reading."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from .import_table import ANYTHING, TABLE
from .test_import_table import SOURCES

PACKAGES = sorted(path.parent for path in SOURCES.rglob("__init__.py") if path.parent != SOURCES)
DESIGN = SOURCES.parent / "docs" / "design" / "0001-architecture.md"


def name(package: Path) -> str:
    return package.relative_to(SOURCES).as_posix()


def docstring(package: Path) -> str:
    return ast.get_docstring(ast.parse((package / "__init__.py").read_text())) or ""


def sentence(text: str, begin: str) -> str:
    """The line that begins with these words, up to the next line of the docstring's three."""
    found = re.search(rf"^{begin} .*?(?=^Begin |^$|\Z)", text, re.DOTALL | re.MULTILINE)
    assert found, f"no line begins with “{begin}”"
    return " ".join(found[0].split())


def test_there_are_packages() -> None:
    assert {"core", "sdk/workspace"} <= set(map(name, PACKAGES))


@pytest.mark.parametrize("package", PACKAGES, ids=name)
def test_the_docstring_names_a_module_to_begin_with(package: Path) -> None:
    text = docstring(package)
    assert re.match(r"\S.*\.\n\n", text), "the first line says what the package does"
    found = re.search(r"^Begin reading in `(\w+)`", text, re.MULTILINE)
    assert found
    assert (package / f"{found[1]}.py").exists()


@pytest.mark.parametrize("package", PACKAGES, ids=name)
def test_the_docstring_says_what_the_table_has(package: Path) -> None:
    said = sentence(docstring(package), "Imports")
    top, _, inner = name(package).partition("/")
    named = re.findall(r"`([\w.]+)`", said)
    if inner:
        assert named == [top] or "standard library alone" in said
        return
    row = TABLE[top]
    at_once, _, on_use = said.partition("on use")
    for part, allowed in (at_once, row.packages), (on_use, row.on_use):
        assert ("anything" in part) == (ANYTHING in allowed)
        assert set(re.findall(r"`([\w.]+)`", part)) == set(allowed) - {ANYTHING}


def test_the_architecture_page_has_the_same_table() -> None:
    """Of single modules, the page names those with a package's name before them."""
    lines = DESIGN.read_text().splitlines()
    rows = {cells[0]: cells for line in lines if len(cells := line.strip("| ").split(" | ")) == 5}
    for package in map(name, PACKAGES):
        if "/" in package or package in {"magics", "cli"}:  # one line for both
            continue
        _, _, may, _, begin = rows[package]
        row = TABLE[package]
        if may == "as coding; never coding":
            assert row.packages == TABLE["coding"].packages
        else:
            allowed = set(re.findall(r"[a-z_.]+", re.sub(r"; never .*|on use|anything", "", may)))
            assert allowed == {*row.packages, *row.on_use} - {ANYTHING}, package
        assert f"Begin reading in {begin}" in docstring(SOURCES / package)
