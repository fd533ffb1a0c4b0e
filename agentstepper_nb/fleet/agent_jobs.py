"""A mapped agent as a Dask task: it starts the agent's process, and gives what became of it.

The task runs nothing of the agent itself. The process ends with the Dask worker, since nobody could take
its result then.
"""

from __future__ import annotations

import pickle
import shutil
import socket
import subprocess
import sys
import tempfile
from concurrent.futures import CancelledError
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from distributed import KilledWorker, SchedulerPlugin, get_worker

from ..sdk.child_output import copy_output
from ..sdk.child_process import start_process
from .agent_outcome import JOB_FILE, OUTCOME_FILE, AgentCall, AgentOutcome
from .core_access import CoreAccess

#: What keys of these tasks begin with.
KEY_PREFIX: Final = "agentstepper-agent-"
#: Seconds after its end in which the process's output is read, where what it started keeps that open.
_OUTPUT_TIMEOUT_S: Final = 1.0


@dataclass(frozen=True)
class AgentJob:
    """What a task is given.

    Args:
        index: The number of the input.
        program: What the run is called after.
        run_id: The id of the run.
        agent: The function, by cloudpickle: only the agent's process reads it. It is one object in all
            jobs of a call, which so travels once.
        input: Its input, the same way.
        mode: How the run begins: "step" or "continue".
        access: How the agent reaches the Core.
        topic: Where Dask tells the client that the agent runs.
        workspace: A folder that each agent gets a copy of; None: the agent has no workspace.
        workspaces: Where the copies lie.
    """

    index: int
    program: str
    run_id: str
    agent: bytes = field(repr=False)
    input: bytes = field(repr=False)
    mode: str
    access: CoreAccess
    topic: str
    workspace: str | None
    workspaces: str | None


class MappedAgentsPlugin(SchedulerPlugin):
    """Keeps Dask's scheduler from trying a mapped agent again (`allowed-failures: 0`, for these alone),
    and from letting a Dask worker go that runs one.

    That an agent runs once doesn't rest on it: the Core refuses a second run with the same id.
    """

    name = "agentstepper-mapped-agents"
    idempotent = True

    async def start(self, scheduler: Any) -> None:
        """The plugin is added; see `SchedulerPlugin.start`."""
        self._scheduler = scheduler

    def transition(self, key: Any, start: str, finish: str, *args: Any, **kwargs: Any) -> None:
        """A task's state changes; see `SchedulerPlugin.transition`."""
        if finish == "processing" and str(key).startswith(KEY_PREFIX):
            task = self._scheduler.tasks[key]
            task.suspicious = max(task.suspicious, self._scheduler.allowed_failures)

    def valid_workers_downscaling(self, scheduler: Any, workers: list[Any]) -> list[Any]:
        """Which Dask workers may be let go; see `SchedulerPlugin.valid_workers_downscaling`."""
        return [
            worker
            for worker in workers
            if not any(str(task.key).startswith(KEY_PREFIX) for task in worker.processing)
        ]


def run_agent_job(job: AgentJob) -> AgentOutcome:
    """Run an agent in a process of its own, and wait for its end. Called by Dask.

    Args:
        job: The agent.
    """
    job.access.check_reachable()
    worker = get_worker()
    with tempfile.TemporaryDirectory(dir=worker.local_directory, prefix="agent-") as name:
        folder = Path(name)
        workspace = _copy_workspace(job)
        _write_job(job, folder, workspace)
        process = start_process(
            [sys.executable, "-P", "-m", "agentstepper_nb.fleet.agent_process", str(folder)],
            workspace,
            job.access.make_agent_environment(folder),
        )
        told = {"index": job.index, "host": socket.gethostname(), "workspace": workspace}
        told["dask_worker"] = worker.address
        worker.log_event(job.topic, told)
        return _wait_for_outcome(process, folder)


def get_outcome(task: Any) -> AgentOutcome:
    """What became of an agent, by its Dask task, which is over. Called at the client.

    Args:
        task: Dask's future of it.

    Raises:
        Exception: What `run_agent_job` raised: the agent was never begun.
    """
    try:
        outcome: AgentOutcome = task.result()
    except KilledWorker:
        return AgentOutcome(lost="its Dask worker ended")
    except CancelledError:
        return AgentOutcome(lost="Dask gave its task up, since the client or the scheduler is gone")
    return outcome


def _wait_for_outcome(process: subprocess.Popen[bytes], folder: Path) -> AgentOutcome:
    output = copy_output(process)
    code = process.wait()
    output.join(_OUTPUT_TIMEOUT_S)
    try:
        found: AgentOutcome = pickle.loads((folder / OUTCOME_FILE).read_bytes())
    except FileNotFoundError:
        how = f"was killed by signal {-code}" if code < 0 else f"exited with {code}"
        return AgentOutcome(lost=f"its process {how}")
    return found


def _copy_workspace(job: AgentJob) -> str | None:
    if job.workspace is None or job.workspaces is None:
        return None
    copy = Path(job.workspaces) / str(job.index)
    shutil.copytree(job.workspace, copy, symlinks=True)
    return str(copy)


def _write_job(job: AgentJob, folder: Path, workspace: str | None) -> None:
    path = tuple(each or str(Path.cwd()) for each in sys.path)
    call = AgentCall(job.program, job.run_id, job.agent, job.input, job.mode, workspace, path)
    (folder / JOB_FILE).write_bytes(pickle.dumps(call))
