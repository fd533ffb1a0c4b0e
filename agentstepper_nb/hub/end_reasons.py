"""How runs end whose agents didn't say it, in words."""

from __future__ import annotations

import signal
from typing import Final

from ..protocol.data_model import Failure

#: A process that isn't there any more; nobody knows more.
PROCESS_GONE: Final = Failure(
    type="ProcessEnded", message="The agent's process is gone, and nobody told how it ended."
)
#: What becomes of an agent of version 1 that was connected when its Core went.
CORE_GONE: Final = Failure(
    type="CoreStopped",
    message="The Core went away while this agent was connected; agents of version 1 can't come back.",
)

#: What becomes of an agent that lives, and takes a lost connection for the end of its run.
CANNOT_RECONNECT: Final = Failure(
    type="AgentLost",
    message='The connection broke, and this agent doesn\'t come back (on_disconnect="raise").',
)


def describe_closed_connection(message: str) -> Failure:
    """The Core closed the connection of a version 1 agent, since it can't refuse one of its messages.

    Args:
        message: What was wrong with the agent's message, for a person.
    """
    return Failure(type="MessageRefused", message=message)


def describe_ended_process(code: int) -> Failure:
    """How a process ended that didn't say goodbye.

    Args:
        code: Its exit code; -9: ended by signal 9.
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
    """Nothing was heard of an agent that is nowhere to be looked for."""
    minutes = round(seconds / 60)
    return Failure(
        type="AgentLost", message=f"Nothing was heard of the agent for {minutes} minutes."
    )


def describe_damaged_run(messages: int) -> Failure:
    """The store has lost what it had promised to keep."""
    some = "a message" if messages == 1 else f"{messages} messages"
    return Failure(
        type="StoreDamaged", message=f"The store has lost {some} of this run that it had kept."
    )
