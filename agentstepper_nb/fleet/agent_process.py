"""The process of one mapped agent: it opens the run, calls the function, and writes what became of it.

Run as a module, with the job's folder as its argument.
"""

from __future__ import annotations

import asyncio
import inspect
import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import cloudpickle

from .. import instrument
from ..errors import AgentStopped
from ..sdk import AgentStepper, AsyncAgentStepper, set_current_stepper
from ..sdk.handshake import AgentRefusedError
from ..sdk.run_session import set_next_run_id
from .agent_outcome import JOB_FILE, OUTCOME_FILE, AgentCall, AgentOutcome

#: An argument of this name is given the agent's AgentStepper.
_STEPPER_ARGUMENT: Final = "dbg"
#: The Core's word for a run that exists: this agent was begun before.
_ALREADY_OPEN: Final = "already_open"


def main() -> None:
    """Run the job of the folder that the command line names."""
    folder = Path(sys.argv[1])
    call: AgentCall = pickle.loads((folder / JOB_FILE).read_bytes())
    sys.path[:] = call.path
    sys.argv = [call.program]
    outcome = _run(call)
    draft = folder / f"{OUTCOME_FILE}.tmp"
    draft.write_bytes(pickle.dumps(outcome))
    draft.replace(folder / OUTCOME_FILE)


def _run(call: AgentCall) -> AgentOutcome:
    try:
        agent, given = cloudpickle.loads(call.agent), cloudpickle.loads(call.input)
        set_next_run_id(call.run_id)
        value = _call(call, agent, given)
        return AgentOutcome(value=cloudpickle.dumps(value))
    except AgentRefusedError as error:
        if error.code == _ALREADY_OPEN:
            return AgentOutcome(lost="it was begun before, at a Dask worker that is gone")
        return _make_failure(error)
    except BaseException as error:  # also AgentStopped, and what exits
        return _make_failure(error)


def _call(call: AgentCall, agent: Callable[..., Any], given: Any) -> Any:
    instrument.enable()
    options: dict[str, Any] = {
        "agent_workspace_path": call.workspace,
        "mode": call.mode,
        "stop_on_entry": call.mode == "step",
    }
    if _is_async(agent):
        return asyncio.run(_call_async(call.program, agent, given, options))
    with AgentStepper(call.program, **options) as dbg, set_current_stepper(dbg):
        return agent(given, **_stepper_argument(agent, dbg))


async def _call_async(
    program: str, agent: Callable[..., Any], given: Any, options: dict[str, Any]
) -> Any:
    async with AsyncAgentStepper(program, **options) as dbg:
        with set_current_stepper(dbg):
            return await agent(given, **_stepper_argument(agent, dbg))


def _is_async(agent: Callable[..., Any]) -> bool:
    return inspect.iscoroutinefunction(agent) or inspect.iscoroutinefunction(
        getattr(agent, "__call__", None)  # noqa: B004
    )


def _stepper_argument(agent: Callable[..., Any], dbg: object) -> dict[str, object]:
    try:
        wanted = _STEPPER_ARGUMENT in inspect.signature(agent).parameters
    except (TypeError, ValueError):  # written in C
        wanted = False
    return {_STEPPER_ARGUMENT: dbg} if wanted else {}


def _make_failure(error: BaseException) -> AgentOutcome:
    try:
        if not isinstance(error, Exception | AgentStopped):
            raise TypeError  # SystemExit would end who asks for the result
        text = cloudpickle.dumps(error)
        cloudpickle.loads(text)  # an exception may be written and still not be read
    except Exception:
        text = cloudpickle.dumps(RuntimeError(f"{type(error).__name__}: {error}"))
    return AgentOutcome(error=text)


if __name__ == "__main__":
    main()
