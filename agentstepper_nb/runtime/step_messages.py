"""The messages between a worker and a step process over their pipe, and the messages' framing.

A message is its length in eight bytes, then JSON. The worker sends one request at a time, and
`CancelStep` at any time; each request has one reply. The process sends `HaltChanged` and its requests to
the Core at any time.
"""

from __future__ import annotations

from typing import Any, Final, Literal

import msgspec
from msgspec import Struct

from ..protocol.runtime_requests import ModelCredit, TakeModelCredit
from .frame import FrameIn, FrameOut
from .message_reader import UnreadMessages, UnreadQuery

#: Bytes of the length that stands before each message.
LENGTH_BYTES: Final = 8

#: The kind of the end of a session's activation in a process, for the session's run in the debugger.
Ending = Literal["done", "failed", "suspended"]
#: Why a step gave no frame: a person pressed Stop; an edit or a person's No, which no retry helps; the
#: worker cancelled it; its code failed.
FailureKind = Literal["stopped", "denied", "bad_edit", "cancelled", "failed"]


class OpenSession(Struct, frozen=True, kw_only=True, tag="open"):
    """Make a session's moniker, and open its run in the debugger. Answered by `SessionOpened`."""

    agent_id: str
    session_id: str
    moniker: str
    config: Any = None
    step: bool = False  # whether the run begins stepping
    conversation_id: str | None = None


class RunStep(Struct, frozen=True, kw_only=True, tag="step"):
    """Do a step. Answered by `StepDone` or `StepFailed`."""

    frame: FrameIn


class CancelStep(Struct, frozen=True, kw_only=True, tag="cancel"):
    """Cancel the current step, if there is one."""


class CloseSession(Struct, frozen=True, kw_only=True, tag="close"):
    """Close the moniker and the run, and end the process, which is the answer."""

    ending: Ending
    error: str | None = None  # why the session failed


class ModelCreditGranted(Struct, frozen=True, kw_only=True, tag="credit"):
    """The answer to an `AskCredit`."""

    number: int
    credit: ModelCredit | None  # None: the Core refused, as `error` says
    error: str = ""


class MessagesRead(Struct, frozen=True, kw_only=True, tag="read"):
    """The answer to an `AskMessages`."""

    number: int
    found: UnreadMessages | None  # None: the Core refused, as `error` says
    error: str = ""


CoreAnswer = ModelCreditGranted | MessagesRead
WorkerToProcess = OpenSession | RunStep | CancelStep | CloseSession | CoreAnswer


class SessionOpened(Struct, frozen=True, kw_only=True, tag="opened"):
    """The session lives in this process."""

    run_id: str | None  # None: the debugger doesn't show it
    stops_on_done: bool


class StepDone(Struct, frozen=True, kw_only=True, tag="done"):
    """A step gave a frame."""

    frame: FrameIn  # as the step was given it: with a person's edit
    out: FrameOut
    interval_s: (
        float | None
    )  # to wait before the next step; None: until the session is told something
    read: dict[str, str] = {}  # the last message that it read, of each conversation


class StepFailed(Struct, frozen=True, kw_only=True, tag="failed"):
    """A step, or the opening of a session, gave nothing."""

    kind: FailureKind
    error: str
    frame: FrameIn | None = None


class HaltChanged(Struct, frozen=True, kw_only=True, tag="halted"):
    """The session's run waits at a halt point, or no longer does."""

    is_halted: bool


class AskCredit(Struct, frozen=True, kw_only=True, tag="ask_credit"):
    """Ask the Core whether a model may be called. Answered by `ModelCreditGranted`."""

    number: int
    request: TakeModelCredit


class AskMessages(Struct, frozen=True, kw_only=True, tag="ask_messages"):
    """Ask the Core for messages. Answered by `MessagesRead`."""

    number: int
    query: UnreadQuery


CoreQuestion = AskCredit | AskMessages
ProcessReply = SessionOpened | StepDone | StepFailed
ProcessToWorker = ProcessReply | HaltChanged | CoreQuestion

_from_worker: msgspec.json.Decoder[WorkerToProcess] = msgspec.json.Decoder(WorkerToProcess)
_from_process: msgspec.json.Decoder[ProcessToWorker] = msgspec.json.Decoder(ProcessToWorker)


def encode_message(message: Struct) -> bytes:
    """A message with its length before it."""
    text = msgspec.json.encode(message)
    return len(text).to_bytes(LENGTH_BYTES) + text


def decode_length(header: bytes) -> int:
    """Decode the number of bytes that follow a header."""
    return int.from_bytes(header)


def decode_from_worker(text: bytes) -> WorkerToProcess:
    """A message of the worker's."""
    return _from_worker.decode(text)


def decode_from_process(text: bytes) -> ProcessToWorker:
    """A message of a process'.

    Raises:
        msgspec.DecodeError: The step's code wrote into the pipe, or damaged its process.
    """
    return _from_process.decode(text)
