"""Starts step processes: forks of `multiprocessing`'s fork server, which has imported the monikers.

The fork server is started by an exec and has one thread, so that nothing forks a process with threads. A
step process and its worker hold a pipe; where either is gone, the other reads it at once.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import multiprocessing.forkserver
import os
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.context import ForkServerProcess
from typing import Final, Self, TypeVar

import msgspec

from ..errors import AgentStepperError, CommandError
from ..protocol.runtime_requests import ModelCredit
from ..sdk.drivers import run_in_thread
from .message_reader import ReadUnread, UnreadMessages
from .model_gate import CreditSource
from .step_executor import ProcessLostError
from .step_messages import (
    LENGTH_BYTES,
    AskCredit,
    AskMessages,
    CancelStep,
    CloseSession,
    CoreAnswer,
    CoreQuestion,
    HaltChanged,
    MessagesRead,
    ModelCreditGranted,
    OpenSession,
    ProcessReply,
    ProcessToWorker,
    RunStep,
    WorkerToProcess,
    decode_from_process,
    decode_length,
    encode_message,
)
from .step_process import ProcessSettings, run_step_process

#: The modules that the fork server imports before its first fork.
_PRELOAD: Final = ["agentstepper_nb.runtime.fork_preload"]
#: Seconds in which a process whose pipe is closed has to end, before it is killed.
_EXIT_TIMEOUT_S: Final = 1.0
#: Seconds for which the pipe of an ended process is read, if another process holds its other end.
_DRAIN_S: Final = 0.2

T = TypeVar("T")


class ForkServer:
    """The fork server of this process. It is started with the first process, or by `warm_up`."""

    def __init__(self) -> None:
        # One thread at a time: multiprocessing reaps all processes wherever it starts another.
        self._lock = threading.Lock()
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(_PRELOAD)

    async def warm_up(self) -> None:
        """Start the server, which imports the monikers while this process goes on."""
        await self._run(multiprocessing.forkserver.ensure_running)

    async def fork(self, settings: ProcessSettings) -> tuple[ForkServerProcess, socket.socket]:
        """Fork a process.

        Args:
            settings: What it is started with.

        Returns:
            The process, and this end of its pipe.

        Raises:
            OSError: There is no descriptor, process or memory left for it.
            EOFError: The fork server ended meanwhile.
        """
        ours, theirs = socket.socketpair()
        try:
            process = await self._run(lambda: self._start(theirs, settings))
        except BaseException:
            ours.close()  # which ends a process that comes too late
            raise
        return process, ours

    async def read_exit_code(self, process: ForkServerProcess) -> int:
        """Return the exit code of an ended process, and close its descriptors."""

        def read() -> int:
            process.join()
            code = process.exitcode
            process.close()
            assert code is not None
            return code

        return await self._run(read)

    def _start(self, pipe: socket.socket, settings: ProcessSettings) -> ForkServerProcess:
        with pipe:  # this thread's, also where nobody waits for it any more
            process = self._context.Process(
                target=run_step_process, args=(pipe, settings), name="agentstepper-step"
            )
            process.start()
        return process

    async def _run(self, function: Callable[[], T]) -> T:
        def run() -> T:
            with self._lock:
                return function()

        return await run_in_thread(run)


class StepProcess:
    """The worker's handle of a step process. Made by `start`.

    Args:
        fork_server: The fork server that forked the process.
        process: The process.
        streams: The worker's end of the process' pipe.

    Attributes:
        is_halted: Whether the process' run waits at a halt point.
        on_halted: Called when `is_halted` changes.
        credits: Grants the process' model calls; None: calls aren't limited.
        read_unread: Reads messages for the process; None: there is no Core.
    """

    def __init__(
        self,
        fork_server: ForkServer,
        process: ForkServerProcess,
        streams: tuple[asyncio.StreamReader, asyncio.StreamWriter],
    ) -> None:
        assert process.pid is not None
        self.pid = process.pid
        self.is_halted = False
        self.on_halted: Callable[[], None] = lambda: None
        self.credits: CreditSource | None = None
        self.read_unread: ReadUnread | None = None
        self._asking: set[asyncio.Task[None]] = set()
        self._fork_server = fork_server
        self._process = process
        self._reader, self._writer = streams
        self._reply: asyncio.Future[ProcessReply] | None = None
        self._exited = asyncio.Event()
        self._has_lost_parent = False  # the fork server ended, which alone knows how this one does
        asyncio.get_running_loop().add_reader(process.sentinel, self._on_exit)
        self._watch = asyncio.create_task(self._watch_process(), name=f"step process {self.pid}")

    @classmethod
    async def start(cls, fork_server: ForkServer, settings: ProcessSettings) -> Self:
        """Fork a process; arguments and errors as `ForkServer.fork`."""
        process, pipe = await fork_server.fork(settings)
        return cls(fork_server, process, await asyncio.open_connection(sock=pipe))

    @property
    def has_ended(self) -> bool:
        """Whether the process has ended, and its exit code is known."""
        return self._watch.done()

    async def exit_code(self) -> int:
        """Wait until it has ended; -9: it was ended by signal 9."""
        return await asyncio.shield(self._watch)

    async def request(self, message: OpenSession | RunStep) -> ProcessReply:
        """Send a request, one at a time, and return the reply.

        Raises:
            ProcessLostError: The process ended before its reply.
        """
        self._reply = asyncio.get_running_loop().create_future()
        self._send(message)
        await asyncio.wait((self._reply, self._watch), return_when=asyncio.FIRST_COMPLETED)
        if self._reply.done():
            return self._reply.result()
        raise ProcessLostError(
            describe_exit(self._watch.result()),
            f"process {self.pid}",
            is_counted=not (self.is_halted or self._has_lost_parent),
        )

    async def cancel_step(self, timeout_s: float) -> None:
        """Cancel what it was asked for; where that doesn't end in time, kill the process.

        Args:
            timeout_s: Seconds that the step has to end.
        """
        assert self._reply is not None
        self._send(CancelStep())
        try:
            waits = (self._watch, self._reply)
            await asyncio.wait(waits, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
        finally:  # who is cancelled again waits no longer
            if not self._reply.done():
                self._send_kill()

    async def close(self, message: CloseSession, timeout_s: float) -> None:
        """Ask the process to close its session and end, and kill the process after a time-out.

        Args:
            message: The kind of the session's end.
            timeout_s: Seconds until the process is killed.
        """
        self._send(message)
        await asyncio.wait((self._watch,), timeout=timeout_s)
        await self.kill()

    async def kill(self) -> None:
        """End it by force. Idempotent."""
        self._send_kill()
        await asyncio.wait((self._watch,))

    def _send_kill(self) -> None:
        if not self._exited.is_set():
            with suppress(ProcessLookupError, ValueError):
                self._process.kill()

    def _send(self, message: WorkerToProcess) -> None:
        self._writer.write(encode_message(message))

    async def _watch_process(self) -> int:
        """Take what the process says until its pipe ends; then wait until it has ended, too."""
        with suppress(asyncio.IncompleteReadError, OSError, msgspec.DecodeError):
            while True:
                header = await self._reader.readexactly(LENGTH_BYTES)
                text = await self._reader.readexactly(decode_length(header))
                self._receive(decode_from_process(text))
        self._writer.close()
        with suppress(TimeoutError):
            async with asyncio.timeout(_EXIT_TIMEOUT_S):
                await self._exited.wait()
        if not self._exited.is_set():  # its code closed the pipe, or damaged what it says there
            self._process.kill()
            await self._exited.wait()
        return await self._fork_server.read_exit_code(self._process)

    def _receive(self, message: ProcessToWorker) -> None:
        if isinstance(message, HaltChanged):
            self.is_halted = message.is_halted
            self.on_halted()
        elif isinstance(message, AskCredit | AskMessages):
            task = asyncio.create_task(self._ask_core(message))
            self._asking.add(task)
            task.add_done_callback(self._asking.discard)
        elif self._reply is not None and not self._reply.done():
            self._reply.set_result(message)

    async def _ask_core(self, asked: CoreQuestion) -> None:
        """Ask the Core for what the process asks of it."""
        answer: CoreAnswer
        if isinstance(asked, AskCredit):
            answer = await self._take_credit(asked)
        else:
            answer = await self._read_messages(asked)
        if not self._writer.is_closing():
            self._send(answer)

    async def _take_credit(self, asked: AskCredit) -> ModelCreditGranted:
        credit: ModelCredit | None = ModelCredit()
        error = ""
        try:
            if self.credits is not None:
                credit = await self.credits.take_model_credit(asked.request)
        except AgentStepperError as refused:
            # A Core of an earlier version limits nothing.
            if not (isinstance(refused, CommandError) and refused.code == "unknown_service"):
                credit, error = None, str(refused)
        return ModelCreditGranted(number=asked.number, credit=credit, error=error)

    async def _read_messages(self, asked: AskMessages) -> MessagesRead:
        found: UnreadMessages | None = None
        error = "There is no Core to read messages from."
        try:
            if self.read_unread is not None:
                found = await self.read_unread(asked.query)
        except CommandError as refused:
            error = str(refused)
        return MessagesRead(number=asked.number, found=found, error=error)

    def _on_exit(self) -> None:
        loop = asyncio.get_running_loop()
        loop.remove_reader(self._process.sentinel)
        with suppress(ProcessLookupError):
            os.kill(self.pid, 0)
            self._has_lost_parent = True
        self._exited.set()
        # A process that the step forked may hold the pipe; what the step said last is there by then.
        loop.call_later(_DRAIN_S, self._reader.feed_eof)


def describe_exit(code: int) -> str:
    """Describe the end of a process for a person."""
    return f"was killed by signal {-code}" if code < 0 else f"exited with {code}"
