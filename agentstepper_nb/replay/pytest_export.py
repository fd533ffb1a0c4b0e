"""Exports a recorded run as a pytest test: the test's file, and the recording that it replays."""

from __future__ import annotations

import ast
import json
import keyword
import re
import sys
from collections.abc import Callable, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import Any, Final, NamedTuple

from ..history import StoredRun
from ..protocol.text_escaping import escape_to_one_line
from ..store.atomic_files import write_atomically
from .agent_runs import load_recording
from .attached_runs import replay_offline
from .recording_files import read_recording, write_recording
from .recordings import Recording

_SUFFIX: Final = ".recording.json"
_NO_RESULT: Final = object()
_TEXT: Final = '''\
"""{what}, replayed: no model is asked, and no tool is called.

`python -m pytest {file}` needs neither a network nor a Core. With `--agentstepper-record` it runs
the agent at the Core of this machine instead, and writes {recording} anew.
"""

import pytest

from {module} import {first}


@pytest.mark.agentstepper_recording({marker})
def {name}(replay_agent):
    result = replay_agent({call})
    # Write here what must be true of the result:
{checks}
'''


class _AgentName(NamedTuple):
    """The name of an agent's function: `module:function`, or `module:object.method`."""

    module: str
    names: tuple[str, ...]


def export_test(
    run: str | StoredRun,
    path: str | PathLike[str],
    function: str | Callable[..., Any],
    args: Sequence[Any] = (),
    checks: Sequence[str] = (),
    *,
    folder: str | PathLike[str] | None = None,
    volatile: Sequence[str] = (),
    freeze: bool = False,
    force: bool = False,
    replays: bool = True,
) -> Path:
    """Write a pytest test that replays a run strictly, without a network and without a Core.

    The recording is written beside the test, as `test_x.recording.json` for `test_x.py`. Secrets
    are masked in the recording.

    Args:
        run: The run, or its id or name, as for `load_run`.
        path: The test's file: `test_….py`.
        function: The agent: "module:function" as the test imports it, or the function itself.
        args: The function's arguments; each value needs a form as Python source.
        checks: Lines of Python that check `result`, as "assert 'boat' in result". Without any, the
            test compares the result with the replay's result.
        folder: The folder that stores the runs; None: `agentstepper/` in Jupyter's data folder.
        volatile: Regular expressions for text that differs in each execution, as for
            `load_recording`.
        freeze: Whether the test's agent sees the recorded time and random numbers, as for
            `replay_run`.
        force: Whether to replace existing files.
        replays: Whether to replay the agent now. Then no test is written that can't pass, and the
            expected result is known.

    Returns:
        The path of the test's file.

    Raises:
        ValueError: The name of the file or of the function is invalid, an argument has no form as
            Python source, or a check is no line of Python.
        FileExistsError: A file exists, and `force` is false.
        Divergence: The agent does something else than its recording has. `volatile` of the
            exception has the patterns that would make the requests equal, if there are such
            patterns.
        ImportError: The function can't be imported.
        CommandError: `unknown_run`.
        StoreError: The folder has no store, or the store can't be read.
        OSError: A file can't be written.
    """
    path = Path(path).expanduser()
    agent = _parse_agent(function)
    recording_path = path.with_name(path.stem + _SUFFIX)
    _check_names(path, recording_path, force)
    arguments = [_format_literal(each) for each in args]
    for check in checks:
        _check_line(check)
    recording = load_recording(run, folder, volatile)
    result = _NO_RESULT
    written = recording_path.with_name(f".{recording_path.name}.new")
    write_recording(recording, written)
    try:
        if replays:
            called = function if callable(function) else import_agent(agent)
            new = read_recording(written, volatile)
            result = replay_offline(new, called, *args, freeze=freeze)
        options = {"volatile": list(volatile), "freeze": freeze}
        marked = "".join(f", {name}={value!r}" for name, value in options.items() if value)
        lines = [*checks] or [_make_check(result)]
        text = _make_text(recording, path, agent, arguments, lines, marked)
        write_atomically(path, text.encode())
        written.replace(recording_path)
    finally:
        written.unlink(missing_ok=True)
    return path


