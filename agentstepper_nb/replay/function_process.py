"""The process of a run that is started again by its function: it imports the function and calls it.

Run as a module by `agentstepper run`, with the run's id as its argument.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from operator import attrgetter
from typing import Any, Final

from msgspec import UnsetType

from ..errors import AgentStepperError
from ..history import load_run
from ..protocol.start_methods import FunctionStart
from ..sdk.environment_replays import RUNS_FOLDER_VARIABLE, hold_request
from .result_json import encode_result

#: As `agentstepper run` ends where no program was started.
_EXIT_NOT_STARTED: Final = 125


def make_command(python: str, run: str) -> list[str]:
    """The command that calls the function of a run again.

    Args:
        python: The interpreter.
        run: The run's id.
    """
    return [python, "-P", "-m", __name__, run]


def main(argv: Sequence[str]) -> int:
    """Call the function of a run again, and print what it returns as JSON.

    Args:
        argv: The run's id.

    Returns:
        The exit code.
    """
    request = hold_request()  # nothing that is imported takes it
    try:
        stored = load_run(argv[0], request.get(RUNS_FOLDER_VARIABLE))
        start = stored.start_method()
        if not isinstance(start, FunctionStart) or isinstance(start.call, UnsetType):
            raise ImportError(f"run {stored.id} is no call of a function that can be imported.")
        sys.path[:] = start.call.paths
        sys.argv = [start.module]
        function = _import(start)
    except (AgentStepperError, OSError, ImportError) as error:
        print(f"agentstepper run: {error}", file=sys.stderr)
        return _EXIT_NOT_STARTED
    os.environ.update(request)
    result = function(*json.loads(start.call.arguments), **json.loads(start.call.keywords))
    if inspect.isawaitable(result):
        result = asyncio.run(_wait(result))
    if result is not None:
        print(encode_result(result, ensure_ascii=False), flush=True)
    return 0


def _import(start: FunctionStart) -> Callable[..., Any]:
    """Import a function.

    Raises:
        ImportError: It isn't there any more, or its module can't be imported.
    """
    from ..instrument.entry_functions import refuse_calls

    with refuse_calls(start.module):
        module = import_module(start.module)
    try:
        function: Callable[..., Any] = attrgetter(start.name)(module)
    except AttributeError:
        raise ImportError(
            f"the module {start.module} has no {start.name} any more. Name the function in Python, by "
            "fork_run, or a command after --."
        ) from None
    return function


async def _wait(result: Any) -> Any:
    return await result


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
