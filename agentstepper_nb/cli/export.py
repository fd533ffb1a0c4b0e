"""`agentstepper export`: writes a stored run to a file."""

from __future__ import annotations

import sys
from argparse import Namespace
from pathlib import Path

from ..errors import AgentStepperError, Divergence
from ..history import load_run as run_of
from ..history import run_files
from ..protocol.text_escaping import escape_to_one_line
from . import EXIT_FAILURE, EXIT_OK, EXIT_USAGE_ERROR
from .terminal_text import escape_controls


def run(namespace: Namespace) -> int:
    """Run the command.

    Args:
        namespace: The parsed command line.

    Returns:
        1 if there is no such run, or it can't be read or written; 2 if no format is named.
    """
    if (namespace.file is None) is (namespace.output is None):
        return _fail("name one file to write, as FILE or by -o FILE.", EXIT_USAGE_ERROR)
    path = Path(namespace.file or namespace.output).expanduser()
    if namespace.pytest or namespace.format == "pytest":
        return _export_test(namespace, path)
    try:
        format = run_files.choose_format(path, namespace.format)
    except ValueError as error:
        return _fail(f"{error}", EXIT_USAGE_ERROR)
    if path.is_dir():
        return _fail(f"{path} is a folder: name a file in it.", EXIT_FAILURE)
    if path.exists() and not namespace.force:
        return _fail(
            f"{path} exists: choose another name, or add --force to replace the file.", EXIT_FAILURE
        )
    try:
        history = run_of(namespace.run, namespace.data).history()
        run_files.write_run_file(history, path, format, force=namespace.force)
    except AgentStepperError as error:
        return _fail(f"{error}", EXIT_FAILURE)
    except OSError as error:
        return _fail(f"{path} can't be written: {error.strerror or error}.", EXIT_FAILURE)
    print(escape_to_one_line(f"Wrote {history.run.name} ({history.run.id}) to {path}."))
    return EXIT_OK


def _export_test(namespace: Namespace, path: Path) -> int:
    """Write a test and its recording."""
    if not namespace.agent:
        return _fail(
            "a test needs the agent's function: add --agent MODULE:FUNCTION.", EXIT_USAGE_ERROR
        )
    from ..replay.pytest_export import export_test

    try:
        written = export_test(
            namespace.run,
            path,
            namespace.agent,
            namespace.args,
            folder=namespace.data,
            volatile=namespace.volatile,
            freeze=namespace.freeze,
            force=namespace.force,
            replays=namespace.replays,
        )
    except FileExistsError as error:
        return _fail(f"{error} Add --force to replace it.", EXIT_FAILURE)
    except (AgentStepperError, ImportError, Divergence) as error:
        return _fail(f"{error}", EXIT_FAILURE)
    except ValueError as error:
        return _fail(f"{error}", EXIT_USAGE_ERROR)
    except OSError as error:
        return _fail(f"{path} can't be written: {error.strerror or error}.", EXIT_FAILURE)
    print(escape_to_one_line(f"Wrote a test of run {namespace.run} to {written}."))
    return EXIT_OK


def _fail(message: str, code: int) -> int:
    print(f"agentstepper export: {escape_controls(message)}", file=sys.stderr)
    return code
