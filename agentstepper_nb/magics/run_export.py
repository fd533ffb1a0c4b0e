"""`%agentstepper --export FILE`: writes a run of the Core in the kernel to a `.run` file."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Final

from IPython.core.error import UsageError

from ..protocol.data_model import Run
from ..protocol.text_escaping import escape_to_one_line
from ..store.atomic_files import write_atomically
from ..widgets import kernel_core

_NO_CORE: Final = (
    "No Core runs in this kernel. The Cores of the Jupyter server and of `agentstepper "
    "serve` write a .run file of each run that ended to `agentstepper/logs` in the "
    "folder that `jupyter --data-dir` names."
)


def export_run(file: str, run_name: str | None) -> str:
    """Write a run to a file, which is replaced if it exists.

    Args:
        file: The file's path.
        run_name: The run's id, its name, or its program's; of several runs the newest. None: the newest
            run of all.

    Returns:
        What was done, for a person.

    Raises:
        UsageError: There is no such Core, or no such run, or the file can't be written.
    """
    core = kernel_core.get_kernel_core()
    if core is None:
        raise UsageError(_NO_CORE)
    run = _newest(core.runs(), run_name)
    path = Path(file).expanduser().absolute()
    if path.is_dir():
        raise UsageError(f"{path} is a folder: name a file in it.")
    data = core.export(run.id)
    try:
        write_atomically(path, data)
    except OSError as error:
        raise UsageError(f"{path} can't be written: {error.strerror}.") from None
    where = shlex.quote(str(path))
    return escape_to_one_line(
        f"{run.name} is in {where}: `agentstepper serve --runs {where}` lists it."
    )


def _newest(runs: list[Run], run_name: str | None) -> Run:
    found = [run for run in runs if run_name is None or run_name in (run.id, run.name, run.program)]
    if found:
        return found[-1]
    if not runs:
        raise UsageError("There is no run to export yet. Run an agent first.")
    names = escape_to_one_line(", ".join(dict.fromkeys(run.name for run in runs)))
    raise UsageError(f"No run has the name {run_name!r}. The runs are: {names}.")
