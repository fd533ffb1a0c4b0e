"""`agentstepper run`: finds the Core, and becomes a program whose AgentSteppers find it too."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from argparse import Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn

from ..discover import CoreEndpoint, discover, list_announced_cores
from ..errors import AgentStepperError
from ..protocol.start_methods import WorkspaceMode
from ..sdk.environment import FREEZE_VARIABLE, PROGRAM_WORKSPACE_VARIABLE, make_environment
from ..sdk.handshake import probe
from ..sdk.parent_guard import tie_to_parent
from ..sdk.start_methods import list_own_variables, make_command_start, put_start
from . import EXIT_USAGE_ERROR

if TYPE_CHECKING:
    from .run_again import RunAgain

#: Exit codes that aren't the program's own, as `env`, `nohup` and `timeout` have them.
EXIT_NOT_STARTED: Final = 125
EXIT_CANNOT_EXECUTE: Final = 126
EXIT_COMMAND_NOT_FOUND: Final = 127

#: Has the `sitecustomize` that attaches.
_ATTACH_SITE: Final = Path(__file__).parent / "attach_site"
_ATTACHED_PID: Final = "AGENTSTEPPER_ATTACHED_PID"
_DISCOVERS_TOOLS: Final = "AGENTSTEPPER_DISCOVERS_TOOLS"


def run(namespace: Namespace) -> int:
    """Run the command. Returns only if the program can't be started.

    Args:
        namespace: The parsed command line; `program` is the command line after `--`, None without one.

    Returns:
        The exit code.
    """
    parent = os.getppid()
    is_again = bool(namespace.fork or namespace.cut or namespace.replay or namespace.rerun)
    if namespace.misplaced or not (namespace.program or is_again):
        words = " ".join([*namespace.misplaced, *(namespace.program or ())]) or "python agent.py"
        return _fail(f"put -- before the program: agentstepper run -- {words}", EXIT_USAGE_ERROR)
    if (problem := _find_workspace_problem(namespace.workspace, is_again)) is not None:
        return _fail(problem, EXIT_USAGE_ERROR)
    try:
        core = discover(namespace.url, namespace.token)
        probe(core)  # here a sentence, in the agent a traceback
    except ConnectionError as error:
        return _fail(str(error), EXIT_NOT_STARTED)
    again = None
    if is_again:
        from . import run_again

        try:
            again = run_again.prepare(namespace, core)
        except (AgentStepperError, OSError) as error:
            return _fail(str(error), EXIT_NOT_STARTED)
    if namespace.with_parent and sys.platform == "linux" and not tie_to_parent(parent):
        return EXIT_NOT_STARTED  # nobody is left who could be told
    if sys.stderr.isatty():  # between pipes the output is the program's alone
        print(f"agentstepper run: {_where_it_halts(core)}", file=sys.stderr)
    return _start(namespace, core, again)


def _start(namespace: Namespace, core: CoreEndpoint, again: RunAgain | None) -> int:
    """Become the program, in the environment of an agent of the Core."""
    recorded = None if again is None else again.start
    name = namespace.name or (None if recorded is None else recorded.name)
    attaches = namespace.attach if recorded is None else recorded.attaches
    discovers = namespace.discovers_tools or (recorded is not None and recorded.discovers_tools)
    freezes = namespace.freeze or (recorded is not None and recorded.freezes)
    program = namespace.program if again is None else again.program
    if again is not None and again.folder is not None:
        os.chdir(again.folder)
        os.environ["PWD"] = again.folder
    start = make_command_start(
        program,
        None,
        list_own_variables(os.environ),
        name=name,
        attaches=attaches,
        discovers_tools=discovers,
        freezes=freezes,
    )
    environment = put_start(make_environment(os.environ, core, name), start)
    if again is not None:
        from . import run_again

        environment = run_again.put_variables(environment, again)
    elif namespace.workspace is not None:
        environment[PROGRAM_WORKSPACE_VARIABLE] = str(Path(namespace.workspace).resolve())
    if freezes:
        environment[FREEZE_VARIABLE] = "1"
    if attaches:
        environment = _attach(environment, discovers)
    return _become(program, environment)


def _find_workspace_problem(workspace: str | None, is_again: bool) -> str | None:
    """Describe the error of `--workspace`; None if it is valid."""
    if workspace is None or (is_again and workspace in list(WorkspaceMode)):
        return None
    if is_again:
        return f"--workspace of a fork is one of {', '.join(WorkspaceMode)}."
    return None if Path(workspace).is_dir() else f"--workspace: there is no folder {workspace}."


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
    """Describe where a person steps the program's agents."""
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
