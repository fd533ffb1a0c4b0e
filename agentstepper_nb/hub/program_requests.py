"""What programs ask a Core that need no run of their own."""

from __future__ import annotations

from typing import Final

from ..errors import CommandError
from ..protocol import agent as v2
from ..protocol.breakpoint_rules import DeleteBreakpoint, DryRunBreakpoint, SetBreakpoint, SetPrices
from ..protocol.data_model import Run
from .connection import AccessRights
from .dry_runs import dry_run, find_run_id
from .run_service import RunService

#: Messages that need no hello.
ProgramRequest = (
    v2.UploadRun
    | v2.GetDebuggerConfig
    | SetBreakpoint
    | DeleteBreakpoint
    | SetPrices
    | DryRunBreakpoint
)
#: Those that reach beyond an agent's own run: what halts other runs, what is in them, which there are.
_Controlling = SetBreakpoint | DeleteBreakpoint | SetPrices | DryRunBreakpoint | v2.UploadRun

_MAY_NOT: Final = (
    "An agent may not change or test breakpoints, set prices or import runs: these need "
    "the Core's control token. A program on the Core's machine finds the token by "
    "itself; elsewhere set AGENTSTEPPER_CONTROL_TOKEN to the content of the file "
    "control-token in the Core's data folder."
)


async def answer_request(
    hub: RunService, request: ProgramRequest, rights: AccessRights
) -> v2.CoreToAgent:
    """Carry a question out, and answer it once what it changed is recorded.

    Args:
        hub: Whom it asks.
        request: The question.
        rights: What may be asked.

    Raises:
        ProtocolError: `invalid_stop`, or what is wrong with a run's file.
        CommandError: `watch_only`, `unknown_run`, `unknown_stop`, `store_failed`.
        DamagedRunError: What is kept of the run is hurt.
    """
    if isinstance(request, _Controlling) and not rights.can_control:
        raise CommandError("watch_only", _MAY_NOT)
    match request:
        case v2.UploadRun(data=data):
            return v2.RunUploaded(run=await hub.import_run(data.encode()))
        case DryRunBreakpoint(breakpoint=breakpoint, run=run):
            outcomes = await dry_run(
                hub, breakpoint, None if run is None else find_run_id(hub, run)
            )
            return v2.DryRunResponse(
                outcomes=tuple(each.outcome for each in outcomes),
                runs=tuple(_known_by(each.run) for each in outcomes),
            )
        case SetBreakpoint(breakpoint=breakpoint):
            hub.perform(hub.commands.set_breakpoint(breakpoint))
        case DeleteBreakpoint(breakpoint=id):
            hub.perform(hub.commands.delete_breakpoint(id))
        case SetPrices(prices=prices):
            hub.perform(hub.commands.set_prices(prices))
        case v2.GetDebuggerConfig():
            pass
    rules = v2.DebuggerConfig(breakpoints=hub.debugger.breakpoints, prices=hub.debugger.prices)
    await hub.wait_recorded()
    return rules


def _known_by(run: Run) -> Run:
    """What people know a run by: who asks has a token, no login, and may not read runs."""
    return Run(
        id=run.id,
        name=run.name,
        program=run.program,
        started_at=run.started_at,
        ended_at=run.ended_at,
        state=run.state,
        ending=run.ending,
        rows=run.rows,
    )
