"""The start methods that runs of this process report to the Core."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Final

import msgspec

from .. import typed_json
from ..protocol.start_methods import (
    MAX_SOURCE_CHARS,
    CellStart,
    CommandStart,
    FunctionStart,
    StartMethod,
)
from .payload import SecretMask, escape_surrogates

#: A `CommandStart` as JSON, set by the process that starts a program as an agent.
START_VARIABLE: Final = "AGENTSTEPPER_START"
#: The most characters of it: Linux takes 128 KiB of one variable. A longer command isn't recorded.
_MAX_VARIABLE_CHARS: Final = 100_000
#: Variables that each terminal and session sets itself, and that no agent needs.
_OF_SESSIONS: Final = ("SSH_", "XDG_", "DBUS_", "TERM", "LC_", "LESS", "GPG_", "AGENTSTEPPER_")
_OF_SHELLS: Final = re.compile(
    "_|SHLVL|PWD|OLDPWD|LS_COLORS|COLORTERM|COLUMNS|LINES|DISPLAY|SHELL|HOME|PATH|USER|LOGNAME|LANG"
    "|WINDOWID|EDITOR|PAGER|MAIL|HOSTNAME"
)


def make_cell_start(source: str, line: str, *, freezes: bool = False) -> CellStart | None:
    """Describe the start of a cell under `%%step`, with masks in the place of secrets.

    Args:
        source: The cell's text below the magic's line.
        line: The magic's arguments after `%%step`.
        freezes: Whether the cell's run is frozen.

    Returns:
        None for a cell that is too long to be recorded.
    """
    mask = SecretMask()
    masked, line = mask.text(source), mask.text(line)
    if max(len(masked), len(source)) > MAX_SOURCE_CHARS or len(line) > 1000:
        return None
    return CellStart(
        source=escape_surrogates(masked),
        line=escape_surrogates(line),
        is_masked=bool(mask.originals),
        freezes=freezes,
    )


def make_command_start(
    argv: Sequence[str],
    folder: str | None,
    variables: Iterable[str],
    *,
    name: str | None = None,
    attaches: bool = False,
    discovers_tools: bool = False,
    freezes: bool = False,
) -> CommandStart:
    """Describe the start of a command, with masks in the place of secrets.

    Args:
        argv: The program and its arguments.
        folder: The command's folder; None: this process's.
        variables: The names of variables that the command may need.
        name: The name of the command's runs, in place of their own names.
        attaches: Whether the debugger attaches to the command's Python.
        discovers_tools: Whether plain functions halt there, too.
        freezes: Whether the command's runs are frozen.
    """
    masked = [SecretMask().text(word) for word in argv]
    return CommandStart(
        argv=tuple(map(escape_surrogates, masked)),
        folder=escape_surrogates(str(Path(folder or ".").absolute())),
        variables=tuple(sorted(escape_surrogates(each) for each in variables)),
        masked=tuple(at for at, word in enumerate(argv) if word != masked[at]),
        name=name,
        attaches=attaches,
        discovers_tools=discovers_tools,
        freezes=freezes,
    )


def make_function_start(function: Callable[..., Any]) -> FunctionStart | None:
    """Describe the start by a function's call; None where the function has no name."""
    module = getattr(function, "__module__", None)
    name = getattr(function, "__qualname__", None)
    if not (isinstance(module, str) and isinstance(name, str)) or len(module + name) > 1000:
        return None
    return FunctionStart(module=escape_surrogates(module), name=escape_surrogates(name))


def list_own_variables(environment: Mapping[str, str]) -> list[str]:
    """The names of an environment's variables that an agent may need, by name."""
    return sorted(
        name
        for name in environment
        if not _OF_SHELLS.fullmatch(name) and not name.startswith(_OF_SESSIONS)
    )


def put_start(environment: Mapping[str, str], start: CommandStart) -> dict[str, str]:
    """Make an environment in which a program's runs report how they were started.

    Args:
        environment: The other variables of the environment.
        start: The start method; a command that is too long is left out.
    """
    text = msgspec.json.encode(start).decode()
    rest = {name: value for name, value in environment.items() if name != START_VARIABLE}
    return rest if len(text) > _MAX_VARIABLE_CHARS else {**rest, START_VARIABLE: text}


def set_next_start(start: StartMethod | None) -> Callable[[], None]:
    """Let the next run of this process report how it was started.

    Args:
        start: The start method; None: unknown.

    Returns:
        A function that undoes this call, unless a run has begun meanwhile.
    """
    _next[:] = [start]
    return _next.clear


@contextmanager
def use_start(start: StartMethod | None) -> Iterator[None]:
    """Let a run that begins inside of this context report how it was started.

    Args:
        start: The start method; None: unknown.
    """
    token = _of_context.set([start])
    try:
        yield
    finally:
        _of_context.reset(token)


def take_start() -> StartMethod | None:
    """The start method of a run of this process that begins now; None: unknown.

    The variable is removed from the environment: programs that the program starts have another start.
    """
    text = os.environ.pop(START_VARIABLE, None)
    if text is not None:
        _of_process[:] = _read_start(text)
    if (of_context := _of_context.get()) is not None:
        return of_context[0]
    if _next:
        return _next.pop()
    return None if _is_kernel() or not _of_process else _of_process[0]


def _read_start(text: str) -> list[CommandStart]:
    try:
        return [typed_json.decode(text, CommandStart)]
    except msgspec.MsgspecError:  # somebody else's variable
        return []


def _is_kernel() -> bool:
    """Whether this process is a notebook's kernel: the command that started it is no agent's."""
    return "IPython" in sys.modules and sys.modules["IPython"].get_ipython() is not None


_next: list[StartMethod | None] = []
_of_context: ContextVar[list[StartMethod | None] | None] = ContextVar(
    "agentstepper_start", default=None
)
_of_process: list[CommandStart] = []
