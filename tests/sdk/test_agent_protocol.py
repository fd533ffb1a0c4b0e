"""How runs of one process fare on a connection to a Core that refuses, fails or is late; in memory."""

from __future__ import annotations

import pytest
from msgspec import UNSET, Raw, Struct
from websockets.exceptions import ConnectionClosedError

from agentstepper_nb.discover import CoreEndpoint
from agentstepper_nb.errors import ConnectionLostError, DiscoveryError
from agentstepper_nb.protocol.agent import (
    AgentError,
    Bye,
    EventBegun,
    Hello,
    LeaveConnection,
    MessagesAcknowledged,
    RunDisconnected,
    Welcome,
    from_agent,
    to_agent,
)
from agentstepper_nb.protocol.data_model import EventKind, RunEnding
from agentstepper_nb.sdk import handshake
from agentstepper_nb.sdk.agent_protocol import AgentProtocol
from agentstepper_nb.sdk.connection_state import DEFAULT_LINK_LIMITS, RunConnectionState
from agentstepper_nb.sdk.core_location import OFFLINE_URL
from agentstepper_nb.sdk.handshake import AgentRefusedError
from agentstepper_nb.sdk.offline_transport import NoTransport, OfflineTransport
from agentstepper_nb.sdk.outbox import Outbox
from agentstepper_nb.sdk.send_queue import MessageBatch, PendingFutures, QueueEnd
from tests.sdk.run_protocols import RecordingListener, make_run_protocol


class TwoRuns:
    """Two runs of a process: `a` opens the connection, on which `b` says hello in its turn."""

    def __init__(self) -> None:
        self.closed = 0
        self.protocol = AgentProtocol(CoreEndpoint("ws://core"), self._close)
        self.told = {name: RecordingListener() for name in "ab"}
        self.a, self.b = (
            make_run_protocol(PendingFutures(), name, self.told[name]) for name in "ab"
        )
        self.protocol.add(self.a)
        self.protocol.add(self.b)

    def _close(self) -> None:
        self.closed += 1

    def open(self) -> None:
        self.protocol.connection_opened(self.a, self.make_welcome("a"), 0.0)

    def open_both(self) -> None:
        self.open()
        [(name, hello)] = self.write()
        assert name == "b" and isinstance(hello, Hello)
        self.answer(self.make_welcome("b"))
        self.do()

    def send_away(self) -> None:
        """Let the Core end the connection for `b`, which says hello again at once."""
        self.answer(RunDisconnected(code=1011, reason="for a test"))
        [(_, hello)] = self.write()
        assert isinstance(hello, Hello) and self.b.state is RunConnectionState.RETURNING

    def answer(self, message: Struct, now: float = 0.0) -> None:
        """Let the Core say something to `b`."""
        self.protocol.receive_data(to_agent.encode(message, 1, run="b"), now)

    def write(self, now: float = 0.0) -> list[tuple[str, Struct]]:
        """All that is to be written now, each with its run."""
        made = []
        while (text := self.protocol.data_to_send(now)) is not None:
            envelope, message = from_agent.decode(text.decode())
            made.append(("a" if envelope.run is UNSET else envelope.run, message))
        return made

    def do(self) -> None:
        for effect in self.protocol.drain():
            effect()

    @staticmethod
    def make_welcome(run: str) -> Welcome:
        return Welcome(version=2, core="", run=run, received=1, shares_connection=True)


@pytest.fixture
def runs() -> TwoRuns:
    return TwoRuns()


def debug_message(id: str) -> MessageBatch:
    event = EventBegun(id=id, kind=EventKind.DEBUG_MESSAGE, at=0.0, clock=0.0, data=Raw(b'"said"'))
    return MessageBatch((event,), 0)


# ---- opening -----------------------------------------------------------------------------------------


def test_a_connection_that_opens_for_a_run_that_was_given_up_is_closed(runs: TwoRuns) -> None:
    runs.protocol.give_up(runs.a)
    runs.open()
    runs.do()
    (error,) = runs.told["a"].opened_with
    assert isinstance(error, ConnectionLostError) and str(error) == handshake.NO_ANSWER
    assert (runs.told["a"].ended_with, runs.closed) == ([None], 1)


