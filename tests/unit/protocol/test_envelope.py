"""Version 2's frame: numbers, ids, and what is said to a message that isn't one."""

from __future__ import annotations

import pytest
from msgspec import Struct

from agentstepper_nb.errors import ProtocolError
from agentstepper_nb.protocol.envelope import MessageTable, decode_envelope_header


class Ping(Struct):
    """A message."""

    text: str
    size: int = 0


TABLE = MessageTable(ping=Ping)
COMMANDS = MessageTable("unknown_command", ping=Ping)


def test_a_message_and_its_number() -> None:
    text = TABLE.encode(Ping("hi"), 7)
    assert text == '{"n":7,"type":"ping","body":{"text":"hi","size":0}}'
    envelope, message = TABLE.decode(text)
    assert (envelope.n, envelope.type, message) == (7, "ping", Ping("hi"))


def test_a_command_and_its_id() -> None:
    text = TABLE.encode(Ping("hi", 1), 1, id="c1")
    assert text == '{"n":1,"type":"ping","id":"c1","body":{"text":"hi","size":1}}'
    assert TABLE.decode(text)[0].id == "c1"


def test_what_a_newer_peer_adds_is_passed_over() -> None:
    _, message = TABLE.decode('{"n":1,"type":"ping","more":[],"body":{"text":"x","later":{}}}')
    assert message == Ping("x")


DEEP = "[" * 100_000 + "]" * 100_000


@pytest.mark.parametrize(
    ("text", "code", "says"),
    [
        ("", "malformed", "Input data was truncated"),
        ("{", "malformed", "Input data was truncated"),
        ("ping", "malformed", "JSON is malformed"),
        ("[]", "malformed", "Expected `object`, got `array`"),
        ("{}", "malformed", "missing required field `n`"),
        ('{"n":1,"type":"ping"}', "malformed", "missing required field `body`"),
        ('{"n":"1","type":"ping","body":{}}', "malformed", r"got `str` - at `\$.n`"),
        ('{"n":-1,"type":"ping","body":{}}', "malformed", ">= 0 - at"),
        ('{"n":1e3,"type":"ping","body":{}}', "malformed", "got `float`"),
        (f'{{"n":{"9" * 400},"type":"ping","body":{{}}}}', "malformed", r"at `\$.n`"),
        ('{"n":1,"type":7,"body":{}}', "malformed", r"got `int` - at `\$.type`"),
        ('{"n":1,"type":"ping","id":7,"body":{}}', "malformed", r"got `int` - at `\$.id`"),
        ('{"n":1,"type":"ping","body":NaN}', "malformed", "invalid character"),
        (DEEP, "malformed", "Expected `object`, got `array`"),
        (f'{{"n":1,"type":"ping","body":{DEEP}}}', "malformed", "recursion depth"),
        (
            '{"n":1,"type":"pong","body":{}}',
            "unknown_message",
            "“pong” isn't a message type here.* ping",
        ),
        ('{"n":1,"type":"ping","body":{}}', "invalid_message", "ping: .* field `text`"),
        ('{"n":1,"type":"ping","body":{"text":1}}', "invalid_message", r"at `\$.text`"),
        ('{"n":1,"type":"ping","body":[]}', "invalid_message", "Expected `object`, got `array`"),
        ('{"n":1,"type":"ping","body":null}', "invalid_message", "got `null`"),
    ],
    ids=range(20),
)
def test_what_is_no_message(text: str, code: str, says: str) -> None:
    with pytest.raises(ProtocolError, match=says) as refused:
        TABLE.decode(text)
    assert refused.value.code == code
    assert len(str(refused.value)) < 400


def test_each_table_has_its_word_for_the_unknown() -> None:
    with pytest.raises(ProtocolError) as refused:
        COMMANDS.decode('{"n":1,"type":"pong","body":{}}')
    assert refused.value.code == "unknown_command"


@pytest.mark.parametrize(
    ("text", "n", "id"),
    [
        ('{"n":3,"id":"c","type":1}', 3, "c"),
        ('{"n":"x","id":"c"}', None, "c"),
        ('{"n":3,"id":[]}', 3, None),
        (f'{{"n":{"9" * 400},"id":"c"}}', None, "c"),
        ('{"n":true}', None, None),
        ("[]", None, None),
        ("{", None, None),
        ("", None, None),
        (DEEP, None, None),
    ],
    ids=range(9),
)
def test_an_answer_names_what_could_be_read(text: str, n: int | None, id: str | None) -> None:
    address = decode_envelope_header(text)
    assert (address.n, address.id) == (n, id)
