"""The agents that `agentstepper chat` is told to have: connectors by name, or what a module has."""

from __future__ import annotations

import inspect
import sys
from argparse import Namespace
from collections.abc import Iterator
from functools import reduce
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec

from ..chat.connector import InterpreterABC
from ..chat.connectors.registry import VARIABLES, Factory, connector, connectors, lacking, usual


class UsageError(Exception):
    """It was called wrongly, in words for a person."""


def connector_lines() -> Iterator[str]:
    """The installed connectors, a line each."""
    for name, made in sorted(connectors().items()):
        summary = getattr(made, "summary", "")
        yield f"{name}  {summary}".rstrip()


def agents_of(given: Namespace, workspace: Path) -> list[InterpreterABC]:
    """The agents that a command line names.

    Args:
        given: What the command line says.
        workspace: The folder that is worked in.

    Raises:
        UsageError: It names none, or one that can't be had so.
    """
    if not given.agents:
        raise UsageError(f"Say who answers: agentstepper chat {_names()} or MODULE:ATTRIBUTE.")
    said = {name: getattr(given, name) for name in ("provider", "model", "system")}
    options = {name: value for name, value in said.items() if value is not None}
    options.update(_option(option) for option in given.options)
    return [_agent(word, options, workspace) for word in given.agents]


def _agent(word: str, options: dict[str, Any], workspace: Path) -> InterpreterABC:
    if ":" in word:
        return connector(_imported(word))
    made = connectors().get(word)
    if made is None:
        raise UsageError(f"There is no connector {word[:80]!r}: {_names()}, or MODULE:ATTRIBUTE.")
    known = _taken(made)
    wrong = [name for name in options if name not in known]
    if wrong:
        raise UsageError(f"The connector {word} takes no {wrong[0]!r}, but: {', '.join(known)}.")
    meant = {**usual(made), **options}
    if "workspace" in known:
        meant.setdefault("workspace", str(workspace))
    for lacks in lacking(made, meant):
        raise UsageError(f"The connector {word} needs {lacks!r}: say {_said(lacks)}.")
    return connector(word, **meant)


def _taken(made: Factory) -> list[str]:
    """The options that a connector takes: its parameters, and the settings that it names."""
    parameters = inspect.signature(made).parameters.values()
    named = [each.name for each in parameters if each.kind is not each.VAR_KEYWORD]
    settings = getattr(made, "settings", None)
    return named if settings is None else [*dict.fromkeys((*named, *settings.__struct_fields__))]


def _said(name: str) -> str:
    """How an option is said."""
    if name in VARIABLES:
        return f"--{name} NAME, or set {VARIABLES[name]}"
    return f"--{name} …" if name == "system" else f"--option {name}=…"


def _imported(word: str) -> Any:
    """What a module of this folder, or an installed one, has under a name."""
    module, _, attribute = word.partition(":")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        return reduce(getattr, attribute.split("."), import_module(module))
    except Exception as error:  # whatever their code does
        what = f"{type(error).__name__}: {error}"
        raise UsageError(f"{word[:200]!r} can't be imported from here: {what}.") from None


def _option(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise UsageError(f"Write --option NAME=VALUE, not {text[:80]!r}.")
    try:
        return name, msgspec.json.decode(value)
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return name, value


def _names() -> str:
    return ", ".join(sorted(connectors()))
