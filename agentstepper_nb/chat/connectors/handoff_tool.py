"""The tool by which a model hands on to another agent of its session."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from ... import typed_json
from ...llm_wire.conversation import ToolCall, ToolSpec
from ...protocol.chat import ChatAgentInfo
from ..connector import Handoff, InterpreterABC
from ..roles import find_role

#: The tool's name.
HANDOFF_TOOL: Final = "hand_on"


class _Arguments(msgspec.Struct):
    agent_name: str
    text: str | None = None


class HandoffTool:
    """The tool by which a model hands off to another agent, if its agent's role allows handoffs.

    Args:
        agent: The agent.
        agents: The agents of the session.
    """

    def __init__(self, agent: InterpreterABC, agents: Iterable[ChatAgentInfo]) -> None:
        may = find_role(agent.role).can_hand_off
        self._others = {each.name: each for each in agents if may and each.name != agent.name}

    def specs(self) -> tuple[ToolSpec, ...]:
        """The tool's description for the model; empty if the agent can't hand off."""
        if not self._others:
            return ()
        others = self._others.values()
        listed = "".join(f"\n- {each.name} ({each.role}): {each.description}" for each in others)
        text = {
            "type": "string",
            "description": "What the agent is told: all that it needs to know.",
        }
        spec = ToolSpec(
            name=HANDOFF_TOOL,
            description=f"Let another agent go on in your place. Your own answer ends here.{listed}",
            input_schema={
                "type": "object",
                "properties": {"agent_name": {"enum": list(self._others)}, "text": text},
                "required": ["agent_name", "text"],
                "additionalProperties": False,
            },
        )
        return (spec,)

    def find_handoff(self, call: ToolCall) -> Handoff | str | None:
        """The hand-on that a call asks for, or why it is none; None where it is about something else.

        Args:
            call: As the model wrote it.
        """
        if call.name != HANDOFF_TOOL or not self._others:
            return None
        try:
            arguments = typed_json.decode(call.args_json, _Arguments)
        except (ValueError, RecursionError) as error:
            return f"The arguments can't be used: {error}."
        if arguments.agent_name not in self._others:
            return f"There is no such agent; there are: {', '.join(self._others)}."
        return Handoff(arguments.agent_name, arguments.text)
