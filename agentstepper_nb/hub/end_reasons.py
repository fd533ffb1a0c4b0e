"""Describes the ending of runs whose agents didn't report one, in words."""

from __future__ import annotations

import signal
from typing import Final

from ..protocol.data_model import Failure

#: The agent's process is gone, for unknown reasons.
PROCESS_GONE: Final = Failure(
    type="ProcessEnded", message="The agent's process is gone, and nobody told how it ended."
)
#: The Core stopped while a version 1 agent was connected.
CORE_GONE: Final = Failure(
    type="CoreStopped",
    message="The Core went away while this agent was connected; agents of version 1 can't come back.",
)

#: The agent still lives, but takes a lost connection for the end of its run.
CANNOT_RECONNECT: Final = Failure(
    type="AgentLost",
    message='The connection broke, and this agent doesn\'t come back (on_disconnect="raise").',
)


def describe_closed_connection(message: str) -> Failure:
    """Describe a version 1 connection that the Core closed over a message that it can't refuse.

    Args:
        message: The error in the agent's message, for a person.
    """
    return Failure(type="MessageRefused", message=message)


def describe_ended_process(code: int) -> Failure:
    """Describe the end of a process that didn't say bye.

    Args:
        code: The exit code; -9: ended by signal 9.
    """
    if code >= 0:
        how = f"exited with {code}, without saying goodbye"
    else:
        try:
            how = f"was killed by {signal.Signals(-code).name}"
        except ValueError:
            how = f"was killed by signal {-code}"
    return Failure(type="ProcessEnded", message=f"The agent's process {how}.")


def describe_silent_agent(seconds: float) -> Failure:
    """Describe an agent that didn't reconnect, and whose process can't be checked."""
    minutes = round(seconds / 60)
    return Failure(
        type="AgentLost", message=f"Nothing was heard of the agent for {minutes} minutes."
    )


def describe_damaged_run(messages: int) -> Failure:
    """Describe a run that has lost messages which the store had acknowledged."""
    some = "a message" if messages == 1 else f"{messages} messages"
    return Failure(
        type="StoreDamaged", message=f"The store has lost {some} of this run that it had kept."
    )
