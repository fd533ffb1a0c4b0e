"""The runs of one process and their Core in memory, whatever happens to the connection between them."""

from __future__ import annotations

from collections import deque

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from msgspec import UNSET, Raw
from websockets.exceptions import ConnectionClosedError

from agentstepper_nb.discover import CoreEndpoint
from agentstepper_nb.protocol.agent import (
    EventBegun,
    Hello,
    LeaveConnection,
    MessagePart,
    MessagesAcknowledged,
    RunDisconnected,
    Welcome,
    from_agent,
    to_agent,
)
from agentstepper_nb.protocol.data_model import EventKind
from agentstepper_nb.protocol.envelope import add_run
from agentstepper_nb.sdk.agent_protocol import MAX_PART_CHARS, AgentProtocol
from agentstepper_nb.sdk.connection_state import RunConnectionState
from agentstepper_nb.sdk.run_protocol import RunProtocol
from agentstepper_nb.sdk.send_queue import MessageBatch, PendingFutures
from tests.sdk.run_protocols import RecordingListener, make_run_protocol

NAMES = ("a", "b", "c")
LONG = Raw(b'"' + b"x" * (2 * MAX_PART_CHARS + 1) + b'"')  # goes in three parts


class MemoryCore:
    """A Core without I/O: it keeps each run's messages, in the order of their numbers, once."""

    def __init__(self) -> None:
        self.recorded: dict[str, list[EventBegun]] = {name: [] for name in NAMES}
        self.received = dict.fromkeys(NAMES, 0)
        self.answers: deque[str] = deque()
        self._connect()

    def _connect(self) -> None:
        self._first: str | None = None
        self._sent_texts: dict[str, int] = {}  # the last number of each run on this connection
        self._parts: dict[str, list[str]] = {}

    def lose(self) -> None:
        """The connection is gone, with what was on its way."""
        self.answers.clear()
        self._connect()

    def welcome(self, hello: Hello) -> Welcome:
        """Take a run, or go on with it."""
        self._first = self._first or hello.run
        kept = self.received[hello.run]
        assert hello.acknowledged <= kept
        self.received[hello.run] = max(1, kept)
        self._sent_texts[hello.run] = max(1, kept)
        return Welcome(
            version=2, core="", run=hello.run, received=max(1, kept), shares_connection=True
        )

    def receive(self, text: bytes | str) -> None:
        """Take a text that came on the connection."""
        whole = text.decode() if isinstance(text, bytes) else text
        envelope, message = from_agent.decode(whole)
        name = (self._first or "") if envelope.run is UNSET else envelope.run
        if name not in self._sent_texts and not isinstance(message, Hello):
            return  # the run was closed meanwhile
        match message:
            case Hello():
                assert message.run == name
                self._answer(name, self.welcome(message))
            case LeaveConnection():
                del self._sent_texts[name]
            case MessagePart(text=part, last=last):
                parts = self._parts.setdefault(name, [])
                parts.append(part)
                if last:
                    del self._parts[name]
                    self.receive(add_run("".join(parts), name))
            case EventBegun():
                assert name not in self._parts, "a message came between the parts of another"
                assert envelope.n == self._sent_texts[name] + 1, (
                    "a message is missing, or came twice"
                )
                self._sent_texts[name] = self.received[name] = envelope.n
                self.recorded[name].append(message)
            case _:
                raise AssertionError(message)

    def acknowledge(self, name: str) -> None:
        """Say what is kept of a run, if the connection carries it."""
        if name in self._sent_texts:
            self._answer(name, MessagesAcknowledged(received=self.received[name]))

    def close_run(self, name: str) -> None:
        """End the connection for one run, if it carries the run."""
        if name in self._sent_texts and name != self._first:
            del self._sent_texts[name]
            self._parts.pop(name, None)
            self._answer(name, RunDisconnected(code=1011, reason="for a test"))

    def _answer(self, name: str, message: Welcome | MessagesAcknowledged | RunDisconnected) -> None:
        run = None if name == self._first else name
        self.answers.append(to_agent.encode(message, 1, run=run))


