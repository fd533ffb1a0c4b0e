"""The examples of docstrings: what stands there after `::`, and how one is run."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator
from typing import NamedTuple

from tests.docs.pages import ROOT

PACKAGE = ROOT / "agentstepper_nb"


class Example(NamedTuple):
    """An example of a docstring.

    Args:
        place: The file and the class or function whose docstring has it: `sdk/stepper.py AgentStepper`.
        text: What is printed there.
    """

    place: str
    text: str


def list_examples() -> list[Example]:
    """All examples of the package, by their places."""
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        source = path.read_text()
        if not re.search(r"::\s*$", source, re.MULTILINE):
            continue  # what has none isn't parsed, which takes long
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                docstring = ast.get_docstring(node) or ""
                owner = "" if isinstance(node, ast.Module) else f" {node.name}"
                place = f"{path.relative_to(PACKAGE)}{owner}"
                found += [Example(place, text) for text in _find_blocks(docstring)]
    return found


def _find_blocks(docstring: str) -> Iterator[str]:
    lines = iter(docstring.splitlines())
    block: list[str] | None = None
    for line in lines:
        if block is not None and (line.startswith("    ") or not line.strip()):
            block.append(line)
            continue
        if block is not None:
            yield textwrap.dedent("\n".join(block)).strip()
        block = [] if line.rstrip().endswith("::") else None
    if block is not None:
        yield textwrap.dedent("\n".join(block)).strip()
