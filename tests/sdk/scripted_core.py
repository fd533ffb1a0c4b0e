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
    AnswerMessage,
    Bye,
    EventBegun,
    GetTimeline,
    HaltPointReached,
    Hello,
    LeaseMessage,
    MessagesAcknowledged,
    Welcome,
    from_agent,
    to_agent,
)
from agentstepper_nb.protocol.answers import Answer, ResumeAnswer
from agentstepper_nb.protocol.delta_decoding import decode_contents
from agentstepper_nb.protocol.delta_encoding import DeltaDecoder
from agentstepper_nb.protocol.envelope import MAX_MESSAGE_BYTES, SUBPROTOCOL
from agentstepper_nb.protocol.v1 import agent as v1
from tests.helpers.ports import find_ports

#: Seconds until a test that waits for something says that it didn't come.
TIMEOUT_S = 60

#: The answer at the program's start, and at any other halt point.
START = STEP = ResumeAnswer()

M = TypeVar("M")

#: Gives the answer of a halt point, or None: the test answers it later.
Policy = Callable[["AgentPeer", HaltPointReached], Answer | None]

#: Gives the answer of a request, or None: nobody answers it.
Requests = Callable[["AgentPeer", GetTimeline], Struct | None]


def answer_all(peer: AgentPeer, point: HaltPointReached) -> Answer:
    """Step at once, everywhere."""
    return ResumeAnswer()


def answer_none(peer: AgentPeer, point: HaltPointReached) -> None:
    """Leave every halt point to the test."""


def answer_start(peer: AgentPeer, point: HaltPointReached) -> ResumeAnswer | None:
    """Step at once at the program's start; leave the others to the test."""
    return answer_all(peer, point) if point.summary else None


def make_edit_answer(text: str) -> ResumeAnswer:
    """Step with an edit."""
    return ResumeAnswer(data=Raw(text.encode()))


class ScriptedAnswers:
    """Answers one halt point after the other; steps on when it is used up."""

    def __init__(self, *answers: Answer) -> None:
        self._answers = list(answers)

    def __call__(self, peer: AgentPeer, point: HaltPointReached) -> Answer:
        return self._answers.pop(0) if self._answers else ResumeAnswer()


class AgentPeer:
    """One agent, as its Core sees it."""

    def __init__(self, socket: ServerConnection) -> None:
        self.socket = socket
        self.version = 2 if socket.subprotocol == SUBPROTOCOL else 1
        self.hello: Hello | None = None
        self.received: list[Any] = []  # all it sent, but hello
        self.gone = threading.Event()
        self._inbox: Queue[Any] = Queue()
        self._n = 0
        self.decoder = DeltaDecoder()

    def answer(self, halt_point: str, answer: Answer | None = None) -> None:
        """Answer a halt point that waits."""
        self.send(AnswerMessage(halt_point=halt_point, answer=answer or ResumeAnswer()))

    def send(self, message: Struct, id: str | None = None) -> None:
        self._n += 1
        self.socket.send(to_agent.encode(message, self._n, id))

    def receive(self, kind: type[M] | tuple[type[M], ...]) -> M:
        """The next message of a kind; what comes before it is passed over."""
        while True:
            message = self._inbox.get(timeout=TIMEOUT_S)
            if message is None:
                raise AssertionError(
                    f"The agent went before it sent {kind}; it sent {self.received}"
                )
            if isinstance(message, kind):
                return message

    def wait_until_gone(self) -> Bye | None:
        """Wait until the agent is gone; how it said that it ended."""
        assert self.gone.wait(TIMEOUT_S)
        byes = [message for message in self.received if isinstance(message, Bye)]
        return byes[0] if byes else None

    def break_connection(self) -> None:
        """Break the connection without a word."""
        with suppress(OSError):
            self.socket.socket.shutdown(socket.SHUT_RDWR)

    def record(self, message: Any) -> None:
        if message is not None:
            self.received.append(message)
        self._inbox.put(message)

    @property
    def halt_points(self) -> list[HaltPointReached]:
        return [message for message in self.received if isinstance(message, HaltPointReached)]

    @property
    def events(self) -> list[EventBegun]:
        return [message for message in self.received if isinstance(message, EventBegun)]


