"""Decides which hellos of version 2 agents are accepted."""

from __future__ import annotations

import hmac
from typing import Final

from ..core import Debugger
from ..errors import CommandError, ProtocolError
from ..protocol.agent import Hello
from ..protocol.data_model import Run, RunEnding
from ..protocol.envelope import VERSION

#: Answers a second hello of a run, and one of another run that doesn't name it.
ALREADY_GREETED: Final = (
    "This connection has sent hello already. Open another connection for another run, or "
    "share this one as docs/design/0009-resume.md describes."
)


def check_version(hello: Hello) -> None:
    """Refuse a hello of another version.

    Raises:
        ProtocolError: `version_mismatch`.
    """
    if hello.version != VERSION:
        side = "the Core" if hello.version > VERSION else "the agent's SDK"
        raise ProtocolError(
            "version_mismatch",
            f"The SDK speaks protocol version {hello.version}, and this Core {VERSION}. "
            f"Upgrade {side}.",
        )


def find_resumed_run(debugger: Debugger, run: Run | None, hello: Hello, n: int, secret: str) -> Run:
    """Find the live run that an agent resumes.

    Args:
        debugger: The debugger.
        run: The run with the hello's id, if there is one.
        hello: The agent's hello.
        n: The hello's message number.
        secret: The SHA-256 of the hello's secret.

    Raises:
        CommandError: `unknown_run`.
        ProtocolError: The run has ended, or belongs to another agent.
    """
    if run is None:
        raise CommandError(
            "unknown_run",
            "This Core has no such run: the run was deleted, or another Core has it. "
            "Start the agent again.",
            hello.run,
        )
    credentials = debugger.agent_credentials(run.id) if run.live else None
    is_same_agent = credentials is not None and hmac.compare_digest(credentials.secret, secret)
    if not hello.sent and (not is_same_agent or debugger.last_received(run.id) > n):
        raise ProtocolError(
            "already_open", f"A run with the id {run.id} exists already. Give each run its own id."
        )
    if not run.live:
        raise ProtocolError("run_ended", _explain_ended(run))
    if not is_same_agent:
        raise ProtocolError(
            "unauthorized",
            f"The run {run.id} belongs to another agent: the secret in hello is wrong.",
        )
    return run


def _explain_ended(run: Run) -> str:
    """Explain why nothing can be added to a run."""
    if run.ending is RunEnding.LOST:
        return "This Core has ended the run, since its agent was away too long. Start a new run."
    return "This run has ended. Start a new run."