@pytest.mark.parametrize(
    ("error", "told_to_other", "moves_of_other"),
    [
        (AgentRefusedError("This run is known already.", "known_run"), [], 1),
        (ConnectionRefusedError("nobody listens"), [DiscoveryError], 0),
    ],
    ids=["refused", "no Core"],
)
def test_only_a_refusal_leaves_the_other_runs_the_chance_to_open(
    runs: TwoRuns, error: Exception, told_to_other: list[type], moves_of_other: int
) -> None:
    runs.protocol.opening_failed(runs.a, error)
    runs.do()
    (why,) = runs.told["a"].opened_with
    assert str(error) in str(why)
    assert [type(each) for each in runs.told["b"].opened_with] == told_to_other
    assert runs.told["b"].moves == moves_of_other
    assert runs.protocol.runs == {}


def test_a_failure_that_no_connection_can_help_ends_every_run(runs: TwoRuns) -> None:
    runs.open()
    runs.do()
    runs.protocol.fail(RuntimeError("can't start new thread"))
    runs.do()
    (ended,) = runs.told["a"].ended_with
    (unopened,) = runs.told["b"].opened_with[-1:]
    for why in (ended, unopened):
        assert isinstance(why, ConnectionLostError) and "can't start new thread" in str(why)
    assert (runs.protocol.runs, runs.closed) == ({}, 1)


# ---- hello on another run's connection ---------------------------------------------------------------


def test_a_core_that_refuses_a_second_run_keeps_the_first(runs: TwoRuns) -> None:
    runs.open()
    runs.write()
    runs.answer(AgentError(code="too_many_runs", message="This Core has too many runs."))
    runs.do()
    (error,) = runs.told["b"].opened_with
    assert isinstance(error, AgentRefusedError) and "too many runs" in str(error)
    assert list(runs.protocol.runs) == ["a"]
    assert (runs.told["a"].ended_with, runs.closed) == ([], 0)


def test_a_core_that_answers_no_hello_in_time_fails_that_run_alone(runs: TwoRuns) -> None:
    runs.open()
    runs.write()
    due = runs.protocol.deadline()
    assert due == handshake.TIMEOUT_S
    runs.protocol.handle_timeout(due - 1)
    assert list(runs.protocol.runs) == ["a", "b"]
    runs.protocol.handle_timeout(due)
    runs.do()
    (error,) = runs.told["b"].opened_with
    assert str(error) == handshake.NO_ANSWER
    assert list(runs.protocol.runs) == ["a"]
    assert runs.write() == [("b", LeaveConnection())]


def test_a_run_that_is_refused_for_now_says_hello_again_later(runs: TwoRuns) -> None:
    runs.open_both()
    runs.send_away()
    runs.answer(AgentError(code="store_failed", message="The disk is full."))
    assert runs.write() == []
    due = runs.protocol.deadline()
    assert due is not None and due > 0
    runs.protocol.handle_timeout(due)
    [(name, hello)] = runs.write(due)
    assert (name, type(hello)) == ("b", Hello)
    runs.protocol.handle_timeout(due)
    assert runs.write(due) == [], "it says hello once"
    runs.answer(runs.make_welcome("b"), due)
    assert runs.b.state is RunConnectionState.OPEN


def test_a_hello_that_is_not_answered_in_time_is_said_again(runs: TwoRuns) -> None:
    runs.open_both()
    runs.send_away()
    due = runs.protocol.deadline()
    assert due == handshake.TIMEOUT_S
    runs.protocol.handle_timeout(due)
    assert (runs.b.state, runs.b.unreachable_reason) == (
        RunConnectionState.DISCONNECTED,
        handshake.NO_ANSWER,
    )
    runs.answer(runs.make_welcome("b"), due)  # too late: the Core hears next that the run left
    assert runs.b.state is RunConnectionState.DISCONNECTED
    assert runs.write(due) == [("b", LeaveConnection())]
    again = runs.protocol.deadline()
    assert again is not None and again > due
    runs.protocol.handle_timeout(again)
    [(name, hello)] = runs.write(again)
    assert (name, type(hello)) == ("b", Hello)
    runs.answer(runs.make_welcome("b"), again)
    assert runs.b.state is RunConnectionState.OPEN
    assert [runs.told[name].ended_with for name in "ab"] == [[], []]


