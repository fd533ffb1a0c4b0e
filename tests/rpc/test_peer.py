"""Two ends joined by hand, and one end against a peer that breaks the rules."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from msgspec import Raw

from agentstepper_nb.errors import CommandError
from agentstepper_nb.protocol.worker import (
    RpcCancel,
    RpcCredit,
    RpcFailure,
    RpcItem,
    RpcRequest,
    RpcResult,
    WorkerHello,
    worker_messages,
)
from agentstepper_nb.rpc.peer import (
    MAX_OPEN_REQUESTS,
    CreditGranted,
    ErrorReceived,
    ItemReceived,
    MessageRejected,
    Peer,
    PeerEvent,
    RequestCancelled,
    RequestFailed,
    RequestReceived,
    ResponseReceived,
)


def value(thing: object) -> Raw:
    return Raw(msgspec.json.encode(thing))


class PeerPair:
    """Two ends; what one says, the other hears at once, where it isn't held."""

    def __init__(self) -> None:
        self.here, self.there = Peer(), Peer()

    def receive_there(self) -> list[PeerEvent | None]:
        return [self.there.receive(text) for text in self.here.drain()]

    def receive_here(self) -> list[PeerEvent | None]:
        return [self.here.receive(text) for text in self.there.drain()]

    def requests(self, window: int = 0) -> str:
        id = self.here.send_request("coding", "create", value({"a": 1}), window)
        (asked,) = self.receive_there()
        assert isinstance(asked, RequestReceived)
        assert asked.request.params == value({"a": 1})
        return id


@pytest.fixture
def pair() -> PeerPair:
    return PeerPair()


def test_a_request_is_answered(pair: PeerPair) -> None:
    id = pair.requests()
    pair.there.send_result(id, value("done"))
    assert pair.receive_here() == [ResponseReceived(id, value("done"))]
    assert id not in pair.there._serving


def test_both_ends_may_ask_under_the_same_id(pair: PeerPair) -> None:
    ours = pair.requests()
    theirs = pair.there.send_request("core", "runs")
    assert ours == theirs
    assert isinstance(pair.receive_here()[0], RequestReceived)
    pair.there.send_failure(ours, "unknown_run", "No.")
    pair.here.send_result(theirs, value([]))
    assert pair.receive_here() == [RequestFailed(ours, "unknown_run", "No.")]
    assert pair.receive_there() == [ResponseReceived(theirs, value([]))]


def test_a_stream_is_as_fast_as_it_is_read(pair: PeerPair) -> None:
    id = pair.requests(window=4)
    for number in range(4):
        pair.there.send_item(id, value(number))
    assert pair.there.remaining_credit(id) == 0
    with pytest.raises(ValueError, match="has no credit"):
        pair.there.send_item(id, value("too much"))
    assert pair.receive_here() == [ItemReceived(id, value(number)) for number in range(4)]
    pair.here.accept_item(id)
    assert pair.receive_there() == []  # not a message an item
    pair.here.accept_item(id)
    assert pair.receive_there() == [CreditGranted(id)]
    assert pair.there.remaining_credit(id) == 2
    pair.there.send_result(id)
    assert pair.receive_here() == [ResponseReceived(id, value(None))]
    pair.here.accept_item(id)
    assert pair.here.drain() == []


def test_a_cancelled_request_is_passed_over_by_what_crosses_it(pair: PeerPair) -> None:
    id = pair.requests(window=2)
    pair.there.send_item(id, value("on its way"))
    pair.here.cancel(id)
    assert pair.receive_here() == [None]
    assert pair.receive_there() == [RequestCancelled(id)]
    assert id in pair.there._serving  # until whoever serves it has stopped
    pair.there.send_item(id, value("it hadn't heard yet"))
    pair.there.send_result(id)
    assert pair.there.drain() == []
    assert id not in pair.there._serving


