"""Converts an agent's hello to its run and credentials, and makes the welcome that answers it."""

from __future__ import annotations

from hashlib import sha256
from secrets import token_hex

from msgspec import UNSET

from .._version import __version__
from ..protocol import agent as v2
from ..protocol.data_model import Run
from ..protocol.envelope import VERSION
from ..protocol.records import AgentCredentials
from .agent_liveness import AgentLiveness
from .connection import AccessRights


def make_credentials(
    hello: v2.Hello, rights: AccessRights, liveness: AgentLiveness
) -> AgentCredentials:
    """Make the credentials of a new run's agent for its reconnection, with a new key for its hashes.

    The run's command is accepted from agents of this machine only: the agent must connect from this
    machine and know the machine's boot id, which the other end of a tunnel doesn't know.

    Args:
        hello: The agent's hello.
        rights: The rights of the agent's connection.
        liveness: Identifies this machine and its processes.
    """
    is_here = (hello.host, hello.boot) == liveness.machine
    start_ticks = liveness.find_start_ticks(hello.pid) if is_here else None
    return AgentCredentials(
        secret=sha256(hello.secret.encode()).hexdigest(),
        boot=hello.boot,
        can_reconnect=hello.can_reconnect,
        hash_key=token_hex(32),
        start=hello.start if is_here and rights.is_local else UNSET,
        process_start_ticks=UNSET if start_ticks is None else start_ticks,
    )


def make_welcome(hello: v2.Hello, received: int, hash_key: str | None) -> v2.Welcome:
    """The answer to a hello.

    Args:
        hello: The hello, which is accepted.
        received: The number of the agent's last message that is recorded.
        hash_key: The key of the run's hashes, where it has one.
    """
    return v2.Welcome(
        version=VERSION,
        core=f"agentstepper_nb {__version__}",
        run=hello.run,
        received=received,
        shares_connection=True if hello.shares_connection is True else UNSET,
        hash_key=hash_key if hash_key is not None and hello.wants_hash_key is True else UNSET,
    )


def make_run(message: v2.Hello, at: float) -> Run:
    """The run that an agent opens; the debugger names it.

    Args:
        message: The agent's hello.
        at: Now, by the Core's clock.
    """
    return Run(
        id=message.run,
        name="",
        program=message.program,
        started_at=at,
        mode=message.mode,
        workspace=message.workspace,
        pid=message.pid,
        host=message.host,
        can_stick_edits=message.can_stick_edits,
        notice=message.notice,
        forked_from=message.forked_from,
    )