def test_what_a_core_said_before_it_read_a_hello_is_no_answer_to_it(runs: TwoRuns) -> None:
    runs.open_both()
    runs.send_away()
    runs.answer(MessagesAcknowledged(received=1))
    assert runs.b.state is RunConnectionState.RETURNING
    runs.answer(runs.make_welcome("b"))
    assert runs.b.state is RunConnectionState.OPEN


def test_a_refusal_that_comes_after_a_run_s_end_concerns_no_other(runs: TwoRuns) -> None:
    runs.open_both()
    runs.protocol.connection_lost(ConnectionClosedError(None, None), 0.0)
    runs.protocol.give_up(runs.b)  # while the Core is asked for it
    runs.protocol.refuse(runs.b, "ws://core", ConnectionError("No such run."), "run_ended")
    runs.do()
    assert runs.told["b"].ended_with == [None]
    assert (list(runs.protocol.runs), runs.told["a"].ended_with) == (["a"], [])


@pytest.mark.parametrize("code", ["unknown_run", "run_ended", "invalid_message"])
def test_a_run_that_a_core_will_never_resume_ends_and_says_why(runs: TwoRuns, code: str) -> None:
    runs.open_both()
    runs.send_away()
    runs.answer(AgentError(code=code, message="No such run."))
    runs.do()
    (lost,) = runs.told["b"].ended_with
    said = "The Core at ws://core refused to continue this run"
    assert said in str(lost) and "No such run." in str(lost)
    assert str(lost).count("Start the agent again.") == 1
    assert (list(runs.protocol.runs), runs.told["a"].ended_with) == (["a"], [])


def test_what_a_core_still_says_to_a_run_that_left_reaches_no_other(runs: TwoRuns) -> None:
    runs.open_both()
    runs.protocol.accept_items(runs.a, [debug_message("e")], 0.0)
    runs.protocol.give_up(runs.b)
    assert sorted(name for name, _ in runs.write()) == ["a", "b"]
    runs.answer(MessagesAcknowledged(received=2))
    assert runs.a.undelivered_count == 1


# ---- the connection is lost --------------------------------------------------------------------------


def test_a_refused_run_s_wait_is_the_connection_s_own_once_that_is_lost(runs: TwoRuns) -> None:
    """The thread that looks for the Core waits then, for all runs together."""
    runs.open_both()
    runs.send_away()
    runs.answer(AgentError(code="internal", message="Look at the log."))
    assert runs.write() == []
    runs.protocol.connection_lost(ConnectionClosedError(None, None), 0.0)
    assert runs.protocol.deadline() is None
    runs.protocol.handle_timeout(60.0)
    assert runs.write(60.0) == []
    assert runs.b.state is RunConnectionState.DISCONNECTED
    assert [runs.told[name].ended_with for name in "ab"] == [[], []]


def test_a_run_that_can_t_be_opened_leaves_a_disconnected_one_to_look_on(runs: TwoRuns) -> None:
    runs.open_both()
    runs.protocol.connection_lost(ConnectionClosedError(None, None), 0.0)
    late = make_run_protocol(PendingFutures(), "c", told := RecordingListener())
    runs.protocol.add(late)
    runs.protocol.opening_failed(late, OSError("no route"))
    runs.do()
    (error,) = told.opened_with
    assert isinstance(error, DiscoveryError) and "no route" in str(error)
    assert [runs.told[name].moves for name in "ab"] == [1, 1]
    assert [runs.told[name].ended_with for name in "ab"] == [[], []]


# ---- without a Core ----------------------------------------------------------------------------------


def test_what_a_thread_sends_while_another_closes_an_offline_run_is_dropped() -> None:
    endpoint, told = CoreEndpoint(OFFLINE_URL), RecordingListener()
    outbox = Outbox(NoTransport(endpoint), DEFAULT_LINK_LIMITS)
    outbox.protocol = make_run_protocol(PendingFutures(), "r", told, "continue", patient=True)
    OfflineTransport(outbox)
    outbox.put(QueueEnd(Bye(ending=RunEnding.FINISHED)))
    outbox.put(debug_message("late"))
    assert told.ended_with == [None]
