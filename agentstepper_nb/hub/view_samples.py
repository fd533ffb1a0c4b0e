"""Resamples halted LLM queries for views, and records what the answers cost.

Nothing of an answer is recorded but its cost: a person who chooses an answer skips the query with it,
or edits the query's own answer accordingly.
"""

from __future__ import annotations

from typing import Final

from ..core.next_actions import find_next_action
from ..errors import CommandError, ProtocolError
from ..protocol import query_samples as wire
from ..protocol.data_model import EventKind, EventSide, HaltPoint
from .run_service import RunService

NOT_PENDING: Final = "The agent doesn't wait at this query. Look at the one it waits at now."
NO_QUERY: Final = "The agent is halted at no LLM query: nothing else can be asked again."
NOT_OFFERED: Final = (
    "This agent can't ask its queries again: its agentstepper_nb is older than the Core's, or it speaks "
    "version 1 of the protocol. Upgrade agentstepper_nb where the agent runs."
)


async def sample_query(hub: RunService, command: wire.SamplingCommand) -> wire.SamplingAnswer:
    """Ask an agent to send a halted query again, or whether that is possible.

    Args:
        hub: The Core's service.
        command: The view's command.

    Raises:
        CommandError: `unknown_run`, `resample_refused`.
        ProtocolError: `resample_refused`: the agent refuses, or didn't answer.
    """
    point = _find_query(hub, command)
    questions = hub.agent_questions.get(command.run)
    if questions is None or not questions.can_sample:
        raise CommandError("resample_refused", NOT_OFFERED, command.run)
    edit = point.edit if point.side is EventSide.BEGIN else None
    is_dry = isinstance(command, wire.GetSampling)
    made = await questions.sample(point.id, edit, is_dry=is_dry)
    if is_dry:
        return wire.SamplingOffer(left=made.left)
    sample = made.sample
    if sample is None:
        raise ProtocolError("resample_refused", "The agent sent no answer. Look at its log.")
    hub.perform(hub.commands.count_sample(command.run, sample.usage))
    data = str(sample.data, "utf-8")
    action = find_next_action(data)
    failure = sample.failure
    failed = "" if failure is None else f"Failed: {failure.type}: {failure.message}"
    return wire.SampledAnswer(
        data=data,
        action=failed or action.key,
        summary=failed or action.label,
        left=made.left,
        usage=sample.usage,
        failure=failure,
    )


def _find_query(hub: RunService, command: wire.SamplingCommand) -> HaltPoint:
    """The halt point that a command names, which waits at a query."""
    hub.run(command.run)
    for point in hub.debugger.pending(command.run):
        if point.id == command.halt_point:
            if point.kind is not EventKind.LLM_QUERY:
                raise CommandError("resample_refused", NO_QUERY, command.run)
            return point
    raise CommandError("resample_refused", NOT_PENDING, command.run)
