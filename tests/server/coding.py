"""Coding sessions over HTTP: a client of the REST interface, and one that reads server-sent events."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from tornado.httpclient import HTTPClientError, HTTPResponse
from tornado.iostream import IOStream
from tornado.tcpclient import TCPClient


@dataclass(frozen=True)
class ServerSentEvent:
    """One event as SSE has it."""

    event: str
    data: Any
    id: str | None = None


class EventStreamReader:
    """Reads a stream's blocks: what lies between two empty lines."""

    def __init__(self, stream: IOStream) -> None:
        self.stream = stream
        self.comments: list[str] = []
        self.retry: str | None = None
        self.last: str | None = None
        self._rest = b""
        self._ended = False

    async def next(self) -> ServerSentEvent | None:
        """The next event; None at the end."""
        while True:
            block = await self._block()
            if block is None:
                return None
            fields = {}
            for line in block.decode().split("\n"):
                name, _, value = line.partition(": ")
                if name == "":
                    self.comments.append(value)
                fields[name] = value
            self.retry = fields.get("retry", self.retry)
            self.last = fields.get("id", self.last)
            if "event" in fields:
                return ServerSentEvent(
                    fields["event"], json.loads(fields["data"]), fields.get("id")
                )

    async def read_until(self, *kinds: str) -> list[ServerSentEvent]:
        """Events up to the first of these kinds."""
        seen: list[ServerSentEvent] = []
        while (event := await self.next()) is not None:
            seen.append(event)
            if event.event in kinds:
                return seen
        raise AssertionError(f"the stream ended after {seen}")

    async def _block(self) -> bytes | None:
        while b"\n\n" not in self._rest:
            if self._ended:
                return None
            # HTTP's chunks: a line with the length, and so many bytes.
            size = int(await self.stream.read_until(b"\r\n"), 16)
            self._rest += (await self.stream.read_bytes(size + 2))[:-2]
            self._ended = size == 0
        block, _, self._rest = self._rest.partition(b"\n\n")
        return block


class CodingApi:
    """Calls the endpoints of coding sessions.

    Args:
        fetch: Calls the server: path parts, and tornado's arguments.
        port: The server's.
        base_url: The server's.
        headers: A login.
    """

    def __init__(self, fetch: Any, port: int, base_url: str, headers: dict[str, str]) -> None:
        self._fetch = fetch
        self._port = port
        self._base_url = base_url
        self._headers = headers

    async def __call__(
        self,
        method: str,
        *path: str,
        headers: dict[str, str] | None = None,
        query: dict[str, str] | None = None,
        **body: Any,
    ) -> HTTPResponse:
        """Send a request; `headers` stand beside the login's."""
        sent: dict[str, Any] = {} if headers is None else {"headers": {**self._headers, **headers}}
        if query is not None:
            sent["params"] = query
        if method in ("POST", "PATCH"):
            sent["body"] = json.dumps(body)
        parts = ("agentstepper", "api", "coding", "sessions", *path)
        return await self._fetch(*parts, method=method, **sent)

    async def expect_refusal(self, method: str, *path: str, **body: Any) -> tuple[int, str]:
        """The status and code of a refusal."""
        try:
            response = await self(method, *path, **body)
        except HTTPClientError as error:
            assert error.response is not None
            answer = json.loads(error.response.body)
            assert answer.keys() - {"field"} == {"code", "message"}
            assert answer["message"]
            return error.code, answer["code"]
        raise AssertionError(f"{response.code}: it was not refused")

    @asynccontextmanager
    async def stream(
        self, session: str, last: str | None = None, **headers: str
    ) -> AsyncIterator[EventStreamReader]:
        """Read a session's events, which have to be there."""
        status, blocks = await self.open_stream(session, last)
        assert status == 200
        try:
            yield blocks
        finally:
            blocks.stream.close()

    async def open_stream(
        self, session: str, last: str | None = None
    ) -> tuple[int, EventStreamReader]:
        """Ask for a session's events: the status, and what follows."""
        stream = await TCPClient().connect("127.0.0.1", self._port)
        path = f"{self._base_url}agentstepper/api/coding/sessions/{session}/stream"
        headers = {"Host": f"127.0.0.1:{self._port}", **self._headers}
        if last is not None:
            headers["Last-Event-ID"] = last
        lines = [f"GET {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
        await stream.write("\r\n".join([*lines, "", ""]).encode())
        head = (await stream.read_until(b"\r\n\r\n")).decode().lower()
        status = int(head.split()[1])
        if status == 200:
            assert "content-type: text/event-stream\r\n" in head
            assert "transfer-encoding: chunked\r\n" in head
        else:
            stream.close()
        return status, EventStreamReader(stream)


async def run_loop_turns(count: int = 50) -> None:
    """Let what is under way in this loop happen."""
    for _ in range(count):
        await asyncio.sleep(0)


async def opened(api: CodingApi, how: dict[str, Any]) -> str:
    response = await api("POST", **how)
    assert response.code == 201
    return str(json.loads(response.body)["id"])