def test_what_is_open_is_bounded(pair: PeerPair) -> None:
    for _ in range(MAX_OPEN_REQUESTS):
        pair.requests()
    with pytest.raises(CommandError) as caught:
        pair.here.send_request("coding", "list")
    assert caught.value.code == "too_many"
    one_more = worker_messages.encode(RpcRequest(service="coding", method="list"), 1, "more")
    assert isinstance(pair.there.receive(one_more), MessageRejected)
    (told,) = pair.there.drain()
    assert worker_messages.decode(told)[1].code == "too_many"  # type: ignore[attr-defined]


def receive_bad_message(peer: Peer, text: str) -> tuple[PeerEvent | None, str | None, RpcFailure]:
    """What a bad message means, and the answer with the id that it is under."""
    happening = peer.receive(text)
    (told,) = peer.drain()
    envelope, failed = worker_messages.decode(told)
    assert isinstance(failed, RpcFailure)
    return happening, envelope.id if isinstance(envelope.id, str) else None, failed


@pytest.mark.parametrize(
    ("text", "id", "code"),
    [
        ("{", None, "malformed"),
        ("[" * 100_000, None, "malformed"),
        ('{"n": 1, "type": "dance", "id": "7", "body": {}}', None, "unknown_message"),
        ('{"n": 1, "type": "request", "id": "7", "body": {}}', "7", "invalid_message"),
        (
            '{"n": 1, "type": "request", "body": {"service": "a", "method": "b"}}',
            None,
            "invalid_message",
        ),
        (
            '{"n": 1, "type": "request", "id": "7", "body": {"service": "a", "method": "b", '
            '"window": -1}}',
            "7",
            "invalid_message",
        ),
        # Under an id it would be for a request of the other end's.
        ('{"n": 1, "type": "more", "id": "7", "body": {}}', None, "invalid_message"),
    ],
)
def test_what_is_not_understood_is_said(text: str, id: str | None, code: str) -> None:
    peer = Peer()
    happening, under, failed = receive_bad_message(peer, text)
    assert isinstance(happening, MessageRejected)
    assert (under, failed.code) == (id, code)


def test_a_second_hello_and_a_second_request_of_an_id_are_refused(pair: PeerPair) -> None:
    hello = WorkerHello(version=1, worker="w", pid=1, services=())
    assert (
        receive_bad_message(pair.there, worker_messages.encode(hello, 1, "x"))[2].code
        == "already_open"
    )
    id = pair.requests()
    again = worker_messages.encode(RpcRequest(service="coding", method="list"), 1, id)
    assert receive_bad_message(pair.there, again)[1:] == (
        None,
        RpcFailure(code="duplicate", message=f"A request with the id {id} is open already."),
    )
    pair.there.send_result(id)
    assert pair.receive_here() == [ResponseReceived(id, value(None))]


def test_nobody_waits_for_an_answer_that_cannot_be_read(pair: PeerPair) -> None:
    id = pair.requests()
    happening, under, _ = receive_bad_message(
        pair.here, f'{{"n": 1, "type": "result", "id": "{id}", "body": 7}}'
    )
    assert isinstance(happening, RequestFailed)
    assert (happening.id, happening.code, under) == (id, "invalid_message", None)


def test_nobody_waits_for_a_failure_whose_text_cannot_be_sent(pair: PeerPair) -> None:
    id = pair.requests()
    pair.there.send_failure(id, "store_failed", "no file \udce9.jsonl")
    assert pair.receive_here() == [RequestFailed(id, "store_failed", "no file ?.jsonl")]


def test_an_item_without_room_breaks_its_stream(pair: PeerPair) -> None:
    id = pair.requests()
    happening = pair.here.receive(worker_messages.encode(RpcItem(value=value(1)), 1, id))
    assert happening == RequestFailed(id, "invalid_message", "An item came without credit for it.")
    assert pair.receive_there() == [RequestCancelled(id)]


