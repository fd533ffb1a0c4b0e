from agentstepper_nb.llm_wire import sse


def test_an_event_is_a_data_field_and_an_empty_line() -> None:
    assert sse.encode_event(b'{"a": 1}') == b'data: {"a": 1}\n\n'


def test_line_breaks_become_further_fields() -> None:
    assert sse.encode_event(b"a\nb\r\nc\rd") == b"data: a\ndata: b\ndata: c\ndata: d\n\n"


def test_the_last_event_of_a_stream() -> None:
    assert sse.DONE == b"data: [DONE]\n\n"
