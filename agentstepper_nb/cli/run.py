"""`agentstepper run`: finds the Core, and becomes a program whose AgentSteppers find it too."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from argparse import Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NoReturn

from ..discover import CoreEndpoint, discover, list_announced_cores
from ..sdk.environment import make_environment
from ..sdk.handshake import probe
from ..sdk.parent_guard import tie_to_parent
from . import EXIT_USAGE_ERROR

#: Exit codes that aren't the program's own, as `env`, `nohup` and `timeout` have them.
EXIT_NOT_STARTED: Final = 125
EXIT_CANNOT_EXECUTE: Final = 126
EXIT_COMMAND_NOT_FOUND: Final = 127

#: Has the `sitecustomize` that attaches.
_ATTACH_SITE: Final = Path(__file__).parent / "attach_site"
_ATTACHED_PID: Final = "AGENTSTEPPER_ATTACHED_PID"
_DISCOVERS_TOOLS: Final = "AGENTSTEPPER_DISCOVERS_TOOLS"


def run(namespace: Namespace) -> int:
    """Run the command. Returns only where the program can't be started.

    Args:
        namespace: What the command line says; `program` are the words after `--`, None without one.

    Returns:
        The exit code.
    """
    parent = os.getppid()
    if namespace.misplaced or not namespace.program:
        words = " ".join([*namespace.misplaced, *(namespace.program or ())]) or "python agent.py"
        return _fail(f"put -- before the program: agentstepper run -- {words}", EXIT_USAGE_ERROR)
    try:
        core = discover(namespace.url, namespace.token)
        probe(core)  # here a sentence, in the agent a traceback
    except ConnectionError as error:
        return _fail(str(error), EXIT_NOT_STARTED)
    if namespace.with_parent and sys.platform == "linux" and not tie_to_parent(parent):
        return EXIT_NOT_STARTED  # nobody is left who could be told
    if sys.stderr.isatty():  # between pipes the output is the program's alone
        print(f"agentstepper run: {_where_it_halts(core)}", file=sys.stderr)
    environment = make_environment(os.environ, core, namespace.name)
    if namespace.attach:
        environment = _attach(environment, namespace.discovers_tools)
    return _become(namespace.program, environment)


def _attach(environment: Mapping[str, str], discovers_tools: bool) -> dict[str, str]:
    """An environment in which the program's Python imports `agentstepper_nb.auto` before all else."""
    discovers = {_DISCOVERS_TOOLS: "1"} if discovers_tools else {}
    paths = [str(_ATTACH_SITE), environment.get("PYTHONPATH", "")]
    return {
        **environment,
        **discovers,
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        _ATTACHED_PID: str(os.getpid()),  # the program's too, which takes this process's place
    }


def _where_it_halts(core: CoreEndpoint) -> str:
    """Where a person steps the program's agents."""
    here = next((each for each in list_announced_cores() if each.url == core.url), None)
    if here is None or not here.base_url:
        return (
            f"agents halt at {core.url}: run `agentstepper step` in another terminal to step them."
        )
    page = core.url.replace("ws", "http", 1).removesuffix("agent") + "app"
    return (
        f"agents halt in the Jupyter server of {here.root_dir}: step them in the AgentStepper panel, or "
        f"at {page}"
    )


def _become(program: Sequence[str], environment: Mapping[str, str]) -> int:
    """Replace this process, so that output, terminal, signals and exit code are the program's own."""
    name = program[0]
    try:
        _exec(program, environment)
    except (FileNotFoundError, NotADirectoryError):
        if shutil.which(name, path=environment.get("PATH")) is None:
            return _fail(f"there is no program {name}.", EXIT_COMMAND_NOT_FOUND)
        return _fail(
            f"{name}: the interpreter that its first line names is missing.", EXIT_CANNOT_EXECUTE
        )
    except (OSError, ValueError) as error:  # no rights, no program's file, a NUL in an argument
        return _fail(
            f"{name} can't be run: {_explain_error(error)}.{_advice(name)}", EXIT_CANNOT_EXECUTE
        )


def _exec(program: Sequence[str], environment: Mapping[str, str]) -> NoReturn:
    sys.stdout.flush()
    sys.stderr.flush()
    # Python ignores these two, and what is ignored stays so in the program.
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    os.execvpe(program[0], list(program), environment)


def _explain_error(error: OSError | ValueError) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def _advice(name: str) -> str:
    return f" For a Python file write python {name}." if name.endswith(".py") else ""


def _fail(message: str, code: int) -> int:
    print(f"agentstepper run: {message}", file=sys.stderr)
    return code
