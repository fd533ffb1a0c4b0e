"""The roles of agents: the purpose of each role, and whether it may hand off a message."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ..protocol.chat import AgentName
from .extension_registry import ExtensionRegistry


@dataclass(frozen=True)
class RoleSpec:
    """A role that agents may have.

    Args:
        name: The role's name.
        can_hand_off: Whether an agent of this role may hand off to another agent.
        instructions: The default system prompt of a model that has this role.
        summary: One line for people.
    """

    name: str
    can_hand_off: bool = False
    instructions: str = ""
    summary: str = ""


role_registry: Final = ExtensionRegistry(
    "role",
    "role",
    (
        RoleSpec(
            AgentName.AGENT_EXECUTOR.value,
            instructions="You carry out what you are asked to. Use the tools you are given where they "
            "help, one step at a time, and look at each result before you go on. Say plainly what you "
            "did, what came of it, and what you couldn't do.",
            summary="does what it is asked to, with its tools",
        ),
        RoleSpec(
            AgentName.LLM_PLANNER.value,
            instructions="You plan and don't carry out. Take the task apart into numbered steps, each "
            "small enough to be done and checked on its own, in the order they have to be done. Say "
            "what each needs and how one sees that it is done. Name what is unclear.",
            summary="takes a task apart into steps",
        ),
        RoleSpec(
            AgentName.SUPERVISOR.value,
            can_hand_off=True,
            instructions="You direct other agents. Decide who is to take on the task or its next part, "
            "and hand it on with everything that is needed to do it. Answer yourself where no other "
            "agent is needed, and say when the task is done.",
            summary="decides who answers, and may hand on",
        ),
        RoleSpec(
            AgentName.THOUGHT.value,
            instructions="You think a question through and change nothing. Say what is known, what "
            "follows from it, and what speaks against it. Tell guesses from facts, and end with your "
            "conclusion in a sentence or two.",
            summary="thinks a question through",
        ),
        RoleSpec(
            AgentName.CREW.value,
            can_hand_off=True,
            instructions="You speak for a team of agents. Do the part of the task that is yours, hand "
            "on what a colleague can do better, and put together what came of it into one answer.",
            summary="speaks for a team, and may hand on within it",
        ),
        RoleSpec(
            AgentName.OTHER.value,
            instructions="Answer what you are asked, briefly and plainly. Say so where you don't know.",
            summary="none of the others, by its own choice",
        ),
    ),
)


def add_role(spec: RoleSpec) -> None:
    """Add a role that agents may have.

    Args:
        spec: The role. It replaces an added role of the same name.

    Raises:
        ValueError: The name has other characters than capitals, digits and underscores, or is a
            built-in role's name.
    """
    role_registry.add(spec)


def find_role(name: str) -> RoleSpec:
    """Find a role by its name.

    Args:
        name: The name that an agent gives.

    Raises:
        ProtocolError: `invalid_message`: no role has this name; the message lists the roles. No
            other role is used in its place.
    """
    return role_registry.get(name)


def list_role_names() -> tuple[str, ...]:
    """List the names of all roles, the built-in ones first."""
    return role_registry.names()
