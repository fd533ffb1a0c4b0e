"""Who may import whom: `import_table`, enforced.

Nothing is imported here; every module's source is parsed and each import in it is looked up.
"""

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.unit.import_table import ANYTHING, EVERYWHERE, TABLE, WITH_PROTOCOL, Row

PACKAGE = "agentstepper_nb"
SOURCES = Path(__file__).parents[2] / PACKAGE

# What a pure package may not touch: waiting, clocks, chance, files, and the log.
IMPURE = {"asyncio", "threading", "socket", "time", "random", "uuid", "os", "pathlib", "logging"}
CLOCKS = {"datetime.now", "datetime.utcnow", "datetime.today", "date.today"}
# Beside what does not come with Python, these need a row's leave: sqlite3 is the store's alone.
GUARDED = {name for row in TABLE.values() for name in row.third_party}


@dataclass(frozen=True)
class Import:
    """One imported name, in full: ``agentstepper_nb.core.breakpoints.Stop`` or ``git.Repo``."""

    name: str
    line: int
    # Inside a function or under TYPE_CHECKING: importing the module does not run it.
    deferred: bool


def refusals(module: str, source: str, *, is_package: bool = False) -> list[str]:
    """Say what in ``source`` the table does not allow to ``module`` (a name below the package)."""
    top = module.partition(".")[0]
    tree = ast.parse(source)
    package = module if is_package else module.rpartition(".")[0]
    found = []
    for imported in imports(tree, f"{PACKAGE}.{package}".strip(".")):
        why = refusal(top, module, imported)
        if why:
            found.append(f"{module}:{imported.line}: {imported.name}: {why}")
    if TABLE[top].pure:
        found += [f"{module}:{line}: {what}: time is passed in" for line, what in clocks(tree)]
    return found


def refusal(package: str, module: str, imported: Import) -> str | None:
    row = TABLE[package]
    top, _, inside = imported.name.partition(".")
    if row.pure and top in IMPURE:
        return f"{package} is pure"
    if top == PACKAGE:
        return None if may_reach(package, row, inside, imported.deferred) else f"not for {package}"
    if top in sys.stdlib_module_names and top not in GUARDED:
        return None
    if covers((*row.packages, *(row.on_use if imported.deferred else ())), ANYTHING):
        return None
    if top == WITH_PROTOCOL and "protocol" in row.packages:
        return None
    if top not in row.third_party:
        return f"no third-party name of {package}"
    only = row.third_party[top]
    return None if covers((only,), module) or not only else f"only {only} may name it"


def may_reach(package: str, row: Row, target: str, deferred: bool) -> bool:
    allowed = (package, *EVERYWHERE, *row.packages, *(row.on_use if deferred else ()))
    return covers(allowed, target) or covers(allowed, ANYTHING)


def covers(allowed: tuple[str, ...], target: str) -> bool:
    """Tell whether ``target`` is one of the allowed or lies inside one."""
    return any(target == name or target.startswith(f"{name}.") for name in allowed)


def imports(tree: ast.AST, package: str, deferred: bool = False) -> Iterator[Import]:
    """Give every import below ``tree``; ``package`` is what a single dot means there."""
    for node in ast.iter_child_nodes(tree):
        match node:
            case ast.Import(names=names):
                for alias in names:
                    yield Import(alias.name, node.lineno, deferred)
            case ast.ImportFrom(module=source, names=names, level=level):
                base = absolute(package, source or "", level)
                for alias in names:
                    yield Import(f"{base}.{alias.name}".removesuffix(".*"), node.lineno, deferred)
            case ast.Call(
                func=ast.Name(id=called) | ast.Attribute(attr=called),
                args=[ast.Constant(value=str(name)), *_],
            ) if called in {"import_module", "__import__"}:
                yield Import(absolute(package, name, 0), node.lineno, deferred)
        later = deferred or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            yield from imports(ast.Module(node.body, []), package, deferred=True)
            yield from imports(ast.Module(node.orelse, []), package, later)
        else:
            yield from imports(node, package, later)


def absolute(package: str, source: str, level: int) -> str:
    """Resolve the ``from`` part of an import, and a leading dot of import_module's."""
    if source.startswith("."):
        level = len(source) - len(source.lstrip("."))
        source = source.lstrip(".")
    if not level:
        return source
    parents = package.split(".")[: len(package.split(".")) - (level - 1)]
    return ".".join([*parents, source]).rstrip(".")


def clocks(tree: ast.AST) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            name = ".".join(ast.unparse(node).split(".")[-2:])
            if name in CLOCKS:
                yield node.lineno, name


MODULES = sorted(SOURCES.rglob("*.py"))


def dotted(path: Path) -> str:
    parts = path.relative_to(SOURCES).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


