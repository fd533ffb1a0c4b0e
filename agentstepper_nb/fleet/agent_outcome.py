"""What a mapped agent's process is given, and leaves behind, in the job's folder."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

#: The files in a job's folder.
JOB_FILE: Final = "job.pickle"
OUTCOME_FILE: Final = "outcome.pickle"


@dataclass(frozen=True)
class AgentCall:
    """What an agent's process is given.

    Args:
        program: What the run is called after.
        run_id: The id of the run.
        agent: The function, by cloudpickle.
        input: Its input, by cloudpickle.
        mode: How the run begins: "step" or "continue".
        workspace: The folder that the agent works in; None: none.
        path: Where modules are looked for, as in the Dask worker.
    """

    program: str
    run_id: str
    agent: bytes
    input: bytes
    mode: str
    workspace: str | None
    path: tuple[str, ...]


@dataclass(frozen=True)
class AgentOutcome:
    """What became of an agent.

    Args:
        value: What it returned, by cloudpickle; None where it returned nothing of use.
        error: What it raised, by cloudpickle; None where it raised nothing.
        lost: How its process ended without telling; None where it told.
    """

    value: bytes | None = None
    error: bytes | None = None
    lost: str | None = None
