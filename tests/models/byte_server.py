"""An HTTP server on this machine that sends the bytes it is told to, in the pieces it is told to."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Self


class AnswerEnding(Enum):
    """What follows the pieces of an answer."""

    END = "its end; the connection stays"
    HOLD = "nothing, until the client goes"
    BREAK = "the connection breaks without an end"


@dataclass(frozen=True)
class BytesAnswer:
    pieces: Sequence[bytes] = ()
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    content_type: str = "text/event-stream; charset=utf-8"
    after: AnswerEnding = AnswerEnding.END
    silent: bool = False
    """Not even the headers are sent before what comes after."""


@dataclass(frozen=True)
class ReceivedRequest:
    path: str
    headers: Mapping[str, str]
    body: Any


class PieceServer:
    """Answers each request with the next answer, and with the last one from then on."""

    def __init__(self, *answers: BytesAnswer) -> None:
        self.questions: list[ReceivedRequest] = []
        self.connections = 0
        self.asked = asyncio.Event()
        self.left = asyncio.Event()
        """A client has gone while its answer was held."""
        self._answers = [*answers]
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        await self._stack.enter_async_context(self._server)
        return self

    async def __aexit__(self, *exception: object) -> None:
        self._server.close()
        await self._stack.aclose()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while await self._answer(reader, writer):
                pass
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the client has gone
        finally:
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answer one request; tells whether another may follow."""
        self.questions.append(await _read(reader))
        self.asked.set()
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if not answer.silent:
            await _send(answer, writer)
        if answer.after is AnswerEnding.HOLD:
            assert await reader.read() == b""
            self.left.set()
        elif answer.after is AnswerEnding.END:
            writer.write(b"0\r\n\r\n")
            await writer.drain()
        return answer.after is AnswerEnding.END


async def _read(reader: asyncio.StreamReader) -> ReceivedRequest:
    first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
    headers = {
        name.lower(): value for name, _, value in (line.partition(": ") for line in lines) if name
    }
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return ReceivedRequest(first.split(" ")[1], headers, json.loads(body))


async def _send(answer: BytesAnswer, writer: asyncio.StreamWriter) -> None:
    headers = {"content-type": answer.content_type, "transfer-encoding": "chunked"}
    told = "".join(f"{name}: {value}\r\n" for name, value in (headers | {**answer.headers}).items())
    writer.write(f"HTTP/1.1 {answer.status} So\r\n{told}\r\n".encode())
    for piece in filter(None, answer.pieces):  # an empty chunk would be the end
        writer.write(b"%x\r\n%b\r\n" % (len(piece), piece))
        await writer.drain()
