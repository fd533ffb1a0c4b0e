"""Inspects the stacks and locals of agents for views that may see them."""

from __future__ import annotations

from typing import Final

from ..errors import CommandError
from ..protocol import inspection as wire
from .run_service import RunService
from .views import ViewSession

NO_TOKEN: Final = (
    "This server takes everybody without a token or a password, so that the stacks and locals of "
    "agents aren't shown here. Start the server with a token."
)
SWITCHED_OFF: Final = (
    "The stacks and locals of agents are switched off on this Core, by `agentstepper serve "
    "--no-inspect` or `c.AgentStepperExtension.inspect = False`. Start the Core without this setting "
    "to see them."
)
NOT_OFFERED: Final = (
    "This agent doesn't show its stack: it was started with inspect=False or AGENTSTEPPER_INSPECT=0, "
    "its Core is on another machine, or its agentstepper_nb is older than the Core's. Start the agent "
    "with inspect=True or AGENTSTEPPER_INSPECT=1 to allow it."
)
NOT_PENDING: Final = "The agent doesn't wait at this halt point. Look at the one it waits at now."


async def inspect_halt_point(
    hub: RunService, view: ViewSession, command: wire.InspectionCommand
) -> wire.InspectionResult:
    """Ask an agent for an inspection. If the agent enters pdb, its halt point is answered, too.

    Args:
        hub: The Core's service.
        view: The requesting view, whose login may control.
        command: The inspection.

    Raises:
        CommandError: `unknown_run`, `inspection_refused`.
        ProtocolError: `inspection_refused`: the agent refuses, or didn't answer.
    """
    run = hub.run(command.run)
    if not hub.allows_inspection:
        raise CommandError("inspection_refused", SWITCHED_OFF, run.id)
    if not view.rights.has_login:
        raise CommandError("inspection_refused", NO_TOKEN, run.id)
    if command.halt_point not in run.pending:
        raise CommandError("inspection_refused", NOT_PENDING, run.id)
    questions = hub.agent_questions.get(run.id)
    if questions is None or not questions.can_inspect:
        raise CommandError("inspection_refused", NOT_OFFERED, run.id)
    result = await questions.inspect(command.halt_point, _make_request(command))
    if isinstance(command, wire.EnterPdb):
        step = (run.id, hub.clock(), command.halt_point, command.revision)
        hub.perform(hub.commands.step(*step), view)
    return result


def _make_request(command: wire.InspectionCommand) -> wire.InspectionRequest:
    match command:
        case wire.GetVariables():
            return wire.VariablesRequest(
                frame=command.frame,
                result=command.result,
                path=command.path,
                start=command.start,
                count=command.count,
            )
        case wire.EvaluateExpression(frame=frame, expression=expression):
            return wire.EvaluationRequest(frame=frame, expression=expression)
        case wire.CompleteExpression(frame=frame, text=text, cursor=cursor):
            return wire.CompletionRequest(frame=frame, text=text, cursor=cursor)
        case wire.EnterPdb():
            return wire.PdbRequest()
        case wire.GetStack():
            return wire.StackRequest()
