"""One suite for the codecs of all APIs, over recorded streams: cut, framed and hurt in every way."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentstepper_nb.llm_wire import sse
from agentstepper_nb.llm_wire.answer_stream import CUT_OFF_ERROR, BufferedAnswer
from agentstepper_nb.llm_wire.events import (
    AgentEvent,
    ResponseCompleted,
    TextDelta,
    ToolCallReady,
    TraceEvent,
)
from tests.models.recorded import APIS, NAMES, READERS, collect_output, expected, recorded

every_api = pytest.mark.parametrize("api", APIS)
every_recording = pytest.mark.parametrize("name", NAMES)


def read(api: str, pieces: Iterable[bytes]) -> list[AgentEvent]:
    reader = READERS[api]()
    told = [event for piece in pieces for event in reader.feed(piece)]
    told += reader.close()
    assert reader.is_over
    return told


@every_api
@every_recording
def test_what_it_says(api: str, name: str) -> None:
    assert collect_output(read(api, [recorded(api, name)])) == expected(api, name)


@every_api
@every_recording
def test_a_byte_at_a_time(api: str, name: str) -> None:
    stream = recorded(api, name)
    bytewise = (stream[at : at + 1] for at in range(len(stream)))
    assert read(api, bytewise) == read(api, [stream])


@pytest.mark.slow
@every_api
def test_two_pieces_cut_at_every_byte(api: str) -> None:
    stream = recorded(api, "text").replace(b"\n", b"\r\n")
    whole = read(api, [stream])
    assert collect_output(whole) == expected(api, "text")
    for at in range(len(stream)):
        assert read(api, [stream[:at], stream[at:]]) == whole, at


def crlf(stream: bytes) -> bytes:
    return stream.replace(b"\n", b"\r\n")


def cr(stream: bytes) -> bytes:
    return stream.replace(b"\n", b"\r")


def with_bom(stream: bytes) -> bytes:
    return b"\xef\xbb\xbf" + stream


def without_last_newline(stream: bytes) -> bytes:
    return stream.rstrip(b"\n")


def without_last_blank_line(stream: bytes) -> bytes:
    return stream.rstrip(b"\n") + b"\n"


def with_comments(stream: bytes) -> bytes:
    return b"".join(b": keep-alive\n" + line for line in stream.splitlines(keepends=True))


def with_ids(stream: bytes) -> bytes:
    return stream.replace(b"data:", b"id: 7\nretry: 10\nnews: none\ndata:")


def without_spaces(stream: bytes) -> bytes:
    return stream.replace(b"data: ", b"data:").replace(b"event: ", b"event:")


def without_names(stream: bytes) -> bytes:
    lines = stream.splitlines(keepends=True)
    return b"".join(line for line in lines if not line.startswith(b"event:"))


def over_several_lines(stream: bytes) -> bytes:
    """Each event's JSON indented, a `data:` field for each of its lines."""
    told = b""
    for event in sse.SseDecoder().feed(stream):
        try:
            data = json.dumps(json.loads(event.data), indent=1, ensure_ascii=False)
        except ValueError:
            data = event.data
        told += sse.encode_event(data.encode(), event.name)
    return told


FRAMES: list[Callable[[bytes], bytes]] = [
    *(crlf, cr, with_bom, without_last_newline, without_last_blank_line, with_comments),
    *(with_ids, without_spaces, without_names, over_several_lines),
]


