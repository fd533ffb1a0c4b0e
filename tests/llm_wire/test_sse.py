from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentstepper_nb.llm_wire import sse


def test_an_event_is_a_data_field_and_an_empty_line() -> None:
    assert sse.encode_event(b'{"a": 1}') == b'data: {"a": 1}\n\n'


def test_line_breaks_become_further_fields() -> None:
    assert sse.encode_event(b"a\nb\r\nc\rd") == b"data: a\ndata: b\ndata: c\ndata: d\n\n"


def test_the_last_event_of_a_stream() -> None:
    assert sse.DONE == b"data: [DONE]\n\n"


def test_a_named_event() -> None:
    assert sse.encode_event(b"x", "ping") == b"event: ping\ndata: x\n\n"


# ---- reading ---------------------------------------------------------------------------------------

STREAM = (
    "\ufeff: hello\n"
    "event: greeting\n"
    "id: 1\n"
    "data: Grüße\n"
    "data:  two spaces\n"
    "\n"
    "\n"
    "event: without data\n"
    "\n"
    "data\n"
    "\n"
    "data:a:b\r\n"
    "retry: 3000\r\n"
    "\r\n"
    "id: no\0\r"
    "id\r"
    "data: 🙂\r"
    "\r"
    "data: the last"
).encode()

EVENTS = [
    sse.SseEvent("Grüße\n two spaces", "greeting", "1"),
    sse.SseEvent("", "message", "1"),
    sse.SseEvent("a:b", "message", "1"),
    sse.SseEvent("🙂", "message", ""),
    sse.SseEvent("the last", "message", ""),
]


def decoded(*pieces: bytes) -> list[sse.SseEvent]:
    decoder = sse.SseDecoder()
    return [event for piece in pieces for event in decoder.feed(piece)] + decoder.close()


def test_every_rule_of_the_standard_once() -> None:
    assert decoded(STREAM) == EVENTS


def test_it_is_the_same_however_the_bytes_are_cut() -> None:
    for first in range(len(STREAM) + 1):
        for second in range(first, len(STREAM) + 1, 7):
            pieces = (STREAM[:first], STREAM[first:second], STREAM[second:])
            assert decoded(*pieces) == EVENTS, (first, second)


def test_an_event_is_told_with_the_byte_that_ends_it() -> None:
    for end in ("\n", "\r"):
        decoder = sse.SseDecoder()
        assert decoder.feed(f"data: x{end}".encode()) == []
        assert decoder.feed(end.encode()) == [sse.SseEvent("x")]


@pytest.mark.parametrize("end", ["", "\n", "\r", "\r\n", "\n\n", "\r\r", "\r\n\r\n", "\r\n\r"])
def test_the_end_may_miss_any_of_its_line_ends(end: str) -> None:
    assert decoded(f"data: x{end}".encode()) == [sse.SseEvent("x")]
    assert decoded(b"data: x", end.encode()) == [sse.SseEvent("x")]


def test_what_is_no_utf8_is_replaced() -> None:
    assert decoded(b"data: \xff\xc3\n\n") == [sse.SseEvent("\ufffd\ufffd")]


@given(
    st.lists(st.text(st.characters(exclude_categories=["Cs"])), max_size=4),
    st.lists(st.integers(0, 200), max_size=4),
)
def test_what_is_framed_is_read_again(texts: list[str], cuts: list[int]) -> None:
    stream = b"".join(sse.encode_event(text.encode(), "told") for text in texts)
    edges = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    pieces = [stream[start:end] for start, end in pairwise(edges)]
    lines = [text.replace("\r\n", "\n").replace("\r", "\n") for text in texts]
    assert decoded(*pieces) == [sse.SseEvent(text, "told") for text in lines]
