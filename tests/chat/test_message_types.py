"""Message types: what each needs, what is refused, and what an extension adds."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentstepper_nb.chat import outputs
from agentstepper_nb.chat.message_types import (
    MessageTypeSpec,
    add_message_type,
    check_message,
    find_message_type,
    format_message_text,
    to_displayed_message,
    type_registry,
)
from agentstepper_nb.errors import ProtocolError
from agentstepper_nb.protocol.chat import AgentOutput, Message, MessageType
from tests.chat.harness import GIF, PICTURES, PNG, make_output_message, message

FINE = [
    message("Hello"),
    message("It broke.", format="error"),
    make_output_message(outputs.code("print(1)", "python")),
    make_output_message(outputs.code("1", "text", format="result")),
    make_output_message(outputs.code_file("src/a.py", "python")),
    make_output_message(outputs.console("1\n")),
    *(make_output_message(outputs.image(data, media_type=type)) for type, data in PICTURES.items()),
    make_output_message(outputs.image(PNG)),
    make_output_message(outputs.image("plots/a.png", alt="a plot")),
    make_output_message(outputs.call("ls", {})),
    make_output_message(outputs.call("ls", {"path": "."}), result=["a"], ok=True),
    make_output_message(outputs.call("ls", [1]), result=None, ok=False),
    make_output_message(outputs.confirmation("Sure?"), final=False),
    make_output_message(outputs.confirmation("Sure?"), chosen="No"),
    make_output_message(outputs.confirmation("Sure?")),
    make_output_message(outputs.confirmation("Read this.", ["OK"]), final=False),
    message("more", details={"any": ["JSON", 1, None]}),
]


@pytest.fixture(autouse=True)
def as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test adds goes with it."""
    monkeypatch.setattr(type_registry, "_entries", dict(type_registry._entries))


def refused(bad: Any) -> ProtocolError:
    with pytest.raises(ProtocolError) as caught:
        check_message(bad)
    assert caught.value.code == "invalid_message"
    return caught.value


@pytest.mark.parametrize("given", FINE, ids=range(len(FINE)))
def test_what_is_right_stays_as_it_is(given: Message) -> None:
    checked = check_message(given)
    assert msgspec.structs.replace(checked, media_type=given.media_type) == given
    assert to_displayed_message(checked) is checked
    assert format_message_text(checked).strip()


def test_every_built_in_type_is_there() -> None:
    assert type_registry.names() == tuple(MessageType)


@pytest.mark.parametrize("word", ["message", "MESAGE", "OTHER", "SVG", "TEXT", "CODE\n"])
def test_inv_msg_001_only_enumerated_types(word: str) -> None:
    """A type that is neither built in nor added is refused by name; none stands in for it."""
    wrong = refused(message("x", type=word))
    assert wrong.field == "type"
    assert "there are: MESSAGE, CODE, CONFIRMATION, CONSOLE, IMAGE, FUNCTION" in str(wrong)
    with pytest.raises(ProtocolError):
        to_displayed_message(message("x", type=word))
    with pytest.raises(ProtocolError):
        format_message_text(message("x", type=word))


@given(word=st.text(max_size=12))
def test_inv_msg_001_whatever_the_word(word: str) -> None:
    """No text but the six is taken for a type."""
    if word in MessageType.__members__:
        assert find_message_type(word).name == word
    else:
        refused(message("x", type=word))