class ScriptedCore:
    """Listens on a free loopback port, and keeps of each run how far it was heard.

    It acknowledges each message at once unless a test lets it not (`acknowledges`), and lets runs go on
    that it knows. `stop` and `start` are a Core that dies and comes back; `forget` one that lost all.

    Args:
        policy: Answers the halt points.
        version: What it speaks.
        token: What it asks agents for.
        welcome: Its answer to hello, where that isn't the usual one.
        max_size: The largest message it takes.
    """

    def __init__(
        self,
        policy: Policy = answer_all,
        version: int = 2,
        token: str | None = None,
        welcome: Welcome | AgentError | None = None,
        max_size: int = MAX_MESSAGE_BYTES,
    ) -> None:
        self.policy: Policy = policy
        self.requests: Requests = lambda peer, message: None
        self.acknowledges = True
        self.lease: LeaseMessage | None = None  # pushed after each welcome
        self.welcome = welcome
        self.received_counts: dict[
            str, int
        ] = {}  # by run, the number of the last message that it keeps
        self.received: dict[str, list[Any]] = {}  # by run, what the agent sent, but hello
        self.answers: dict[str, Answer] = {}  # by halt point, told again to an agent that missed it
        self.faults: list[AssertionError] = []
        self.version = version
        self._token = token
        self._max_size = max_size
        self.peers: list[AgentPeer] = []
        self._arrivals: Queue[AgentPeer] = Queue()
        self._bind(*find_ports(1))  # where it comes back

    def _bind(self, port: int) -> None:
        self._server = serve(
            self._serve,
            "127.0.0.1",
            port,
            select_subprotocol=self._select,
            process_request=self._check,
            compression=None,
            max_size=self._max_size,
        )
        self.port = self._server.socket.getsockname()[1]
        self.url = f"ws://127.0.0.1:{self.port}"
        self._thread = threading.Thread(target=self._server.serve_forever)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()
        assert self.faults == []

    def stop(self) -> None:
        """Go away: nobody listens any more, and every connection is gone."""
        self._server.shutdown()
        for peer in self.peers:
            peer.break_connection()
        for peer in self.peers:
            peer.gone.wait(TIMEOUT_S)
        self._thread.join()

    def start(self, port: int | None = None) -> None:
        """Come back, on the same port where no other is given."""
        self._bind(self.port if port is None else port)
        self._thread.start()

    def forget_runs(self) -> None:
        """Lose all runs."""
        self.received_counts.clear()
        self.received.clear()

    def wait_for_peer(self) -> AgentPeer:
        """The next agent that connects."""
        return self._arrivals.get(timeout=TIMEOUT_S)

    def _select(self, socket: ServerConnection, offered: Any) -> Subprotocol | None:
        if self.version == 2 and SUBPROTOCOL in offered:
            return Subprotocol(SUBPROTOCOL)
        return None

    def _check(self, socket: ServerConnection, request: Request) -> Response | None:
        sent = request.headers.get("Authorization")
        if self._token is not None and sent != f"Bearer {self._token}":
            return socket.respond(http.HTTPStatus.UNAUTHORIZED, "no token, no entry\n")
        return None

    def _serve(self, socket: ServerConnection) -> None:
        peer = AgentPeer(socket)
        self.peers.append(peer)
        try:
            if peer.version == 2:
                self._open_session(peer)
            self._arrivals.put(peer)
            for text in socket:
                assert isinstance(text, str), "the SDK sends text frames"
                self._receive(peer, text)
        except (ConnectionClosed, OSError):
            pass
        except AssertionError as error:
            self.faults.append(error)
            raise
        finally:
            peer.gone.set()
            peer.record(None)

    def _open_session(self, peer: AgentPeer) -> None:
        envelope, hello = from_agent.decode(peer.socket.recv())
        assert isinstance(hello, Hello)
        assert envelope.n == 1
        peer.hello = hello
        peer.send(self._answer_hello(hello))
        if self.lease is not None:
            peer.send(self.lease)
        for halt_point in hello.waiting:
            if halt_point in self.answers:
                peer.answer(halt_point, self.answers[halt_point])

    def _answer_hello(self, hello: Hello) -> Welcome | AgentError:
        if isinstance(self.welcome, AgentError):
            return self.welcome
        if hello.sent == 0:
            assert hello.run not in self.received_counts, "a run begins once"
            self.received_counts[hello.run], self.received[hello.run] = 1, []
        elif hello.run not in self.received_counts:
            return AgentError(code="unknown_run", message="This Core doesn't know the run.")
        heard = self.received_counts[hello.run]
        usual = Welcome(version=2, core="scripted", run=hello.run, received=heard)
        return self.welcome or usual

    def _receive(self, peer: AgentPeer, text: str) -> None:
        if peer.version == 1:
            message: Any = v1.decode_message(text)
            peer.record(message)
            if isinstance(message, v1.V1Breakpoint):
                self._answer_v1(peer, message)
            return
        envelope, message = from_agent.decode(text)
        message = decode_contents(message, peer.decoder)
        self._record(peer, envelope.n, message)
        if isinstance(message, HaltPointReached) and message.waits:
            answer = self.policy(peer, message)
            if answer is not None:
                peer.answer(message.id, answer)
        if isinstance(message, GetTimeline):
            found = self.requests(peer, message)
            if found is not None:
                peer.send(found, None if envelope.id is UNSET else envelope.id)

    def _record(self, peer: AgentPeer, number: int, message: Any) -> None:
        assert peer.hello is not None
        run = peer.hello.run
        assert number == self.received_counts[run] + 1, "each message comes once, and in order"
        self.received_counts[run] = number
        self.received[run].append(message)
        peer.record(message)
        if self.acknowledges:
            peer.send(MessagesAcknowledged(received=number))

    def _answer_v1(self, peer: AgentPeer, point: v1.V1Breakpoint) -> None:
        answer = self.policy(peer, point)
        if answer is None:
            return
        assert isinstance(answer, ResumeAnswer), "version 1 has no other answer"
        data = v1.JSON_NULL if answer.data is UNSET else answer.data
        peer.socket.send(
            v1.encode_message(
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


def waiting(peer: AgentPeer) -> HaltPointReached:
    """The next halt point that waits, after the start."""
    while True:
        point = peer.receive(HaltPointReached)
        if point.waits and not point.summary:
            return point