@every_api
@every_recording
@pytest.mark.parametrize("framed", FRAMES)
def test_the_frame_changes_nothing(api: str, name: str, framed: Callable[[bytes], bytes]) -> None:
    stream = recorded(api, name)
    changed = framed(stream)
    assert changed != stream or framed is without_names
    assert collect_output(read(api, [changed])) == expected(api, name)
    halves = [changed[: len(changed) // 2], changed[len(changed) // 2 :]]
    assert collect_output(read(api, halves)) == expected(api, name)


@every_api
@every_recording
def test_cut_without_an_end(api: str, name: str) -> None:
    """After any event: what was said stands, a call is ready whole or never, and it is an error."""
    events = recorded(api, name).split(b"\n\n")
    whole = collect_output(read(api, [recorded(api, name)]))
    for count in range(len(events) - 1):
        told = read(api, [b"\n\n".join(events[:count])])
        got = collect_output(told)
        assert whole.text.startswith(got.text)
        assert got.calls == whole.calls[: len(got.calls)]
        if TraceEvent("error", CUT_OFF_ERROR) in told:
            assert told[-2:] == [
                TraceEvent("error", CUT_OFF_ERROR),
                ResponseCompleted("error", None),
            ]
        else:  # no more was missing than what says nothing
            assert (got.text, got.calls, got.reason) == (whole.text, whole.calls, whole.reason)
    assert collect_output(read(api, [])).reason == "error"


@every_api
def test_cut_inside_of_an_event(api: str) -> None:
    """Half an event can't be read, and is no end."""
    stream = recorded(api, "text")
    told = read(api, [stream[: len(stream) // 2]])
    assert [event.kind for event in told if isinstance(event, TraceEvent)][-1] == "error"
    assert told[-1] == ResponseCompleted("error", None)


@every_api
def test_why_the_connection_failed_is_told(api: str) -> None:
    reader = READERS[api]()
    problem = {"kind": "timeout", "message": "It took too long."}
    assert reader.close(problem) == [TraceEvent("error", problem), ResponseCompleted("error", None)]


@every_api
def test_what_follows_the_end_is_dropped(api: str) -> None:
    reader = READERS[api]()
    reader.feed(recorded(api, "text"))
    reader.close()
    assert reader.feed(recorded(api, "calls")) == []
    assert reader.close() == []


@every_api
def test_what_comes_is_told_at_once(api: str) -> None:
    """Nothing waits for the end of the answer but what depends on it."""
    reader, text, ready = READERS[api](), "", 0
    for event in recorded(api, "calls").split(b"\n\n"):
        for told in reader.feed(event + b"\n\n"):
            if isinstance(told, TextDelta):
                text += told.text
                assert told.text.encode() in event
            ready += isinstance(told, ToolCallReady)
        if b"read_file" in event:
            assert text == "I look at both."
            break
    assert not ready


@every_api
def test_unreadable_chunks_are_told_raw(api: str) -> None:
    told = read(api, [recorded(api, "surprises")])
    raw = [event.data for event in told if event == TraceEvent("parse_error", event_data(event))]
    assert raw[1] == "this is no JSON"
    assert all(isinstance(data, str) for data in raw)


def event_data(event: AgentEvent) -> object:
    return event.data if isinstance(event, TraceEvent) else None


@every_api
def test_an_error_in_the_midst_says_what_and_what_kind(api: str) -> None:
    told = read(api, [recorded(api, "failure")])
    assert isinstance(told[-2], TraceEvent)
    assert told[-2].kind == "error"
    assert told[-2].data["kind"] == "overloaded"
    assert "The model's service failed while it answered: " in told[-2].data["message"]
    assert told[-1] == ResponseCompleted("error", None)


@pytest.mark.parametrize("depth", [100, 100_000])
@every_api
def test_deeply_nested_rubbish(api: str, depth: int) -> None:
    data = b'{"type":"x","object":"y","a":' + b"[" * depth + b"]" * depth + b"}"
    (first, *_) = read(api, [sse.encode_event(data)])
    assert isinstance(first, TraceEvent)
    assert first.kind in ("unknown", "parse_error")


# ---- answers in one piece --------------------------------------------------------------------------

CHAT = """{"id":"chatcmpl-1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,
"message":{"role":"assistant","content":"I look.","tool_calls":[{"id":"call_a1","type":"function",
"function":{"name":"read_file","arguments":"{\\"path\\": \\"a\\"}"}}]},"finish_reason":"tool_calls"}],
"usage":{"prompt_tokens":5,"completion_tokens":3,"total_tokens":8}}"""

RESPONSE = """{"id":"resp_1","object":"response","status":"completed","error":null,"output":[
{"id":"rs_1","type":"reasoning","summary":[]},
{"id":"msg_1","type":"message","status":"completed","role":"assistant",
"content":[{"type":"output_text","text":"I look.","annotations":[]}]},
{"id":"fc_1","type":"function_call","status":"completed","call_id":"call_a1","name":"read_file",
"arguments":"{\\"path\\": \\"a\\"}"}],"usage":{"input_tokens":5,"output_tokens":3,"total_tokens":8}}"""

MESSAGE = """{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[
{"type":"text","text":"I look."},
{"type":"tool_use","id":"toolu_a1","name":"read_file","input":{"path": "a"}}],
"stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":5,"output_tokens":3}}"""

WHOLE = {"chat": CHAT, "responses": RESPONSE, "messages": MESSAGE}


def read_whole(api: str, body: bytes) -> list[AgentEvent]:
    reader = BufferedAnswer(READERS[api]())
    for at in range(0, len(body), 10):
        assert reader.feed(body[at : at + 10]) == []
    told = reader.close()
    assert reader.is_over
    return told


@every_api
def test_an_answer_in_one_piece(api: str) -> None:
    got = collect_output(read_whole(api, WHOLE[api].encode()))
    assert got.text == "I look."
    assert got.calls == [("a1", "read_file", '{"path": "a"}')]
    assert got.reason == "tool_calls"
    assert got.usage is not None
    assert (got.usage.input_tokens, got.usage.output_tokens) == (5, 3)


@every_api
@pytest.mark.parametrize("body", ["", "{", "<html>", "[]", "null", "{}"])
def test_one_piece_that_is_no_answer(api: str, body: str) -> None:
    told = read_whole(api, body.encode())
    assert isinstance(told[-2], TraceEvent)
    assert (told[-2].kind, told[-2].data["kind"]) == ("error", "invalid")
    assert told[-1] == ResponseCompleted("error", None)


@every_api
def test_one_piece_that_is_an_error(api: str) -> None:
    body = b'{"type":"error","error":{"type":"not_found_error","message":"no such model"}}'
    told = read_whole(api, body)
    assert isinstance(told[-2], TraceEvent)
    assert told[-2].data["kind"] == "refused"
    assert told[-2].data["message"].endswith("no such model")


# ---- hostile streams -------------------------------------------------------------------------------

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=5,
)


@every_api
@given(st.data())
def test_whatever_comes_there_is_one_end(api: str, data: st.DataObject) -> None:
    """Events left out, doubled, reordered, with values of any type: nothing is raised."""
    every = [event.data for name in NAMES for event in sse.SseDecoder().feed(recorded(api, name))]
    chosen = data.draw(st.lists(st.sampled_from(every), max_size=12))
    hurt = [data.draw(st.sampled_from([text, mutated(text, data)])) for text in chosen]
    told = read(api, [sse.encode_event(text.encode()) for text in hurt])
    ends = [event for event in told if isinstance(event, ResponseCompleted)]
    assert ends == told[-1:]


def mutated(text: str, data: st.DataObject) -> str:
    """The same JSON with another value somewhere in it."""
    try:
        whole = json.loads(text)
    except ValueError:
        return text
    here = whole
    while isinstance(here, dict | list) and here:
        keys = [*here] if isinstance(here, dict) else [*range(len(here))]
        key = data.draw(st.sampled_from(keys))
        if not (isinstance(here[key], dict | list) and here[key]) or data.draw(st.booleans()):
            here[key] = data.draw(JSON)
            break
        here = here[key]
    return json.dumps(whole)


@every_api
@given(st.lists(st.binary(max_size=40), max_size=5))
def test_bytes_of_any_kind(api: str, pieces: list[bytes]) -> None:
    assert read(api, pieces)[-1] == ResponseCompleted("error", None)