BAD: list[tuple[str, dict[str, Any]]] = [
    ("format", {"format": "markdown"}),
    ("language", {"language": "python"}),
    ("data", {"data": PNG}),
    ("choices", {"choices": ("a",)}),
    ("language", {"type": "CODE", "format": "source"}),
    ("language", {"type": "CODE", "format": "source", "language": "  "}),
    ("format", {"type": "CODE", "language": "python"}),
    ("format", {"type": "CODE", "language": "python", "format": "python"}),
    ("path", {"type": "CODE", "language": "a", "format": "source", "path": "b", "content": "c"}),
    ("language", {"type": "CONSOLE", "language": "sh"}),
    ("data", {"type": "IMAGE"}),
    ("data", {"type": "IMAGE", "path": ""}),
    ("data", {"type": "IMAGE", "path": "a.png", "data": PNG}),
    ("data", {"type": "IMAGE", "data": b"<svg onload=alert(1)>"}),
    ("data", {"type": "IMAGE", "data": b"<html>"}),
    ("media_type", {"type": "IMAGE", "path": "a.svg", "media_type": "image/svg+xml"}),
    ("media_type", {"type": "IMAGE", "data": PNG, "media_type": "text/html"}),
    ("media_type", {"type": "IMAGE", "data": GIF, "media_type": "image/png"}),
    ("data", {"type": "IMAGE", "data": PNG + bytes(10 * 1024 * 1024)}),
    ("content", {"type": "CONFIRMATION", "choices": ("a",)}),
    ("choices", {"type": "CONFIRMATION", "content": "?", "choices": ()}),
    ("choices", {"type": "CONFIRMATION", "content": "?", "choices": ("a", "a")}),
    ("choices", {"type": "CONFIRMATION", "content": "?", "choices": ("a", " ")}),
    ("choices", {"type": "CONFIRMATION", "content": "?", "choices": ("a" * 1001,)}),
    ("choices", {"type": "CONFIRMATION", "content": "?", "choices": tuple(map(str, range(21)))}),
    ("chosen", {"type": "CONFIRMATION", "content": "?", "choices": ("a",), "chosen": "b"}),
    (
        "chosen",
        {
            "type": "CONFIRMATION",
            "content": "?",
            "choices": ("a",),
            "chosen": "a",
            "final": False,
        },
    ),
    ("name", {"type": "FUNCTION", "arguments": {}}),
    ("name", {"type": "FUNCTION", "arguments": {}, "name": " "}),
    ("arguments", {"type": "FUNCTION", "name": "ls"}),
    ("ok", {"type": "FUNCTION", "name": "ls", "arguments": {}, "result": 1}),
    ("format", {"type": "FUNCTION", "name": "ls", "arguments": {}, "format": "source"}),
    ("role", {"role": "robot"}),
    ("content", {"content": None}),
    ("content", {"content": "x" * 1_000_001}),
    ("created_at", {"created_at": math.nan}),
    ("created_at", {"created_at": -1}),
    ("id", {"id": ""}),
    ("session_id", {"session_id": "s" * 201}),
    ("agent_name", {"agent_name": ""}),
    ("final", {"final": "no"}),
    ("path", {"type": "IMAGE", "path": "a" * 5000}),
    ("details", {"details": "x" * 1_000_001}),
    ("details", {"details": {"a": b"bytes"}}),
    ("details", {"details": [10**5000]}),
    ("arguments", {"type": "FUNCTION", "name": "ls", "arguments": {"a": object()}}),
]


@pytest.mark.parametrize(("field", "fields"), BAD)
def test_inv_msg_001_a_type_asks_for_its_fields(field: str, fields: dict[str, Any]) -> None:
    """What its type needs is there, what belongs to another type isn't, and nothing is huge."""
    wrong = refused(message(**fields))
    if "object" not in str(wrong):  # what JSON can't carry has no place
        assert wrong.field == field
    assert len(str(wrong)) < 500


def test_what_is_nested_too_deep_is_refused() -> None:
    for depth in (100, 100_000):
        deep: Any = []
        for _ in range(depth):
            deep = [deep]
        refused(message(details=deep))


def test_what_contains_itself_is_refused() -> None:
    ring: list[Any] = []
    ring.append(ring)
    refused(make_output_message(outputs.call("ls", ring)))


def test_values_are_as_json_has_them() -> None:
    call = outputs.call("f", {"a": (1, {2}), 3: math.inf, "b": "\ud800"})
    given = make_output_message(call, content="\udcff")
    checked = check_message(given)
    assert checked.arguments == {"a": [1, [2]], "3": None, "b": "?"}
    assert checked.content == "?"
    assert msgspec.json.decode(msgspec.json.encode(checked), type=Message) == checked


def test_what_is_changed_afterwards_changes_no_message() -> None:
    arguments = {"path": "a"}
    checked = check_message(make_output_message(outputs.call("rm", arguments)))
    arguments["path"] = "/"
    assert checked.arguments == {"path": "a"}


def test_a_picture_has_the_media_type_of_its_bytes() -> None:
    for media_type, data in PICTURES.items():
        assert check_message(make_output_message(outputs.image(data))).media_type == media_type


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.binary(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=5,
)
any_message = st.builds(
    message,
    type=st.sampled_from([*MessageType, "TABLE"]),
    content=st.text(max_size=10),
    format=st.sampled_from([None, "source", "result", "error", "x"]),
    language=st.sampled_from([None, "", "python"]),
    data=st.sampled_from([None, b"", PNG, b"<svg>"]),
    path=st.sampled_from([None, "", "a.png"]),
    choices=st.sampled_from([(), ("a",), ("a", "a")]),
    chosen=st.sampled_from([None, "a", "b"]),
    name=st.sampled_from([None, "ls"]),
    arguments=json_values,
    result=json_values,
    ok=st.sampled_from([None, True, False]),
    details=json_values,
    final=st.booleans(),
)


@given(given=any_message)
def test_inv_msg_001_whatever_a_message_has(given: Message) -> None:
    """A message is refused with a reason, or is one that travels, stays what it is, and has a text."""
    try:
        checked = check_message(given)
    except ProtocolError as error:
        assert error.code == "invalid_message"
        return
    assert checked.type in MessageType.__members__
    assert check_message(checked) == checked
    assert msgspec.json.decode(msgspec.json.encode(checked), type=Message) == checked
    assert isinstance(format_message_text(checked), str)


