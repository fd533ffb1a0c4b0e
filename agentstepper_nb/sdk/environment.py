"""The environment by which a program's AgentSteppers find a Core."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ..discover import (
    AGENT_TOKEN_VARIABLE,
    CERTIFICATE_VARIABLE,
    CONTROL_TOKEN_VARIABLE,
    PROGRAM_NAME_VARIABLE,
    URL_VARIABLE,
    CoreEndpoint,
    find_certificate,
)

#: Set to 1, it freezes each run of a process: `agentstepper run --freeze`.
FREEZE_VARIABLE: Final = "AGENTSTEPPER_FREEZE"
#: The workspace of a program's run, if the program opens none: `agentstepper run --workspace`.
PROGRAM_WORKSPACE_VARIABLE: Final = "AGENTSTEPPER_PROGRAM_WORKSPACE"


def make_environment(
    environment: Mapping[str, str], endpoint: CoreEndpoint, name: str | None = None
) -> dict[str, str]:
    """An environment that names this Core, without tokens and names that were meant for other Cores.

    It has no control token either: the started program is an agent.

    Args:
        environment: The other variables of the environment.
        endpoint: The Core.
        name: The name of the program's runs; None: the name that the program gives.
    """
    ours = {
        URL_VARIABLE: endpoint.url,
        AGENT_TOKEN_VARIABLE: endpoint.token,
        PROGRAM_NAME_VARIABLE: name,
        CERTIFICATE_VARIABLE: find_certificate(endpoint.url),
    }
    others = {*ours, CONTROL_TOKEN_VARIABLE}
    rest = {key: value for key, value in environment.items() if key not in others}
    return rest | {key: value for key, value in ours.items() if value}
