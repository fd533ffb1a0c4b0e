"""A step process: one session's moniker and its run, in a process that the fork server forked.

The event loop runs the moniker; two threads read and write the pipe, so that a step which blocks the
loop still says where a person halts it, and ends with its worker.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Final

from ..errors import AgentStepperError, AgentStopped, StepFrameError, ToolDeniedError
from ..json_log import JsonLogFormatter, add_log_fields, set_log_fields
from ..protocol.runtime_requests import ModelCredit, TakeModelCredit
from ..sdk.run_session import finish_with_multiprocessing
from .debugged_run import StepAttempt
from .message_reader import UnreadMessages, UnreadQuery
from .model_gate import ModelGate
from .monikers.registry import find_moniker
from .step_executor import (
    STEP_FAILURE_TYPES,
    LocalStepExecutor,
    StepSettings,
    describe_failure,
    was_cancelled,
)
from .step_messages import (
    LENGTH_BYTES,
    AskCredit,
    AskMessages,
    CancelStep,
    CloseSession,
    CoreAnswer,
    CoreQuestion,
    FailureKind,
    HaltChanged,
    MessagesRead,
    ModelCreditGranted,
    OpenSession,
    ProcessReply,
    RunStep,
    SessionOpened,
    StepDone,
    StepFailed,
    WorkerToProcess,
    decode_from_worker,
    decode_length,
    encode_message,
)

#: The exit code of a process whose worker is gone, or wants it gone.
_ABANDONED: Final = 1


@dataclass(frozen=True)
class ProcessSettings:
    """The settings of a step process.

    Args:
        data_dir: The folder of this installation's runs.
        debugger: Whether the process' session is shown in the debugger.
        url: The address for the session's run; None: the Core is discovered.
        token: The agent token for this address.
        log_level: The lowest level that is logged, to the worker's standard error.
        logs_json: Whether the process logs JSON, as its worker does.
    """

    data_dir: Path
    debugger: bool = True
    url: str | None = None
    token: str | None = None
    log_level: int = logging.INFO
    logs_json: bool = False


def run_step_process(connection: socket.socket, settings: ProcessSettings) -> None:
    """Serve a worker until it closes the session, or is gone.

    Args:
        connection: The pipe to the worker.
        settings: What the process is started with.
    """
    # Both may reach all processes of a worker, and are the worker's to act on. A handler, unlike
    # SIG_IGN, isn't inherited by the programs that a step starts.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    logging.basicConfig(level=settings.log_level, format="%(levelname)s %(message)s", force=True)
    if settings.logs_json:
        logging.root.handlers[0].setFormatter(JsonLogFormatter())
    for chatty in ("websockets", "httpx", "httpx2"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
    finish_with_multiprocessing()
    asyncio.run(StepServer(connection, settings).serve())


class PipedCore:
    """Asks the Core by way of the worker: a `CreditSource`, and what reads messages.

    Args:
        send: Sends a message to the worker.
    """

    def __init__(self, send: Callable[[CoreQuestion], None]) -> None:
        self._send = send
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._count = 0

    async def take_model_credit(self, request: TakeModelCredit) -> ModelCredit:
        """Request a model call from the Core's rate limit.

        Raises:
            AgentStepperError: The Core refuses the request.
        """
        credit: ModelCredit = await self._ask(AskCredit(number=self._next(), request=request))
        return credit

    async def read_unread(self, query: UnreadQuery) -> UnreadMessages:
        """Read messages.

        Raises:
            AgentStepperError: The Core refuses.
        """
        found: UnreadMessages = await self._ask(AskMessages(number=self._next(), query=query))
        return found

    def on_answer(self, message: CoreAnswer) -> None:
        """Deliver an answer of the worker. An answer without a waiting caller is dropped."""
        future = self._waiting.get(message.number)
        if future is None or future.done():
            return
        answer = message.credit if isinstance(message, ModelCreditGranted) else message.found
        if answer is None:
            future.set_exception(AgentStepperError(message.error))
        else:
            future.set_result(answer)

    def _next(self) -> int:
        self._count += 1
        return self._count

    async def _ask(self, question: CoreQuestion) -> Any:
        future = asyncio.get_running_loop().create_future()
        self._waiting[question.number] = future
        self._send(question)
        try:
            return await future
        finally:
            del self._waiting[question.number]


class StepServer:
    """Runs the steps of one session as its worker asks.

    Args:
        connection: The pipe to the worker.
        settings: What the process was started with.
    """

    def __init__(self, connection: socket.socket, settings: ProcessSettings) -> None:
        self._connection = connection
        # None: `HaltChanged`
        self._outgoing: SimpleQueue[ProcessReply | CoreQuestion | None] = SimpleQueue()
        self._core = PipedCore(self._outgoing.put)
        log = logging.getLogger("agentstepper_nb.worker")
        self._settings = StepSettings(
            data_dir=settings.data_dir,
            debugger=settings.debugger,
            log=log,
            url=settings.url,
            token=settings.token,
            model_gate=ModelGate(self._core, log),
            read_unread=self._core.read_unread,
        )
        self._executor: LocalStepExecutor | None = None
        self._requests: asyncio.Queue[WorkerToProcess] = asyncio.Queue()
        self._step: asyncio.Task[ProcessReply] | None = None

    async def serve(self) -> None:
        """Answer requests until the worker closes the session."""
        loop = asyncio.get_running_loop()
        for name, target, arguments in (("read", self._read, (loop,)), ("write", self._write, ())):
            thread = f"agentstepper-pipe-{name}"
            threading.Thread(target=target, args=arguments, name=thread, daemon=True).start()
        while not isinstance(request := await self._requests.get(), CloseSession):
            if isinstance(request, OpenSession):
                self._outgoing.put(await self._open(request))
            elif isinstance(request, RunStep):
                self._step = asyncio.create_task(self._run_step(request))
                self._outgoing.put(await self._step)
                self._step = None
        await self._close(request)

    async def _open(self, request: OpenSession) -> ProcessReply:
        set_log_fields(session_id=request.session_id, agent_id=request.agent_id)
        try:
            make_moniker = find_moniker(request.moniker)
            self._executor = LocalStepExecutor(make_moniker, self._settings, self._on_halted)
            run_id = await self._executor.open(request)
            if run_id is not None:
                add_log_fields(run_id=run_id)
        except (AgentStopped, *STEP_FAILURE_TYPES) as error:
            return StepFailed(kind="failed", error=describe_failure(error))
        return SessionOpened(run_id=run_id, stops_on_done=self._executor.stops_on_done)

    async def _run_step(self, request: RunStep) -> ProcessReply:
        assert self._executor is not None
        attempt = StepAttempt(request.frame)
        try:
            out = await self._executor.step(attempt)
            interval_s = self._executor.interval_s
        except (AgentStopped, *STEP_FAILURE_TYPES) as error:
            return StepFailed(
                kind=_classify(error), error=describe_failure(error), frame=attempt.frame
            )
        wait_s = None if interval_s == float("inf") else interval_s
        return StepDone(frame=attempt.frame, out=out, interval_s=wait_s, read=dict(attempt.read))

    async def _close(self, request: CloseSession) -> None:
        errors: dict[str, BaseException | None] = {
            "done": None,
            "failed": RuntimeError(request.error),
            "suspended": asyncio.CancelledError(),
        }
        if self._executor is not None:
            await self._executor.close(errors[request.ending])

    def _on_halted(self) -> None:
        self._outgoing.put(None)

    def _on_request(self, request: WorkerToProcess) -> None:
        if isinstance(request, ModelCreditGranted | MessagesRead):
            self._core.on_answer(request)
        elif not isinstance(request, CancelStep):
            self._requests.put_nowait(request)
        elif self._step is not None:
            self._step.cancel()

    # ---- the pipe's threads -------------------------------------------------------------------------

    def _read(self, loop: asyncio.AbstractEventLoop) -> None:
        """Read requests; where the worker closes the pipe, this process ends, whatever hangs in it."""
        with suppress(OSError, RuntimeError), self._connection.makefile("rb") as stream:
            while len(header := stream.read(LENGTH_BYTES)) == LENGTH_BYTES:
                text = stream.read(decode_length(header))
                loop.call_soon_threadsafe(self._on_request, decode_from_worker(text))
        os._exit(_ABANDONED)

    def _write(self) -> None:
        with suppress(OSError):  # the worker is gone, which the other thread notices
            while True:
                reply = self._outgoing.get()
                if reply is None:
                    is_halted = self._executor is not None and self._executor.is_halted
                    self._connection.sendall(encode_message(HaltChanged(is_halted=is_halted)))
                else:
                    self._connection.sendall(encode_message(reply))


def _classify(error: BaseException) -> FailureKind:
    """What the worker does about a failure."""
    if isinstance(error, AgentStopped) or (
        isinstance(error, BaseExceptionGroup) and error.subgroup(AgentStopped)
    ):
        return "stopped"
    if isinstance(error, ToolDeniedError):
        return "denied"
    if isinstance(error, StepFrameError) and error.edited:
        return "bad_edit"
    if isinstance(error, asyncio.CancelledError) and was_cancelled():
        return "cancelled"
    return "failed"
