"""Carries the runs of a worker's step processes over one connection to the Core.

A process connects here as it would to a Core, by the token of this relay. Messages are passed on as they
are, but that each names its run, as where the runs of one process share a connection
(docs/design/0009-resume.md). Where the Core goes away, so do the processes' connections: each process
keeps what the Core hasn't, and comes back.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import secrets
from collections.abc import Awaitable, Callable
from contextlib import suppress
from http import HTTPStatus
from typing import Final

import msgspec
from msgspec import UNSET, Struct
from websockets.asyncio.client import ClientConnection
from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response
from websockets.typing import Subprotocol

from .. import typed_json
from ..discover import CoreEndpoint
from ..errors import AgentStepperError, ProtocolError
from ..protocol.agent import LeaveConnection, MessagePart, ProcessEnded, Welcome, from_agent
from ..protocol.envelope import (
    MAX_MESSAGE_BYTES,
    SUBPROTOCOL,
    Envelope,
    add_run,
    decode_envelope,
)
from ..rpc.connection import open_socket

#: Bytes that naming its run adds to a message, at most: ids have 100 characters.
_RUN_NAME_BYTES: Final = 1024
#: Characters of a text that goes to the Core in one piece.
_MAX_PART_CHARS: Final = 256 * 1024
#: Characters that may wait for a process that doesn't read; then its connection is closed, and it
#: comes back.
_MAX_WAITING_CHARS: Final = 128 * 1024 * 1024
#: Seconds that the Core has to answer the hello that opens a connection.
_HELLO_TIMEOUT_S: Final = 10.0
#: Seconds in which a process whose connection is gone is found to have ended.
_EXIT_TIMEOUT_S: Final = 1.0
_GOING_AWAY: Final = 1001
_UNREADABLE: Final = 1007

#: A function that returns how a process ended; None: the process runs, or is unknown.
FindExitCode = Callable[[int, float], Awaitable[int | None]]


class _HelloFields(Struct):
    """What of a hello is read here."""

    run: str
    pid: int = 0


class RunRelay:
    """Listens on this machine for the worker's step processes, and passes on what they say.

    Args:
        find_core: Says where the Core takes agents. Called before each connection: a Core that started
            again may have another address.
        find_exit_code: Says how a process ended.
        log: Gets why a run could not be carried.
    """

    def __init__(
        self,
        find_core: Callable[[], CoreEndpoint],
        find_exit_code: FindExitCode,
        log: logging.Logger,
    ) -> None:
        self._find_core = find_core
        self._find_exit_code = find_exit_code
        self._log = log
        self._token = secrets.token_urlsafe(32)
        self._server: Server | None = None
        self._starting = asyncio.Lock()
        self._opening = asyncio.Lock()
        self._shared: _CoreConnection | None = None

    async def find_endpoint(self) -> CoreEndpoint:
        """Return the endpoint for processes. The first call begins to listen.

        Raises:
            OSError: No port or file descriptor is free.
        """
        async with self._starting:
            if self._server is None:
                self._server = await serve(
                    self._serve,
                    "127.0.0.1",
                    0,
                    subprotocols=[Subprotocol(SUBPROTOCOL)],
                    process_request=self._check_token,
                    compression=None,
                    max_size=MAX_MESSAGE_BYTES - _RUN_NAME_BYTES,
                    ping_interval=None,  # who is stopped for a while is not gone
                )
            port = next(iter(self._server.sockets)).getsockname()[1]
        return CoreEndpoint(f"ws://127.0.0.1:{port}", self._token)

    async def close(self) -> None:
        """Close all connections. Idempotent."""
        server, self._server = self._server, None
        if server is not None:
            server.close()
            await server.wait_closed()
        if self._shared is not None:
            await self._shared.close()

    # ---- a process ----------------------------------------------------------------------------------

    def _check_token(self, connection: ServerConnection, request: Request) -> Response | None:
        expected = f"Bearer {self._token}"
        given = request.headers.get("Authorization", "")
        if hmac.compare_digest(given.encode(), expected.encode()):
            return None
        return connection.respond(
            HTTPStatus.UNAUTHORIZED, "The relay's token is missing or wrong.\n"
        )

    async def _serve(self, connection: ServerConnection) -> None:
        process = _ProcessConnection(connection)
        sending = asyncio.create_task(process.send_queued())
        try:
            async for text in connection:
                await self._forward(process, text if isinstance(text, str) else text.decode())
        except (ProtocolError, UnicodeDecodeError) as error:
            self._log.warning("A step process sent what can't be passed on: %s", error)
            await connection.close(_UNREADABLE, "The message can't be decoded.")
        except (AgentStepperError, OSError, TimeoutError) as error:
            self._log.info("The Core can't be reached for the run of a step process: %s", error)
            await connection.close(_GOING_AWAY, "The worker has no connection to the Core.")
        except ConnectionClosed:
            pass  # this one or the Core's, which closes this one
        finally:
            sending.cancel()
            await self._leave(process)

    async def _forward(self, process: _ProcessConnection, text: str) -> None:
        """Pass a message of a process on."""
        envelope = decode_envelope(text)
        if envelope.type == "hello":
            await self._greet(process, envelope, text)
            return
        name = process.first_run if envelope.run is UNSET else envelope.run
        run = None if name is None else process.runs.get(name)
        if run is None:
            raise ProtocolError("hello_expected", "A step process sent a message before its hello.")
        run.last_number = max(run.last_number, envelope.n)
        run.has_said_bye = run.has_said_bye or envelope.type == "bye"
        await run.core.send(run.name, envelope, text)
        if envelope.type == "leave":
            process.runs.pop(run.name, None)
            run.core.remove_run(run.name, process)

    async def _greet(self, process: _ProcessConnection, envelope: Envelope, text: str) -> None:
        """Pass a hello on; the first opens the connection to the Core."""
        hello = _read_hello(envelope)
        if envelope.run is UNSET:
            process.first_run = hello.run
        async with self._opening:
            core = self._shared
            if core is None or core.is_closed:
                core = await self._connect()
                core.first_run = hello.run
            core.runs[hello.run] = process
            process.runs[hello.run] = _Run(hello.run, hello.pid, core, envelope.n)
            await core.send(hello.run, envelope, text)
            if not core.is_shared:
                async with asyncio.timeout(_HELLO_TIMEOUT_S):
                    await core.answered.wait()
            if core.is_shared:
                self._shared = core

    async def _connect(self) -> _CoreConnection:
        return _CoreConnection(await open_socket(await asyncio.to_thread(self._find_core)))

    async def _leave(self, process: _ProcessConnection) -> None:
        """A process' connection is gone: so are its runs from the Core's, which is told how it ended."""
        for run in process.runs.values():
            if run.core.runs.get(run.name) is not process:
                continue  # it has connected again
            code = None
            if not run.has_said_bye:
                code = await self._find_exit_code(run.pid, _EXIT_TIMEOUT_S)
                if run.core.runs.get(run.name) is not process:
                    continue  # it has connected again meanwhile
            with suppress(ConnectionClosed):
                if code is not None:
                    run.last_number += 1
                    await run.core.send_message(run, ProcessEnded(pid=run.pid, code=code))
                await run.core.send_message(run, LeaveConnection())
            run.core.remove_run(run.name, process)
            if not run.core.is_shared:
                await run.core.close()


class _Run:
    """A run of a process, on its way to the Core.

    Args:
        name: Its id.
        pid: Its process.
        core: What carries it.
        last_number: The number of its last message.
    """

    def __init__(self, name: str, pid: int, core: _CoreConnection, last_number: int) -> None:
        self.name = name
        self.pid = pid
        self.core = core
        self.last_number = last_number
        self.has_said_bye = False


class _ProcessConnection:
    """A connection of a process.

    Args:
        connection: The connection.
    """

    def __init__(self, connection: ServerConnection) -> None:
        self.connection = connection
        self.first_run: str | None = None  # whose messages don't name it
        self.runs: dict[str, _Run] = {}
        self._outgoing: asyncio.Queue[str] = asyncio.Queue()
        self._waiting_chars = 0

    def send(self, text: str) -> None:
        """Send a text in its turn, without waiting for a process that doesn't read."""
        self._waiting_chars += len(text)
        if self._waiting_chars > _MAX_WAITING_CHARS:
            self.connection.transport.abort()
            return
        self._outgoing.put_nowait(text)

    async def send_queued(self) -> None:
        """Send the queued messages until the task is cancelled."""
        with suppress(ConnectionClosed):
            while True:
                text = await self._outgoing.get()
                await self.connection.send(text)
                self._waiting_chars -= len(text)


