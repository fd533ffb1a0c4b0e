"""A proxy between a program of any language and the APIs of models, where each LLM query halts.

The proxy forwards each request by an httpx client, at which `http_seam` halts the query as that of any
agent. This module has the rest: the addresses, which requests are accepted, and the heartbeats that
keep a client waiting while a person looks.

An address holds a token that can't be guessed, requests of web pages are refused, and nothing is sent
anywhere but to the services that were named at the start, with the program's own key.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Final

import msgspec
from tornado.httpserver import HTTPServer
from tornado.httputil import HTTPServerRequest
from tornado.netutil import bind_sockets
from tornado.web import Application, RequestHandler

from ..errors import AgentStopped
from ..llm_wire.sse import encode_event
from ..sdk import set_current_stepper
from ..sdk.base_stepper import BaseStepper
from .current_run import expect_remote_agent
from .retries import end_failed_attempts
from .seams import set_proxy

_HOST: Final = "127.0.0.1"
#: Bytes of a request's body.
_MAX_BODY_BYTES: Final = 64 * 1024 * 1024
#: Headers of one connection, which a proxy doesn't pass on (RFC 9110, 7.6.1), and those it makes itself.
_OWN_HEADERS: Final = frozenset(
    {
        "connection",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "host",
        "content-length",
        "accept-encoding",
    }
)
#: Headers that tornado sets, in whose place the service's own stand.
_TORNADO_HEADERS: Final = ("Server", "Content-Type", "Date")
#: Seconds to connect to a service. An answer may take as long as it takes.
_CONNECT_TIMEOUT_S: Final = 30.0
#: Clients that read interim responses, so that the final status is still the service's own.
_INTERIM_CLIENTS: Final = ("python", "curl", "aiohttp")
_INTERIM: Final = b"HTTP/1.1 102 Processing\r\n\r\n"


@dataclass(frozen=True)
class HeartbeatTimes:
    """The times of heartbeats while the proxy sends no data.

    Args:
        first_s: Seconds after the request; clients wait 600 by default.
        next_s: Seconds between the others.
    """

    first_s: float = 30.0
    next_s: float = 15.0


@dataclass
class ModelProxy:
    """Serves one program on this machine, until it is closed.

    Args:
        stepper: The stepper of the run that the program's queries belong to.
        services: The services that the program may ask: each name with its base URL.
        heartbeat: The times of heartbeats.
    """

    stepper: BaseStepper
    services: Mapping[str, str]
    heartbeat: HeartbeatTimes = field(default_factory=HeartbeatTimes)
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    port: int = 0

    @asynccontextmanager
    async def serve(self) -> AsyncIterator[None]:
        """Listen on a free port of this machine."""
        client = _make_client()
        handler = (r"/(?P<token>[^/]+)/(?P<service>[^/]+)/(?P<path>.*)", _ProxyHandler)
        application = Application(
            [(*handler, {"proxy": self, "client": client})], log_function=_no_log
        )
        server = HTTPServer(application, max_body_size=_MAX_BODY_BYTES)
        sockets = bind_sockets(0, _HOST)
        self.port = sockets[0].getsockname()[1]
        server.add_sockets(sockets)
        set_proxy(f"on port {self.port} of this machine, for {', '.join(self.services)}")
        try:
            yield
        finally:
            set_proxy("")
            server.stop()
            await server.close_all_connections()
            await client.aclose()
            await end_failed_attempts(self.stepper)

    def make_url(self, service: str) -> str:
        """The base URL at which the program reaches a service."""
        return f"http://{_HOST}:{self.port}/{self.token}/{service}"


def _make_client() -> Any:
    """A client of httpx2 where it is installed, else of httpx: one comes with openai."""
    try:
        library = import_module("httpx2")
    except ImportError:
        library = import_module("httpx")
    timeout = library.Timeout(None, connect=_CONNECT_TIMEOUT_S)
    return library.AsyncClient(timeout=timeout, follow_redirects=False)


class _ProxyHandler(RequestHandler):
    """Handles one request of the program."""

    proxy: ModelProxy
    client: Any

    def initialize(self, proxy: ModelProxy, client: Any) -> None:
        self.proxy = proxy
        self.client = client

    async def prepare(self) -> None:
        """Answer every method in one way; tornado calls this before the method's own function."""
        refusal = _find_refusal(self.request, self.proxy, self.path_kwargs)
        if refusal is not None:
            self._answer(*refusal)
            return
        base = self.proxy.services[self.path_kwargs["service"]].rstrip("/")
        query = f"?{self.request.query}" if self.request.query else ""
        url = f"{base}/{self.path_kwargs['path']}{query}"
        beats = asyncio.create_task(self._send_heartbeats())
        try:
            with set_current_stepper(self.proxy.stepper), expect_remote_agent():
                await self._forward(url, beats)
        except AgentStopped as stopped:
            self._answer(403, "stopped", str(stopped))
        except Exception as error:
            self._answer(
                502, "unreachable", f"The model's service at {base} can't be asked: {error!r}"
            )
        finally:
            beats.cancel()

    async def _forward(self, url: str, beats: asyncio.Task[None]) -> None:
        """Send the request on, and its response back as it comes."""
        headers = [
            (name, value)
            for name, value in self.request.headers.get_all()
            if name.lower() not in _OWN_HEADERS
        ]
        # Compressed, a stream could be neither watched nor edited as it passes.
        headers.append(("accept-encoding", "identity"))
        request = self.client.build_request(
            self.request.method, url, headers=headers, content=self.request.body or None
        )
        response = await self.client.send(request, stream=True)
        try:
            chunks = response.aiter_raw()
            first = await anext(chunks, b"")
            beats.cancel()
            if self._has_begun_stream() and response.status_code >= 400:
                self._write_error(b"".join([first, *[chunk async for chunk in chunks]]))
            else:
                self._begin(response)
                await self._write(first)
                async for chunk in chunks:
                    await self._write(chunk)
        finally:
            await response.aclose()
        self.finish()

    def _begin(self, response: Any) -> None:
        """The response's status and headers, unless heartbeats have sent some already."""
        if self._headers_written:
            return
        self.set_status(response.status_code)
        for name in _TORNADO_HEADERS:
            self.clear_header(name)
        for name, value in response.headers.multi_items():
            if name.lower() not in _OWN_HEADERS:
                self.add_header(name, value)

    async def _write(self, chunk: bytes) -> None:
        if chunk:
            self.write(chunk)
            await self.flush()

    async def _send_heartbeats(self) -> None:
        """Keep the program's client waiting: its timer would count the person's time."""
        await asyncio.sleep(self.proxy.heartbeat.first_s)
        is_stream = b'"stream":true' in self.request.body.replace(b" ", b"")
        while True:
            with suppress(Exception):  # the program has gone; the request says so itself
                if _takes_interim(self.request):
                    await self.request.connection.stream.write(_INTERIM)  # type: ignore[union-attr]
                else:
                    if not self._headers_written:
                        kind = "text/event-stream" if is_stream else "application/json"
                        self.set_header("content-type", kind)
                    self.write(b": the debugger is halted\n\n" if is_stream else b" ")
                    await self.flush()
            await asyncio.sleep(self.proxy.heartbeat.next_s)

    def _answer(self, status: int, code: str, message: str) -> None:
        error = {"message": message, "type": f"agentstepper_{code}", "code": code}
        if not self._headers_written:
            self.set_status(status)
            self.set_header("content-type", "application/json")
            self.set_header("x-should-retry", "false")
        body = msgspec.json.encode({"type": "error", "error": error})
        if self._has_begun_stream():
            self._write_error(body)
        else:
            self.write(body)
        self.finish()

    def _has_begun_stream(self) -> bool:
        """Whether the program reads events by now, from heartbeats or from the service."""
        kind = self._headers.get("content-type", "")
        return self._headers_written and kind.startswith("text/event-stream")

    def _write_error(self, body: bytes) -> None:
        """Write an error as an event. A client passes over what is none, as if the answer were whole."""
        self.write(b"\n\n")  # the service may have ended within a line
        self.write(encode_event(body, "error"))


def _find_refusal(
    request: HTTPServerRequest, proxy: ModelProxy, path: Mapping[str, Any]
) -> tuple[int, str, str] | None:
    """The reason why a request is refused: status, code and message; None: it isn't refused."""
    if request.headers.get("Origin") is not None:
        return 403, "origin", "Web pages may not ask models through this proxy."
    if request.host != f"{_HOST}:{proxy.port}":
        return 403, "host", f"Ask this proxy by its own address, http://{_HOST}:{proxy.port}."
    if not secrets.compare_digest(str(path["token"]).encode(), proxy.token.encode()):
        return (
            404,
            "token",
            "No program has this address. Use the one that `agentstepper proxy` gave.",
        )
    if path["service"] not in proxy.services:
        known = ", ".join(proxy.services)
        return 404, "service", f"This proxy forwards to {known} only."
    return None


def _takes_interim(request: HTTPServerRequest) -> bool:
    """Whether the client reads interim responses: its final status is then the service's own."""
    language = request.headers.get("x-stainless-lang", "")
    agent = request.headers.get("user-agent", "").lower()
    return language == "python" or (not language and agent.startswith(_INTERIM_CLIENTS))


def _no_log(handler: RequestHandler) -> None:
    """Log no request: its address holds a token."""