class SharedConnection(RuleBasedStateMachine):
    """Runs that speak in turn, over a connection that breaks wherever it can."""

    def __init__(self) -> None:
        super().__init__()
        self.core = MemoryCore()
        self.protocol = AgentProtocol(CoreEndpoint("ws://core"), lambda: None)
        self.sent: dict[str, list[str]] = {name: [] for name in NAMES}
        self.way: deque[bytes] = deque()  # what was written and hasn't arrived
        self.now = 0.0
        self.told = {name: RecordingListener() for name in NAMES}
        self.runs: dict[str, RunProtocol] = {
            name: make_run_protocol(PendingFutures(), name, self.told[name]) for name in NAMES
        }
        for each in self.runs.values():
            self.protocol.add(each)
        self._connect(self.runs["a"])

    def _connect(self, run: RunProtocol) -> None:
        welcome = self.core.welcome(run.make_hello())
        self.protocol.connection_opened(run, welcome, self.now)
        self._do()

    def _do(self) -> None:
        for effect in self.protocol.drain():
            effect()

    @rule(name=st.sampled_from(NAMES), is_long=st.booleans())
    def send_debug_message(self, name: str, is_long: bool) -> None:
        id = f"{name} {len(self.sent[name])}"
        self.sent[name].append(id)
        data = LONG if is_long else Raw(b"null")
        event = EventBegun(id=id, kind=EventKind.DEBUG_MESSAGE, at=0.0, clock=0.0, data=data)
        self.protocol.accept_items(self.runs[name], [MessageBatch((event,), 0)], self.now)

    @precondition(lambda self: self.protocol.is_connected)
    @rule(most=st.integers(1, 6))
    def write(self, most: int) -> None:
        for _ in range(most):
            text = self.protocol.data_to_send(self.now)
            if text is None:
                break
            self.way.append(text)
        self._do()

    @rule(most=st.integers(1, 6))
    def arrive(self, most: int) -> None:
        for _ in range(min(most, len(self.way))):
            self.core.receive(self.way.popleft())

    @rule(name=st.sampled_from(NAMES))
    def acknowledge(self, name: str) -> None:
        self.core.acknowledge(name)

    @rule(most=st.integers(1, 6))
    def read(self, most: int) -> None:
        for _ in range(min(most, len(self.core.answers))):
            self.protocol.receive_data(self.core.answers.popleft(), self.now)
        self._do()

    @precondition(lambda self: self.protocol.is_connected)
    @rule(name=st.sampled_from(NAMES))
    def close_one(self, name: str) -> None:
        """The Core ends the connection for one run; what that run has on its way is lost."""
        self.core.close_run(name)

    @precondition(lambda self: self.protocol.is_connected)
    @rule(arrived=st.integers(0, 3))
    def lose(self, arrived: int) -> None:
        self.arrive(arrived)
        self.way.clear()
        self.core.lose()
        self.protocol.connection_lost(ConnectionClosedError(None, None), self.now)
        self._do()

    @precondition(lambda self: not self.protocol.is_connected)
    @rule(which=st.integers(0, 2))
    def come_back(self, which: int) -> None:
        self._find_back(which)

    def _find_back(self, which: int = 0) -> None:
        """Find the connection back by one of the runs; runs that never opened are added anew."""
        for name, run in self.runs.items():
            if run.id not in self.protocol.runs:
                assert self.told[name].moves, "a run is gone, and nobody was told"
                self.protocol.add(run)
        away = [
            each for each in self.runs.values() if each.state is RunConnectionState.DISCONNECTED
        ]
        run = away[which % len(away)] if away else self.runs["a"]
        self._connect(run)

    @rule()
    def wait(self) -> None:
        self.now += 60.0

    @invariant()
    def nothing_is_doubled_or_out_of_order(self) -> None:
        for name in NAMES:
            kept = [event.id for event in self.core.recorded[name]]
            assert kept == self.sent[name][: len(kept)]

    def teardown(self) -> None:
        """Once the connection holds, all arrives."""
        if not self.protocol.is_connected:
            self._find_back()
        for _ in range(20):
            self.now += 60.0
            self.write(1000)
            self.arrive(1000)
            for name in NAMES:
                self.acknowledge(name)
            self.read(1000)
            for each in self.protocol.runs.values():
                self.protocol.accept_items(each, [], self.now)
        for name, each in self.runs.items():
            assert [event.id for event in self.core.recorded[name]] == self.sent[name]
            assert each.undelivered_count == 0


TestSharedConnection = SharedConnection.TestCase
TestSharedConnection.settings = settings(stateful_step_count=50)


def test_a_run_that_moves_takes_no_effects_of_others_along() -> None:
    waiting, endpoint = PendingFutures(), CoreEndpoint("ws://127.0.0.1:1")
    stays, moves = RecordingListener(), RecordingListener()
    first = make_run_protocol(waiting, "a", stays)
    second = make_run_protocol(waiting, "b", moves)
    old, new = (AgentProtocol(endpoint, lambda: None) for _ in range(2))
    old.add(first)
    old.add(second)
    # A Core of version 1: the second run needs a connection of its own.
    old.connection_opened(first, None, 0.0)
    new.add(second)
    for effect in (*old.drain(), *new.drain()):
        effect()
    assert (stays.opened_with, moves.opened_with) == ([None], [])
    assert (stays.moves, moves.moves) == (0, 1)


def test_a_run_that_is_given_up_amid_its_parts_leaves_without_the_rest() -> None:
    core, protocol = MemoryCore(), AgentProtocol(CoreEndpoint("ws://core"), lambda: None)
    first, second = (make_run_protocol(PendingFutures(), name) for name in ("a", "b"))
    protocol.add(first)
    protocol.add(second)
    protocol.connection_opened(first, core.welcome(first.make_hello()), 0.0)
    while (hello := protocol.data_to_send(0.0)) is not None:
        core.receive(hello)
    while core.answers:
        protocol.receive_data(core.answers.popleft(), 0.0)
    long = EventBegun(id="e", kind=EventKind.DEBUG_MESSAGE, at=0.0, clock=0.0, data=LONG)
    protocol.accept_items(second, [MessageBatch((long,), 0)], 0.0)
    begun = protocol.data_to_send(0.0)
    assert begun is not None
    protocol.give_up(second)
    rest = [protocol.data_to_send(0.0), protocol.data_to_send(0.0)]
    assert isinstance(from_agent.decode(begun)[1], MessagePart)
    assert rest[0] is not None
    assert (from_agent.decode(rest[0])[1], rest[1]) == (LeaveConnection(), None)
    assert from_agent.decode(rest[0])[0].run == "b"


def test_a_run_that_is_sent_away_unwelcomed_says_hello_elsewhere_alone() -> None:
    core, protocol = MemoryCore(), AgentProtocol(CoreEndpoint("ws://core"), lambda: None)
    first, second = (make_run_protocol(PendingFutures(), name) for name in ("a", "b"))
    protocol.add(first)
    protocol.add(second)
    protocol.connection_opened(first, core.welcome(first.make_hello()), 0.0)
    hello = protocol.data_to_send(0.0)
    assert hello is not None
    assert from_agent.decode(hello)[0].run == "b"
    closed = RunDisconnected(code=1011, reason="for a test")
    protocol.receive_data(to_agent.encode(closed, 1, run="b"), 0.0)
    assert protocol.data_to_send(0.0) is None
    assert list(protocol.runs) == ["a"]
