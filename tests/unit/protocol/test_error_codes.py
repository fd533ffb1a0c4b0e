"""Every error that is raised is in the table, and every error of the table is raised."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentstepper_nb.protocol.error_codes import CODES

PACKAGE = Path(__file__).parents[3] / "agentstepper_nb"
#: Calls whose arguments name a code, and which argument that is.
RAISERS = {"ProtocolError": 0, "CommandError": 0, "make_error": 1, "MessageTable": 0, "_refuse": 0}


def raised() -> Iterator[str]:
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        calls = ast.walk(ast.parse(text)) if any(name in text for name in RAISERS) else ()
        for node in calls:
            if not isinstance(node, ast.Call) or not isinstance(
                node.func, ast.Name | ast.Attribute
            ):
                continue
            name = node.func.id if isinstance(node.func, ast.Name) else node.func.attr
            argument = node.args[RAISERS[name] :][:1] if name in RAISERS else []
            for each in argument:
                if isinstance(each, ast.Constant) and isinstance(each.value, str):
                    yield each.value


@pytest.mark.slow
def test_what_is_raised_is_in_the_table() -> None:
    assert set(raised()) - set(CODES) == set()


def test_what_is_in_the_table_is_sent() -> None:
    source = "".join(path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py"))
    tables = PACKAGE.glob("protocol/*error_codes.py")
    table = "".join(path.read_text(encoding="utf-8") for path in tables)
    for code in CODES:
        assert source.count(f'"{code}') > table.count(f'"{code}'), code
