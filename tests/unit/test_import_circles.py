"""No two files import each other, directly or by way of others; imports for types count."""

import ast
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

from tests.unit.test_import_table import MODULES, PACKAGE, SOURCES, dotted, imports


def imported_files(path: Path, files: Mapping[str, Path]) -> set[str]:
    """Name the package's files that one file imports anywhere in it, for types and in functions too."""
    module = dotted(path)
    is_package = path.name == "__init__.py" and path.parent != SOURCES
    package = module if is_package else module.rpartition(".")[0]
    found = set()
    for imported in imports(ast.parse(path.read_text()), f"{PACKAGE}.{package}".strip(".")):
        top, _, name = imported.name.partition(".")
        if top == PACKAGE:
            while name and name not in files:
                name = name.rpartition(".")[0]
            found.add(name or "__init__")
    return found - {module}


def circles(graph: Mapping[str, Iterable[str]]) -> set[str]:
    """Name the nodes of a graph from which a path leads back to them."""
    return {node for node in graph if node in reached(graph, node)}


def reached(graph: Mapping[str, Iterable[str]], start: str) -> set[str]:
    """Name the nodes that a path leads to."""
    found: set[str] = set()
    new = set(graph[start])
    while new:
        found |= new
        new = {target for node in new for target in graph[node]} - found
    return found


@pytest.mark.slow
def test_no_files_import_each_other_in_a_circle() -> None:
    files = {dotted(path): path for path in MODULES}
    graph = {module: imported_files(path, files) for module, path in files.items()}
    assert circles(graph) == set()


@pytest.mark.parametrize(
    ("graph", "found"),
    [
        ({"a": "b", "b": "c", "c": ""}, ""),
        ({"a": "b", "b": "c", "c": "b"}, "bc"),
        ({"a": "b", "b": "a", "c": "ad", "d": "", "e": "f", "f": "e"}, "abef"),
        ({"a": "b", "b": "ac", "c": "d", "d": "ec", "e": ""}, "abcd"),
        ({"a": "b", "b": "ac", "c": "d", "d": "e", "e": "d"}, "abde"),
    ],
)
def test_a_circle_is_found(graph: dict[str, str], found: str) -> None:
    assert circles(graph) == set(found)