class _CoreConnection:
    """A connection to the Core, and the processes whose runs it carries.

    Args:
        connection: The connection, open, without a hello.
    """

    def __init__(self, connection: ClientConnection) -> None:
        self.runs: dict[str, _ProcessConnection] = {}
        self.first_run = ""  # whose hello opened it, and whose messages the Core doesn't name
        self.is_shared = False
        self.is_closed = False
        self.answered = asyncio.Event()  # the first hello was answered, or never will be
        self._connection = connection
        self._reading = asyncio.create_task(self._read(), name="run relay")

    async def send(self, run: str, envelope: Envelope, text: str) -> None:
        """Send a message of a run; a long one in parts, between which others have their turn.

        Args:
            run: The run.
            envelope: The message's.
            text: The message.
        """
        if len(text) <= _MAX_PART_CHARS or not self.is_shared or envelope.type == "part":
            await self._connection.send(add_run(text, run) if envelope.run is UNSET else text)
            return
        for start in range(0, len(text), _MAX_PART_CHARS):
            end = start + _MAX_PART_CHARS
            part = MessagePart(text=text[start:end], last=end >= len(text))
            await self._connection.send(from_agent.encode(part, envelope.n, run=run))

    async def send_message(self, run: _Run, message: Struct) -> None:
        """Send a message of the relay's own for a run."""
        await self._connection.send(from_agent.encode(message, run.last_number, run=run.name))

    def remove_run(self, run: str, process: _ProcessConnection) -> None:
        """Remove a run that a process' connection has left, unless another connection has it by now."""
        if self.runs.get(run) is process:
            del self.runs[run]

    async def close(self) -> None:
        """Close it. Idempotent."""
        await self._connection.close()
        await asyncio.wait((self._reading,))

    async def _read(self) -> None:
        try:
            async for text in self._connection:
                self._receive(text if isinstance(text, str) else text.decode())
        except (ConnectionClosed, ProtocolError, UnicodeDecodeError):
            pass  # the processes come back by another connection
        finally:
            self.is_closed = True
            self.answered.set()
            why = "The worker lost its connection to the Core."
            processes = set(self.runs.values())
            await asyncio.gather(
                *(each.connection.close(_GOING_AWAY, why) for each in processes),
                self._connection.close(),
            )

    def _receive(self, text: str) -> None:
        """Give a message of the Core's to the process whose run it is for."""
        envelope = decode_envelope(text)
        run = self.first_run if envelope.run is UNSET else envelope.run
        if not self.answered.is_set():
            self.is_shared = _is_sharing_welcome(envelope)
            self.answered.set()
        process = self.runs.get(run)
        if process is not None:
            process.send(add_run(text, run) if envelope.run is UNSET else text)


def _read_hello(envelope: Envelope) -> _HelloFields:
    try:
        return typed_json.decode(envelope.body, _HelloFields)
    except msgspec.DecodeError as error:
        raise ProtocolError("invalid_message", f"hello: {error}.") from None


def _is_sharing_welcome(envelope: Envelope) -> bool:
    if envelope.type != "welcome":
        return False
    try:
        return typed_json.decode(envelope.body, Welcome).shares_connection is True
    except msgspec.DecodeError:
        return False
