"""What agents of version 2 send, as the debugger's values, and the other way their answers."""

from __future__ import annotations

from hashlib import sha256
from secrets import token_hex

from msgspec import UNSET, Raw

from .._version import __version__
from ..core import AnswerDecision, LeaseGranted
from ..protocol import agent as v2
from ..protocol.answers import Answer, DenyAnswer, ResumeAnswer, StopAnswer
from ..protocol.data_model import AnswerKind, Commit, Event, EventKind, HaltPoint, Run
from ..protocol.envelope import VERSION
from ..protocol.header_limits import MAX_TRACEBACK_CHARS, truncate_text
from ..protocol.records import AgentCredentials


def count_content_bytes(message: object) -> int:
    """The bytes of a message's contents, however few of them have travelled."""
    if isinstance(message, v2.HaltPointReached) and message.data is not UNSET:
        return memoryview(message.data).nbytes
    return 0


def make_credentials(hello: v2.Hello) -> AgentCredentials:
    """By what the agent of a new run is known when it comes back, and a new key for its hashes."""
    return AgentCredentials(
        secret=sha256(hello.secret.encode()).hexdigest(),
        boot=hello.boot,
        can_reconnect=hello.can_reconnect,
        hash_key=token_hex(32),
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


def encode_lease(lease: LeaseGranted, epoch: int) -> v2.LeaseMessage:
    """A lease as it is sent.

    Args:
        lease: What the agent may decide by itself.
        epoch: The number of the lease on its connection.
    """
    return v2.LeaseMessage(
        epoch=epoch, mode=lease.mode, breakpoints=lease.breakpoints, prices=lease.prices
    )


def decode_event(message: v2.EventBegun, run: str) -> Event:
    """An event that begins."""
    return Event(
        id=message.id,
        run=run,
        kind=message.kind,
        at=message.at,
        parent=message.parent,
        name=message.name,
        scope=() if message.scope is UNSET else message.scope,
        label=None if message.label is UNSET else message.label,
        content_hash=None if message.content_hash is UNSET else message.content_hash,
        data=None if message.data is UNSET else bytes(message.data).decode(),
        found_by=message.found_by,
    )


def decode_point(message: v2.HaltPointReached, run: str) -> HaltPoint:
    """A halt point that was reached; the debugger knows of which kind its event is."""
    return HaltPoint(
        id=message.id,
        run=run,
        event=message.event,
        seq=0,
        kind=EventKind.PROGRAM_STARTED,  # the debugger sets it from the event
        side=message.side,
        at=message.at,
        data="null" if message.data is UNSET else str(message.data, "utf-8"),
        edit=None if message.edit is UNSET else str(message.edit, "utf-8"),
        sticky=UNSET if message.edit is UNSET else True,
        waits=message.waits,
        summary=message.summary,
        outcome=message.outcome,
        failure=message.failure,
        traceback=truncate_text(message.traceback, MAX_TRACEBACK_CHARS),
        usage=message.usage,
        breakpoints=message.breakpoints,
        breakpoint_error=message.breakpoint_error,
        approval=message.approval,
    )


def decode_decision(message: v2.DecideApproval) -> AnswerDecision:
    """What the agent's own people said."""
    if message.approved:
        return AnswerDecision(AnswerKind.RESUME, always=message.always)
    return AnswerDecision(AnswerKind.DENY, message.reason)


def encode_answer(halt_point: HaltPoint, answer: AnswerKind) -> Answer:
    """How a halt point was answered, as its agent is told."""
    if answer is AnswerKind.STOP:
        return StopAnswer()
    if answer is AnswerKind.DENY:
        return DenyAnswer(reason=halt_point.reason or "")
    data = halt_point.edit
    if data is None and halt_point.sticky is not UNSET:
        data = (
            halt_point.data
        )  # or else the agent's own sticky edit would stand, which was taken back
    return ResumeAnswer(
        data=UNSET if data is None else Raw(data.encode()),
        sticky=halt_point.sticky is True,
        approved=halt_point.approval is not None,
        always=halt_point.always,
    )


def decode_commit(message: v2.CommitMade, run: str) -> Commit:
    """A commit of the workspace."""
    return Commit(
        id=message.id,
        run=run,
        at=message.at,
        title=message.title,
        description=message.description,
        event=message.event,
        snapshot=message.snapshot,
        has_rule_title=message.has_rule_title,
        changes=message.changes,
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
    )
