"""A Core that does as a test says: a real WebSocket server, in a thread."""

from __future__ import annotations

import http
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import Queue
from typing import Any, Self, TypeVar

from msgspec import UNSET, Raw, Struct
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response
from websockets.sync.server import ServerConnection, serve
from websockets.typing import Subprotocol

from agentstepper_nb.protocol.agent import (
    AgentError,
    Answer,
    Answered,
    BreakpointReached,
    Bye,
    EventBegun,
    GetTimeline,
    Hello,
    Resume,
    Welcome,
    from_agent,
    to_agent,
)
from agentstepper_nb.protocol.frame import MAX_MESSAGE, SUBPROTOCOL
from agentstepper_nb.protocol.v1 import agent as v1

#: Seconds until a test that waits for something says that it didn't come.
PATIENCE = 60

M = TypeVar("M")

#: Gives the answer of a breakpoint, or None: the test answers it later.
Policy = Callable[["Peer", BreakpointReached], Answer | None]

#: Gives the answer of a request, or None: nobody answers it.
Requests = Callable[["Peer", GetTimeline], Struct | None]


def go_on(peer: Peer, point: BreakpointReached) -> Answer:
    """Step at once, everywhere."""
    return Resume()


def hold(peer: Peer, point: BreakpointReached) -> None:
    """Leave every breakpoint to the test."""


def edit(text: str) -> Resume:
    """Step with an edit."""
    return Resume(data=Raw(text.encode()))


class Script:
    """Answers one breakpoint after the other; steps on when it is used up."""

    def __init__(self, *answers: Answer) -> None:
        self._answers = list(answers)

    def __call__(self, peer: Peer, point: BreakpointReached) -> Answer:
        return self._answers.pop(0) if self._answers else Resume()


class Peer:
    """One agent, as its Core sees it."""

    def __init__(self, socket: ServerConnection) -> None:
        self.socket = socket
        self.version = 2 if socket.subprotocol == SUBPROTOCOL else 1
        self.hello: Hello | None = None
        self.sent: list[Any] = []  # all it sent, but hello
        self.gone = threading.Event()
        self._inbox: Queue[Any] = Queue()
        self._n = 0

    def answer(self, breakpoint: str, answer: Answer | None = None) -> None:
        """Answer a breakpoint that waits."""
        self.say(Answered(breakpoint=breakpoint, answer=answer or Resume()))

    def say(self, message: Struct, id: str | None = None) -> None:
        self._n += 1
        self.socket.send(to_agent.encode(message, self._n, id))

    def next(self, kind: type[M] | tuple[type[M], ...]) -> M:
        """The next message of a kind; what comes before it is passed over."""
        while True:
            message = self._inbox.get(timeout=PATIENCE)
            if message is None:
                raise AssertionError(f"The agent went before it sent {kind}; it sent {self.sent}")
            if isinstance(message, kind):
                return message

    def ends(self) -> Bye | None:
        """Wait until the agent is gone; how it said that it ended."""
        assert self.gone.wait(PATIENCE)
        byes = [message for message in self.sent if isinstance(message, Bye)]
        return byes[0] if byes else None

    def drop(self) -> None:
        """Break the connection without a word."""
        with suppress(OSError):
            self.socket.socket.shutdown(socket.SHUT_RDWR)

    def put(self, message: Any) -> None:
        if message is not None:
            self.sent.append(message)
        self._inbox.put(message)

    @property
    def points(self) -> list[BreakpointReached]:
        return [message for message in self.sent if isinstance(message, BreakpointReached)]

    @property
    def events(self) -> list[EventBegun]:
        return [message for message in self.sent if isinstance(message, EventBegun)]


class ScriptedCore:
    """Listens on a free loopback port.

    Args:
        policy: Answers the breakpoints.
        version: What it speaks.
        token: What it asks agents for.
        welcome: Its answer to hello, where that isn't the usual one.
        max_size: The largest message it takes.
    """

    def __init__(
        self,
        policy: Policy = go_on,
        version: int = 2,
        token: str | None = None,
        welcome: Welcome | AgentError | None = None,
        max_size: int = MAX_MESSAGE,
    ) -> None:
        self.policy: Policy = policy
        self.requests: Requests = lambda peer, message: None
        self._version = version
        self._token = token
        self._welcome = welcome
        self.peers: list[Peer] = []
        self._arrivals: Queue[Peer] = Queue()
        self._server = serve(
            self._serve,
            "127.0.0.1",
            0,
            select_subprotocol=self._select,
            process_request=self._check,
            compression=None,
            max_size=max_size,
        )
        self.port = self._server.socket.getsockname()[1]
        self.url = f"ws://127.0.0.1:{self.port}"
        self._thread = threading.Thread(target=self._server.serve_forever)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        for peer in self.peers:
            peer.drop()
        for peer in self.peers:
            peer.gone.wait(PATIENCE)
        self._thread.join()

    def peer(self) -> Peer:
        """The next agent that connects."""
        return self._arrivals.get(timeout=PATIENCE)

    def _select(self, socket: ServerConnection, offered: Any) -> Subprotocol | None:
        if self._version == 2 and SUBPROTOCOL in offered:
            return Subprotocol(SUBPROTOCOL)
        return None

    def _check(self, socket: ServerConnection, request: Request) -> Response | None:
        sent = request.headers.get("Authorization")
        if self._token is not None and sent != f"Bearer {self._token}":
            return socket.respond(http.HTTPStatus.UNAUTHORIZED, "no token, no entry\n")
        return None

    def _serve(self, socket: ServerConnection) -> None:
        peer = Peer(socket)
        self.peers.append(peer)
        try:
            if peer.version == 2:
                self._greet(peer)
            self._arrivals.put(peer)
            for text in socket:
                assert isinstance(text, str), "the SDK sends text frames"
                self._take(peer, text)
        except (ConnectionClosed, OSError):
            pass
        finally:
            peer.gone.set()
            peer.put(None)

    def _greet(self, peer: Peer) -> None:
        envelope, hello = from_agent.decode(peer.socket.recv())
        assert isinstance(hello, Hello)
        assert envelope.n == 1
        peer.hello = hello
        peer.say(self._welcome or Welcome(version=2, core="scripted", run=hello.run))

    def _take(self, peer: Peer, text: str) -> None:
        if peer.version == 1:
            message: Any = v1.decode(text)
            peer.put(message)
            if isinstance(message, v1.V1Breakpoint):
                self._answer_v1(peer, message)
            return
        envelope, message = from_agent.decode(text)
        assert envelope.n == 2 + len(peer.sent), "messages are numbered without a gap"
        peer.put(message)
        if isinstance(message, BreakpointReached) and message.waits:
            answer = self.policy(peer, message)
            if answer is not None:
                peer.answer(message.id, answer)
        if isinstance(message, GetTimeline):
            found = self.requests(peer, message)
            if found is not None:
                peer.say(found, None if envelope.id is UNSET else envelope.id)

    def _answer_v1(self, peer: Peer, point: v1.V1Breakpoint) -> None:
        answer = self.policy(peer, point)
        if answer is None:
            return
        assert isinstance(answer, Resume), "version 1 has no other answer"
        data = v1.NULL if answer.data is UNSET else answer.data
        peer.socket.send(
            v1.encode(
                v1.V1Breakpoint(
                    uuid=point.uuid,
                    agent=point.agent,
                    event_id=point.event_id,
                    time=point.time,
                    original_data=point.original_data,
                    modified_data=data,
                    summary=point.summary,
                )
            )
        )
