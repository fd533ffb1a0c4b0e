"""The start of a run by a function call: module, name and arguments of the function."""

from __future__ import annotations

import inspect
import json
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from msgspec.structs import replace

from ..errors import NotJSONError
from ..protocol.start_methods import MAX_ARGUMENTS_CHARS, FunctionCall, FunctionStart
from .frozen_values import is_freezing
from .json_text import JsonDumper, dump_json
from .payload import SecretMask, escape_surrogates
from .start_methods import list_own_variables, make_function_start

_MAX_NAME_CHARS: Final = 1000
_MODULE_FILE: Final = re.compile(r"[^.]+\.py")
#: Stands in the place of what isn't recorded.
_NULL: Final = "null"


def make_call_start(
    function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> FunctionStart | None:
    """Describe the call of a function that another process can import.

    Args:
        function: The function.
        args: The call's positional arguments.
        kwargs: The call's keyword arguments.

    Returns:
        A start without `call` if no other process can import the function; None if it has no name.
    """
    start = make_function_start(function)
    if start is None or "<" in start.name:  # inside another function
        return start
    module = _find_main_module() if start.module == "__main__" else start.module
    if module is None:
        return start
    try:
        return replace(start, module=module, call=_make_call(function, args, kwargs))
    except OSError:  # the working folder is gone
        return start


def _find_main_module() -> str | None:
    """The name by which this process's program can be imported.

    Returns:
        None where it can't: it is a kernel or a console, or a text behind `-c`.
    """
    main = sys.modules["__main__"]
    spec = getattr(main, "__spec__", None)
    if spec is not None:  # python -m
        return escape_surrogates(spec.name)
    path = Path(getattr(main, "__file__", None) or "")
    is_found = str(path.parent.absolute()) in sys.path  # not behind `python -P`
    return escape_surrogates(path.stem) if is_found and _MODULE_FILE.fullmatch(path.name) else None


def _make_call(
    function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> FunctionCall:
    recorder = _ArgumentRecorder()
    positional = [
        recorder.record(name, value)
        for name, value in zip(_name_positional(function, len(args)), args, strict=True)
    ]
    named = {name: recorder.record(name, value) for name, value in kwargs.items()}
    arguments = f"[{','.join(positional)}]"
    keywords = f"{{{','.join(f'{dump_json(name)}:{text}' for name, text in named.items())}}}"
    call = FunctionCall(
        python=escape_surrogates(sys.executable),
        folder=escape_surrogates(str(Path.cwd())),
        paths=tuple(escape_surrogates(str(Path(each or ".").absolute())) for each in sys.path),
        masked=tuple(recorder.masked),
        unrecorded=tuple(recorder.unrecorded),
        variables=tuple(map(escape_surrogates, list_own_variables(os.environ))),
        freezes=is_freezing(),
    )
    if max(len(arguments), len(keywords)) > MAX_ARGUMENTS_CHARS:
        names = (*_name_positional(function, len(args)), *kwargs)
        return replace(call, masked=(), unrecorded=tuple(name[:_MAX_NAME_CHARS] for name in names))
    return replace(call, arguments=arguments, keywords=keywords)


class _ArgumentRecorder:
    """Makes JSON of arguments, and notes what of them another process couldn't be given."""

    def __init__(self) -> None:
        self.masked: list[str] = []
        self.unrecorded: list[str] = []
        self._dumper = JsonDumper()

    def record(self, name: str, value: Any) -> str:
        """An argument as JSON text.

        Args:
            name: The argument's name, which may mark a secret.
            value: The argument's value.
        """
        try:
            text = self._dumper.dump(value)
            text.encode()
            is_same = bool(json.loads(text) == value)  # a tuple would come back as a list
        except (NotJSONError, ValueError, RecursionError):
            is_same = False
        if not is_same:
            self.unrecorded.append(name[:_MAX_NAME_CHARS])
            return _NULL
        mask = SecretMask()
        masked: dict[str, Any] = json.loads(mask.json(dump_json({name: json.loads(text)})))
        if not mask.originals:
            return text
        self.masked.append(name[:_MAX_NAME_CHARS])
        return dump_json(next(iter(masked.values())))


def _name_positional(function: Callable[..., Any], count: int) -> list[str]:
    """The names of a function's first parameters; of `*rest` each is called `rest`."""
    names: list[str] = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is parameter.VAR_POSITIONAL:
            return [*names, *[parameter.name] * (count - len(names))][:count]
        names.append(parameter.name)
    return names[:count]