def import_agent(agent: _AgentName) -> Callable[..., Any]:
    """Import an agent's function, also from the working folder, as `python -m pytest` does.

    Args:
        agent: The function's name, as "module:function".

    Raises:
        ImportError: The module doesn't exist, or has no such function.
    """
    with _working_folder_on_path():
        found: Any = import_module(agent.module)
    for name in agent.names:
        try:
            found = getattr(found, name)
        except AttributeError:
            raise ImportError(
                f"The module {agent.module} has no {'.'.join(agent.names)}. Name the agent's "
                "function as module:function."
            ) from None
    if not callable(found):
        raise ImportError(
            f"{agent.module}:{'.'.join(agent.names)} is no function. Name the agent's function as "
            "module:function."
        )
    function: Callable[..., Any] = found
    return function


@contextmanager
def _working_folder_on_path() -> Any:
    sys.path.insert(0, str(Path.cwd()))
    try:
        yield
    finally:
        with suppress(ValueError):
            sys.path.remove(str(Path.cwd()))


# ---- parts ------------------------------------------------------------------------------------------


def _parse_agent(function: str | Callable[..., Any]) -> _AgentName:
    """The name by which a test imports an agent's function.

    Raises:
        ValueError: There is none.
    """
    if not isinstance(function, str):
        module = getattr(function, "__module__", None) or "__main__"
        function = f"{module}:{getattr(function, '__qualname__', type(function).__name__)}"
    module, _, path = function.partition(":")
    names = tuple(path.split("."))
    if module == "__main__" or not all(map(_is_name, (*module.split("."), *names))):
        raise ValueError(
            f"A test can't import {function}. Put the agent's function into a module, and name it as "
            "module:function."
        )
    return _AgentName(module, names)


def _is_name(text: str) -> bool:
    return text.isidentifier() and not keyword.iskeyword(text)


def _check_names(path: Path, recording: Path, force: bool) -> None:
    if path.suffix != ".py" or not (path.name.startswith("test_") and _is_name(path.stem)):
        raise ValueError(
            f"pytest doesn't find tests in a file called {path.name}. Call it test_….py, with letters, "
            "digits and underscores."
        )
    for each in (path, recording):
        if each.exists() and not force:
            raise FileExistsError(
                f"{each} exists. Choose another name, or ask to replace the file."
            )


def _format_literal(value: Any) -> str:
    """A value as Python's text.

    Raises:
        ValueError: There is none.
    """
    text = repr(value)
    with suppress(ValueError, SyntaxError, MemoryError, RecursionError):
        if ast.literal_eval(text) == value:
            return text
    raise ValueError(
        f"The value {escape_to_one_line(text[:200])} has no text that Python reads. Export the test "
        "without it, and write it into the file."
    )


def _check_line(check: str) -> None:
    try:
        ast.parse(check)
    except SyntaxError as error:
        raise ValueError(f"The check {check!r} is no line of Python: {error.msg}.") from None


def _make_text(
    recording: Recording,
    path: Path,
    agent: _AgentName,
    arguments: Sequence[str],
    checks: Sequence[str],
    marked: str,
) -> str:
    file = path.stem + _SUFFIX
    what = f"Run {recording.run} of {recording.program}"
    return _TEXT.format(
        what=re.sub(r'[\\"]', "'", escape_to_one_line(what)),
        file=path.name,
        recording=file,
        module=agent.module,
        first=agent.names[0],
        marker=json.dumps(file) + marked,
        name=path.stem,
        call=", ".join([".".join(agent.names), *arguments]),
        checks="\n".join(f"    {line}" for check in checks for line in check.splitlines()),
    )


def _make_check(result: Any) -> str:
    """The line that compares the result with the one that a replay came to."""
    if result is _NO_RESULT:
        return "# assert result == …"
    if result is None:
        return "assert result is None"
    try:
        return f"assert result == {_format_literal(result)}"
    except ValueError:
        return f"assert type(result).__name__ == {type(result).__name__!r}"