@pytest.mark.slow
@pytest.mark.parametrize("package", TABLE)
def test_every_import_is_in_the_table(package: str) -> None:
    modules = [path for path in MODULES if dotted(path).partition(".")[0] == package]
    assert modules
    refused = [
        refusal
        for path in modules
        for refusal in refusals(
            dotted(path),
            path.read_text(),
            is_package=path.name == "__init__.py" and path.parent != SOURCES,
        )
    ]
    assert refused == []


def test_every_package_has_a_row() -> None:
    assert {dotted(path).partition(".")[0] for path in MODULES} <= set(TABLE)


def test_the_table_names_only_packages_that_it_has() -> None:
    named = {name for row in TABLE.values() for name in (*row.packages, *row.on_use)}
    assert {name.partition(".")[0] for name in named} - {ANYTHING} <= set(TABLE)


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("core.debugger", "from ..protocol import Message\nimport enum, collections.abc"),
        ("core.debugger", "from . import breakpoints\nfrom .breakpoints import Breakpoint"),
        (
            "core.debugger",
            "from ..errors import Refused\nfrom agentstepper_nb.errors import Refused",
        ),
        ("core.debugger", "from .. import errors, protocol"),
        ("core.debugger", "from datetime import datetime\ndatetime.fromisoformat('2026-11-21')"),
        ("core.breakpoints", "import regex\nfrom msgspec.structs import replace"),
        ("store.sqlite", "import sqlite3, os, time"),
        (
            "sdk.run_link",
            "from ..core.breakpoints import Breakpoint\nfrom ..core import breakpoints\nimport wrapt",
        ),
        ("sdk.stepper", "def ask():\n    from ..models.provider import Model"),
        ("sdk.stepper", "if TYPE_CHECKING:\n    from ..models.provider import Model"),
        ("models.openai", "import openai\nfrom openai.types import Model"),
        (
            "magics",
            "from . import AgentStepper\nfrom IPython.core.magic import Magics\nimport sqlite3",
        ),
        ("__init__", "def __getattr__(name):\n    from .sdk.stepper import AgentStepper"),
    ],
)
def test_what_the_checker_lets_pass(module: str, source: str) -> None:
    assert refusals(module, source) == []


@pytest.mark.parametrize(
    ("module", "source", "named"),
    [
        ("protocol.envelope", "from ..core import debugger", "agentstepper_nb.core.debugger"),
        (
            "protocol.envelope",
            "from agentstepper_nb.core.breakpoints import Breakpoint",
            "core.breakpoints.Breakpoint",
        ),
        ("protocol.envelope", "import agentstepper_nb.store", "agentstepper_nb.store"),
        (
            "protocol.envelope",
            "import importlib\nimportlib.import_module('agentstepper_nb.hub')",
            "hub",
        ),
        ("protocol.envelope", "from .. import AgentStepper", "agentstepper_nb.AgentStepper"),
        ("protocol.envelope", "from .. import *", "agentstepper_nb"),
        ("protocol.envelope", "if TYPE_CHECKING:\n    from ..store import Store", "store.Store"),
        ("protocol.envelope", "def later():\n    from ..store import Store", "store.Store"),
        ("protocol.envelope", "import attrs", "attrs"),
        ("core.debugger", "import regex", "only core.breakpoints may name it"),
        ("discover", "import msgspec", "msgspec"),
        ("core.debugger", "import os.path", "os.path"),
        ("core.debugger", "from time import monotonic", "time.monotonic"),
        ("core.debugger", "def later():\n    import asyncio", "asyncio"),
        ("core.debugger", "import datetime\ndatetime.datetime.now(tz)", "datetime.now"),
        ("core.debugger", "from datetime import datetime as d, date\ndate.today()", "date.today"),
        ("llm_wire.sse", "__import__('uuid')", "uuid"),
        ("sdk.run_link", "from ..core import Debugger", "core.Debugger"),
        ("sdk.run_link", "from ..core.breakpointsign import Red", "core.breakpointsign.Red"),
        ("sdk.stepper", "from ..models.provider import Model", "models.provider.Model"),
        ("sdk.stepper", "def ask():\n    from ..models.openai import Model", "models.openai.Model"),
        ("models.provider", "import openai", "only models.openai may name it"),
        ("hub.hub", "import sqlite3", "sqlite3"),
        ("coding.agent", "from ..chat import roles", "chat.roles"),
        ("chat.roles", "from ..coding import tools", "coding.tools"),
        ("server_ext.app", "from ..runtime import step_runner", "runtime.step_runner"),
        ("__init__", "from .sdk.stepper import AgentStepper", "sdk.stepper.AgentStepper"),
    ],
)
def test_what_the_checker_refuses(module: str, source: str, named: str) -> None:
    assert [why for why in refusals(module, source) if named in why]


def test_a_package_resolves_a_single_dot_to_itself() -> None:
    assert refusals("core", "from .stops import Breakpoint", is_package=True) == []
    assert refusals("core", "from ..hub import Hub", is_package=True)
