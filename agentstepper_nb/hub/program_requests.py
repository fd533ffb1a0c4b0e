"""Requests of programs to a Core that need no run of their own."""

from __future__ import annotations

from typing import Final

from msgspec import UNSET
from msgspec.structs import replace

from ..core.breakpoints import check_edit_rule, make_rule_code
from ..errors import CommandError
from ..protocol import agent as v2
from ..protocol import program_requests as messages
from ..protocol.breakpoint_rules import DeleteBreakpoint, DryRunBreakpoint, SetBreakpoint, SetPrices
from ..protocol.data_model import Run
from ..protocol.edit_rules import (
    DryRunEditRule,
    EditRuleCommand,
    EditRuleOutcome,
    ExportEditRule,
)
from ..protocol.effects import CheckRun
from .connection import AccessRights
from .dry_runs import dry_run, dry_run_edit_rule, find_run_id
from .run_service import RunService
from .view_commands import change_rule

#: Messages that need no hello.
ProgramRequest = (
    messages.UploadRun
    | messages.GetDebuggerConfig
    | SetBreakpoint
    | DeleteBreakpoint
    | SetPrices
    | DryRunBreakpoint
    | EditRuleCommand
    | messages.RecordCheckRun
)
#: Requests beyond an agent's own run: they list other runs, read them, or halt them.
_Controlling = (
    SetBreakpoint
    | DeleteBreakpoint
    | SetPrices
    | DryRunBreakpoint
    | EditRuleCommand
    | messages.UploadRun
    | messages.RecordCheckRun
)

_MAY_NOT: Final = (
    "An agent may not change or test breakpoints and edit rules, set prices, record checks or import "
    "runs: these need "
    "the Core's control token. A program on the Core's machine finds the token by "
    "itself; elsewhere set AGENTSTEPPER_CONTROL_TOKEN to the content of the file "
    "control-token in the Core's data folder."
)


async def answer_request(
    hub: RunService, request: ProgramRequest, rights: AccessRights
) -> v2.CoreToAgent:
    """Execute a request, and answer it once its changes are recorded.

    Args:
        hub: The Core's service.
        request: The request.
        rights: The rights of the program's connection.

    Raises:
        ProtocolError: `invalid_stop`, `invalid_edit_rule`, or an error of a run's file.
        CommandError: `watch_only`, `unknown_run`, `unknown_stop`, `unknown_edit_rule`,
            `store_failed`.
        DamagedRunError: The stored run is damaged.
    """
    if isinstance(request, _Controlling) and not rights.can_control:
        raise CommandError("watch_only", _MAY_NOT)
    match request:
        case messages.UploadRun(data=data):
            return messages.RunUploaded(run=await hub.import_run(data.encode()))
        case DryRunBreakpoint(breakpoint=breakpoint, run=run):
            outcomes = await dry_run(
                hub, breakpoint, None if run is None else find_run_id(hub, run)
            )
            return messages.DryRunResponse(
                outcomes=tuple(each.outcome for each in outcomes),
                runs=tuple(_known_by(each.run) for each in outcomes),
            )
        case DryRunEditRule(rule=rule, run=run):
            tried = await dry_run_edit_rule(
                hub, rule, None if run is None else find_run_id(hub, run)
            )
            return messages.EditRuleResponse(
                outcomes=tuple(_without_contents(each.outcome) for each in tried),
                runs=tuple(_known_by(each.run) for each in tried),
            )
        case ExportEditRule(rule=rule):
            check_edit_rule(rule)
            return v2.EditRuleExported(code=make_rule_code(rule))
        case messages.RecordCheckRun():
            _record_check_run(hub, request)
        case _:
            hub.perform(change_rule(hub, request))
    rules = messages.DebuggerConfig(
        breakpoints=hub.debugger.breakpoints,
        prices=hub.debugger.prices,
        edit_rules=hub.debugger.edit_rules or UNSET,
    )
    await hub.wait_recorded()
    return rules


def _without_contents(outcome: EditRuleOutcome) -> EditRuleOutcome:
    edits = tuple(replace(each, before=UNSET, after=UNSET) for each in outcome.edits)
    return replace(outcome, edits=edits)


def _record_check_run(hub: RunService, request: messages.RecordCheckRun) -> None:
    check = CheckRun(
        command=request.command, exit_code=request.exit_code, line=request.line, at=hub.clock()
    )
    hub.perform(hub.debugger.record_check_run(find_run_id(hub, request.run), check))


def _known_by(run: Run) -> Run:
    """Reduce a run to its identity: the program has a token but no login, and may not read runs."""
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