# ---- as text ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("piece", "more", "text"),
    [
        (outputs.text("Hello"), {}, "Hello"),
        (outputs.code("print(1)\n", "python"), {}, "```python\nprint(1)\n```"),
        (outputs.code("````\n```", "md"), {}, "`````md\n````\n```\n`````"),
        (outputs.code_file("a.py", "python"), {}, "[python code in a.py]"),
        (outputs.console("1\n"), {}, "1\n"),
        (outputs.image(PNG, alt="a dot"), {}, "[image: a dot (image/png, 8 bytes)]"),
        (outputs.image("b.png"), {}, "[image: without a description (b.png)]"),
        (outputs.image("a.png", alt="a plot"), {}, "[image: a plot (a.png)]"),
        (outputs.confirmation("Sure?"), {"final": False}, "Sure?\n[Yes / No]"),
        (outputs.confirmation("Sure?"), {"chosen": "No"}, "Sure?\n[Yes / No]\n→ No"),
        (outputs.confirmation("Sure?"), {}, "Sure?\n[Yes / No]\n→ withdrawn"),
        (outputs.call("ls", {"a": "ä"}), {}, 'ls({"a": "ä"})'),
        (outputs.call("ls", {}), {"result": "a.py", "ok": True}, "ls({})\n→ a.py"),
        (outputs.call("ls", {}), {"result": [1], "ok": False}, "ls({})\n→ failed: [1]"),
    ],
)  # fmt: skip
def test_messages_as_text(piece: AgentOutput, more: dict[str, Any], text: str) -> None:
    assert format_message_text(check_message(make_output_message(piece, **more))) == text


# ---- a type that is added --------------------------------------------------------------------------


def table(**fields: Any) -> MessageTypeSpec:
    def wrong(message: Message) -> str | None:
        rows = message.details
        return None if isinstance(rows, list) and rows else "details: a table has rows"

    def lines(message: Message) -> str:
        return "\n".join(" | ".join(row) for row in message.details)

    def as_message(message: Message) -> Message:
        return msgspec.structs.replace(
            message, type="MESSAGE", content=lines(message), details=None, name=None
        )

    return MessageTypeSpec(
        **{"name": "TABLE", "check": wrong, "to_displayed": as_message, "as_text": lines, **fields}
    )


def test_a_type_is_added() -> None:
    given = message(type="TABLE", details=[["a", "b"], ["1", "2"]])
    refused(given)
    add_message_type(table())
    checked = check_message(given)
    assert checked == given
    assert format_message_text(checked) == "a | b\n1 | 2"
    assert to_displayed_message(checked) == message("a | b\n1 | 2")
    assert type_registry.names()[-1] == "TABLE"
    assert refused(message(type="TABLE", details=[])).field == "details"
    assert refused(message(type="TABLE", details=[["a"]], language="x")).field == "language"


def test_a_type_names_the_fields_it_has() -> None:
    add_message_type(table(fields=frozenset({"name"})))
    assert check_message(message(type="TABLE", details=[["a"]], name="sales")).name == "sales"
    with pytest.raises(ValueError, match="has no color, rows: put"):
        add_message_type(table(fields=frozenset({"rows", "color", "name"})))


@pytest.mark.parametrize("into", ["TABLE", "CODE", "NOTHING"])
def test_a_type_that_cannot_be_shown_is_refused(into: str) -> None:
    """As nothing that is right, or as itself: a backend that doesn't know it would have nothing."""
    add_message_type(
        table(to_displayed=lambda message: msgspec.structs.replace(message, type=into))
    )
    refused(message(type="TABLE", details=[["a"]]))


@pytest.mark.parametrize("part", ["check", "to_displayed", "as_text"])
def test_an_extension_that_fails_is_told_of(part: str) -> None:
    add_message_type(table(**{part: lambda message: message.details["rows"]}))
    wrong = refused(message(type="TABLE", details=[["a"]]))
    assert "TABLE, its extension failed: TypeError: list indices" in str(wrong)


def test_an_extension_gives_what_it_should() -> None:
    add_message_type(table(as_text=lambda message: message.details))
    assert "as_text gave list, not a text" in str(refused(message(type="TABLE", details=[["a"]])))
    add_message_type(table(to_displayed=lambda message: "a | b"))
    assert refused(message(type="TABLE", details=[["a"]])).field == "type"


def test_a_type_is_shown_under_its_id() -> None:
    add_message_type(
        table(
            to_displayed=lambda message: msgspec.structs.replace(
                message, type="MESSAGE", id="other"
            )
        )
    )
    assert refused(message(type="TABLE", details=[["a"]])).field == "type"


def test_a_built_in_type_stays() -> None:
    with pytest.raises(ValueError, match="CODE is built in"):
        add_message_type(table(name="CODE"))
    with pytest.raises(ValueError, match="capitals"):
        add_message_type(table(name="table"))
