"""Mappings of agents, made pieces by rules."""

from __future__ import annotations

import base64
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentstepper_nb.chat.message_types import check_message
from agentstepper_nb.chat.request_converter import (
    DEFAULT_RULES,
    MappingRule,
    RequestConverter,
    convert_mapping,
    find_value,
    flatten,
)
from agentstepper_nb.errors import ProtocolError
from agentstepper_nb.protocol.chat import AgentOutput
from tests.chat.harness import PNG, make_output_message

keys = st.text(alphabet="ab.\\é ", min_size=1, max_size=4)
leaves = st.none() | st.booleans() | st.integers() | st.text(max_size=3)
nested = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=12,
)


def unflattened(flat: dict[str, Any], model: Any) -> Any:
    """A value of the shape of `model`, its leaves taken from their paths."""

    def made(value: Any, path: list[str]) -> Any:
        if isinstance(value, dict) and value:
            return {
                key: made(each, [*path, key.replace("\\", "\\\\").replace(".", "\\.")])
                for key, each in value.items()
            }
        if isinstance(value, list) and value:
            return [made(each, [*path, str(index)]) for index, each in enumerate(value)]
        return flat.pop(".".join(path))

    return made(model, [])


@given(value=nested)
def test_inv_converter_001_flattening_loses_nothing(value: Any) -> None:
    """Every value has a path of its own, and is found by it again."""
    flat = flatten(value)
    for path, each in flat.items():
        assert find_value(value, path) == each
    assert unflattened(flat, value) == value
    assert flat == {}


def test_keys_are_joined_by_dots_and_lists_have_indices() -> None:
    given = {"code": {"lines": ["a", "b"], "x.y": 1}, "empty": {}, "none": None, "back\\": [[]]}
    assert flatten(given) == {
        "code.lines.0": "a",
        "code.lines.1": "b",
        "code.x\\.y": 1,
        "empty": {},
        "none": None,
        "back\\\\.0": [],
    }
    assert flatten(5) == {"": 5}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("a", [{"b": 1}, 2]),
        ("a.0", {"b": 1}),
        ("a.0.b", 1),
        ("a.1", 2),
        ("a.2", "nothing"),
        ("a.-1", "nothing"),
        ("a.00", "nothing"),
        ("a.٠", "nothing"),
        ("a." + "9" * 5000, "nothing"),
        ("a.0.b.c", "nothing"),
        ("A", "nothing"),
        ("", {"a": [{"b": 1}, 2]}),
    ],
)
def test_a_path_leads_to_what_it_names(path: str, found: Any) -> None:
    assert find_value({"a": [{"b": 1}, 2]}, path, "nothing") == found


@pytest.mark.slow
def test_what_is_too_deep_or_too_large_is_refused() -> None:
    deep: Any = 1
    for _ in range(100_000):
        deep = {"a": deep}
    with pytest.raises(ProtocolError, match="nested deeper"):
        flatten(deep)
    with pytest.raises(ProtocolError, match="larger"):
        flatten({"k" * 100_000: list(range(1000))})
    with pytest.raises(ProtocolError, match="larger"):
        flatten([0] * 2_000_000)
    with pytest.raises(ProtocolError, match="must be a text, not int"):
        flatten({1: 2})
    ring: dict[str, Any] = {}
    ring["ring"] = ring
    with pytest.raises(ProtocolError, match="nested deeper"):
        convert_mapping(ring)


# ---- rules -----------------------------------------------------------------------------------------


def test_inv_converter_001_rules_say_what_becomes_what() -> None:
    """A piece is made by its rules alone: what they name, made what they make it."""
    converter = RequestConverter(
        [
            MappingRule("answer.parts.0", "content", str.upper),
            MappingRule("answer.meta", "details"),
            MappingRule("who", "role"),
            MappingRule("absent", "name"),
        ]
    )
    given = {"answer": {"parts": ["hello", "no"], "meta": {"a": [1]}}, "content": "not looked at"}
    assert converter.convert(given) == AgentOutput(content="HELLO", details={"a": [1]})


def test_inv_converter_001_one_rule_a_field() -> None:
    """Two rules that make one field are refused when the converter is made."""
    with pytest.raises(ValueError, match="the same field: content"):
        RequestConverter([MappingRule("a", "content"), MappingRule("b", "content")])


def test_a_rule_makes_a_field_that_there_is() -> None:
    with pytest.raises(
        ValueError, match="A piece has no field contnet; its fields are type, content"
    ):
        RequestConverter([MappingRule("a", "contnet")])


def test_the_default_rules_make_each_field() -> None:
    assert sorted(rule.target for rule in DEFAULT_RULES) == sorted(AgentOutput.__struct_fields__)


def test_a_transform_that_fails_names_its_rule() -> None:
    converter = RequestConverter([MappingRule("a.b", "content", lambda value: value["c"])])
    with pytest.raises(
        ProtocolError, match=r"`a.b` can't be converted to content: KeyError"
    ) as caught:
        converter.convert({"a": {"b": {}}})
    assert caught.value.field == "content"
    with pytest.raises(
        ProtocolError, match=r"The mapping has `x`, but a message needs one of `a.b`"
    ):
        converter.convert({"x": 1})
    with pytest.raises(ProtocolError, match="The mapping has nothing"):
        converter.convert({})