def test_a_complaint_is_for_the_log() -> None:
    failed = worker_messages.encode(RpcFailure(code="malformed", message="What?"), 1)
    assert Peer().receive(failed) == ErrorReceived("malformed", "What?")


@pytest.mark.parametrize(
    "message", [RpcCancel(), RpcCredit(items=1), RpcItem(value=value(1)), RpcResult()]
)
def test_what_names_nothing_open_is_passed_over(message: msgspec.Struct) -> None:
    peer = Peer()
    assert peer.receive(worker_messages.encode(message, 1, "gone")) is None
    assert peer.drain() == []


class RandomStreams(RuleBasedStateMachine):
    """Streams between two ends whose messages take their time: in order, none lost, none too many."""

    def __init__(self) -> None:
        super().__init__()
        self.here, self.there = Peer(), Peer()
        self.to_there: list[str] = []
        self.to_here: list[str] = []
        self.windows: dict[str, int] = {}
        self.sent: dict[str, int] = {}
        self.came: dict[str, int] = {}
        self.taken: dict[str, int] = {}
        self.over: set[str] = set()

    def flush(self) -> None:
        self.to_there += self.here.drain()
        self.to_here += self.there.drain()

    @rule(window=st.integers(1, 5))
    def request(self, window: int) -> None:
        id = self.here.send_request("s", "m", window=window)
        self.windows[id] = window
        self.came[id] = self.taken[id] = 0
        self.flush()

    @precondition(lambda self: self.to_there)
    @rule()
    def receive_there(self) -> None:
        happening = self.there.receive(self.to_there.pop(0))
        match happening:
            case RequestReceived(id=id):
                self.sent[id] = 0
            case RequestCancelled(id=id):
                self.there.send_failure(id, "cancelled", "")
            case MessageRejected() | ErrorReceived() | RequestFailed():
                raise AssertionError(happening)
        self.flush()

    @precondition(lambda self: self.to_here)
    @rule()
    def receive_here(self) -> None:
        happening = self.here.receive(self.to_here.pop(0))
        match happening:
            case ItemReceived(id=id, value=raw):
                assert msgspec.json.decode(raw) == self.came[id]
                self.came[id] += 1
                assert self.came[id] - self.taken[id] <= self.windows[id]
            case ResponseReceived(id=id):
                assert self.came[id] == self.sent[id]
                self.over.add(id)
            case MessageRejected() | ErrorReceived() | RequestFailed():
                raise AssertionError(happening)
        self.flush()

    @rule(data=st.data())
    def send(self, data: st.DataObject) -> None:
        able = [
            id for id in self.sent if id in self.there._serving and self.there.remaining_credit(id)
        ]
        if able:
            id = data.draw(st.sampled_from(able))
            self.there.send_item(id, value(self.sent[id]))
            self.sent[id] += 1
            self.flush()

    @rule(data=st.data())
    def take(self, data: st.DataObject) -> None:
        waiting = [id for id in self.came if self.taken[id] < self.came[id]]
        if waiting:
            id = data.draw(st.sampled_from(waiting))
            self.taken[id] += 1
            self.here.accept_item(id)
            self.flush()

    @rule(data=st.data())
    def end(self, data: st.DataObject) -> None:
        served = [id for id in self.sent if id in self.there._serving]
        if served:
            self.there.send_result(data.draw(st.sampled_from(served)))
            self.flush()

    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        open = [id for id in self.came if id not in self.over]
        if open:
            id = data.draw(st.sampled_from(open))
            self.here.cancel(id)
            self.over.add(id)
            self.flush()

    @invariant()
    def nothing_waits_for_nothing(self) -> None:
        """Where all is heard and all is taken, every open stream may go on."""
        if self.to_there or self.to_here or self.taken != self.came:
            return
        for id in self.sent:
            if id in self.there._serving:
                assert self.there.remaining_credit(id) > 0


RandomStreams.TestCase.settings = settings(stateful_step_count=40)
test_conversations = RandomStreams.TestCase