@given(
    values=st.dictionaries(st.sampled_from("abcd"), st.text(max_size=3), min_size=1),
    rules=st.dictionaries(
        st.sampled_from(["content", "language", "name", "path"]), st.sampled_from("abcd")
    ),
)
def test_inv_converter_001_whatever_the_rules(
    values: dict[str, str], rules: dict[str, str]
) -> None:
    """Each field has the value of its rule's path, and no other field has one."""
    converter = RequestConverter(MappingRule(f"in.{path}", field) for field, path in rules.items())
    wanted = {field: values[path] for field, path in rules.items() if path in values}
    if not wanted:
        with pytest.raises(ProtocolError):
            converter.convert({"in": values})
        return
    assert converter.convert({"in": values}) == AgentOutput(**wanted)


# ---- the words of others ----------------------------------------------------------------------------


CODE = AgentOutput(type="CODE", content="print(1)", language="python", format="source")


@pytest.mark.parametrize(
    ("given", "piece"),
    [
        ({"content": "Hello"}, AgentOutput(content="Hello")),
        (
            {"type": "CONFIRMATION", "content": "Sure?", "choices": ["Yes", "No"]},
            AgentOutput(type="CONFIRMATION", content="Sure?", choices=("Yes", "No")),
        ),
        (
            {"type": "FUNCTION", "name": "ls", "arguments": {"path": ["."]}, "call_id": "1"},
            AgentOutput(type="FUNCTION", name="ls", arguments={"path": ["."]}, call_id="1"),
        ),
        (
            {"role": "assistant", "content": "Hi", "refusal": None, "annotations": []},
            AgentOutput(content="Hi"),
        ),
        ({"role": "assistant", "content": None}, AgentOutput()),
        (
            {
                "role": "developer",
                "content": [
                    {"type": "text", "text": "a"},
                    {"type": "image_url", "image_url": {}},
                    {"type": "text", "text": "b"},
                ],
            },
            AgentOutput(role="system", content="ab"),
        ),
        ({"role": "tool", "content": "done"}, AgentOutput(role="computer", content="done")),
        ({"role": "assistant", "type": "message", "content": "Hi"}, AgentOutput(content="Hi")),
        (
            {"role": "assistant", "type": "code", "format": "python", "content": "print(1)"},
            CODE,
        ),
        ({"type": "code", "language": "python", "content": "print(1)"}, CODE),
        ({"code": {"language": "python", "code": "print(1)"}}, CODE),
        ({"language": "python", "code": "print(1)"}, CODE),
        (
            {"code": {"language": "text", "code": "1", "format": "result"}},
            AgentOutput(type="CODE", content="1", language="text", format="result"),
        ),
        (
            {"role": "computer", "type": "console", "format": "output", "content": "1\n"},
            AgentOutput(type="CONSOLE", content="1\n", role="computer"),
        ),
        (
            {"type": "image", "format": "path", "content": "plot.png"},
            AgentOutput(type="IMAGE", path="plot.png"),
        ),
        (
            {
                "type": "image",
                "format": "base64.png",
                "content": base64.b64encode(PNG).decode(),
            },
            AgentOutput(type="IMAGE", data=PNG),
        ),
    ],
)
def test_the_words_of_others(given: dict[str, Any], piece: AgentOutput) -> None:
    assert convert_mapping(given) == piece
    assert check_message(make_output_message(piece))


@pytest.mark.parametrize(
    "piece", [CODE, AgentOutput(content="a", details=[1]), AgentOutput(type="CONSOLE")]
)
def test_the_fields_of_a_piece_are_that_piece(piece: AgentOutput) -> None:
    assert convert_mapping(msgspec.to_builtins(piece)) == piece


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"contnet": "x"}, None),
        ({"type": "MESAGE", "content": "x"}, "type"),
        ({"type": "Message", "content": "x"}, "type"),
        ({"type": ["MESSAGE"], "content": "x"}, "type"),
        ({"role": "robot", "content": "x"}, "role"),
        ({"role": {}, "content": "x"}, "role"),
        ({"content": 5}, "content"),
        ({"content": ["a"]}, "content"),
        ({"content": [{"type": "text"}]}, "content"),
        ({"type": "image", "format": "base64.png", "content": "no base64!"}, "data"),
        ({"code": {"language": ["python"], "code": "x"}}, "language"),
        ({}, None),
    ],
)
def test_what_is_no_message_is_refused(given: dict[str, Any], field: str | None) -> None:
    with pytest.raises(ProtocolError) as caught:
        convert_mapping(given)
    assert caught.value.code == "invalid_message"
    assert caught.value.field == field


hostile = st.dictionaries(
    st.sampled_from(["type", "role", "content", "format", "language", "code", "data", "choices"])
    | keys,
    nested | st.sampled_from(["code", "image", "console", "base64.png", "path", "MESSAGE"]),
    max_size=6,
)


@given(mapping=hostile)
def test_inv_converter_001_whatever_an_agent_gives(mapping: dict[str, Any]) -> None:
    """A mapping is a piece, or is refused with a reason: nothing else comes of it."""
    try:
        piece = convert_mapping(mapping)
    except ProtocolError as error:
        assert error.code == "invalid_message"
        return
    assert msgspec.convert(msgspec.to_builtins(piece), AgentOutput) == piece
