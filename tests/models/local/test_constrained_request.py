"""What a model without tools is asked instead."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest

from agentstepper_nb.llm_wire.conversation import (
    AssistantMessage,
    ModelRequest,
    ToolCall,
    ToolResultMessage,
    ToolSpec,
    UserMessage,
)
from agentstepper_nb.models.local.constrained_request import (
    MAX_ITEMS,
    MAX_TEXT_CHARS,
    MAX_TOKENS,
    constrain_request,
    limit_schema,
)

WRITE = ToolSpec(
    name="write_file",
    description="Write a file.",
    input_schema={
        "type": "object",
        "properties": {"path": {"type": "string"}, "mode": {"type": ["integer", "null"]}},
        "required": ["path"],
    },
)
LOOK = ToolSpec(name="look", description="Look.", input_schema={"type": "object", "properties": {}})
TALK = (
    UserMessage(content="Fix it."),
    AssistantMessage(
        content="I look.",
        tool_calls=(
            ToolCall(call_id="1", name="look", args_json="{}"),
            ToolCall(call_id="2", name="write_file", args_json='{"half'),
        ),
    ),
    ToolResultMessage(call_id="1", content="ü.py"),
    ToolResultMessage(call_id="2", content="no", ok=False),
    UserMessage(content="Go on."),
    AssistantMessage(content="Done."),
)


def make_request(**changed: Any) -> ModelRequest:
    return ModelRequest(**{"model": "m", "messages": TALK, "tools": (WRITE, LOOK), **changed})


def fits(schema: dict[str, Any] | None, answer: object) -> bool:
    assert schema is not None
    jsonschema.Draft202012Validator.check_schema(schema)
    return bool(jsonschema.Draft202012Validator(schema).is_valid(answer))


CALL_WRITE = {"tool": "write_file", "arguments": {"path": "a.py"}}
CALL_LOOK = {"tool": "look", "arguments": {}}
TEXT = {"text": "Done."}


@pytest.mark.parametrize(
    ("choice", "allowed"),
    [
        (None, [CALL_WRITE, CALL_LOOK, TEXT]),
        ("auto", [CALL_WRITE, CALL_LOOK, TEXT]),
        ("required", [CALL_WRITE, CALL_LOOK]),
        ("look", [CALL_LOOK]),
    ],
)
def test_an_answer_fits_what_may_be_chosen(choice: str | None, allowed: list[object]) -> None:
    schema = constrain_request(make_request(tool_choice=choice)).schema
    assert [a for a in (CALL_WRITE, CALL_LOOK, TEXT) if fits(schema, a)] == allowed
    for wrong in (
        {"tool": "write_file", "arguments": {}},
        {"tool": "look", "arguments": {"path": "a"}},
        {"tool": "look"},
        {"text": "a", "tool": "look", "arguments": {}},
        {"text": "x" * (MAX_TEXT_CHARS + 1)},
        {"tool": "write_file", "arguments": {"path": "x" * (MAX_TEXT_CHARS + 1)}},
    ):
        assert not fits(schema, wrong)


@pytest.mark.parametrize("changed", [{"tool_choice": "none"}, {"tools": ()}])
def test_without_tools_an_answer_is_free(changed: dict[str, Any]) -> None:
    asked = constrain_request(make_request(system="Be brief.", **changed))
    assert asked.schema is None
    assert asked.request.system == "Be brief."
    assert asked.request.messages[-1] == AssistantMessage(content="Done.")


def test_a_tool_that_isnt_there_can_not_be_chosen() -> None:
    with pytest.raises(ValueError, match="'gone'"):
        constrain_request(make_request(tool_choice="gone"))


def test_the_conversation_is_told_in_turns_of_text() -> None:
    asked = constrain_request(make_request(system="Be brief."))
    assert asked.request.tools == ()
    assert asked.request.tool_choice is None
    assert asked.request.messages == (
        UserMessage(content="Fix it."),
        AssistantMessage(
            content='I look.\n{"tool": "look", "arguments": {}}\n'
            '{"tool": "write_file", "arguments": "{\\"half"}'
        ),
        UserMessage(content="Result of look:\nü.py\n\nResult of write_file:\nno\n\nGo on."),
        AssistantMessage(content='{"text": "Done."}'),
    )
    assert asked.request.system == (
        "Be brief.\n\nTools:\n"
        "- write_file(path: string, mode?: integer|null): Write a file.\n"
        "- look(): Look.\n\n"
        'Answer with one JSON object: {"tool": NAME, "arguments": {…}} calls a tool, '
        '{"text": "…"} says something.'
    )


def test_who_must_call_is_not_told_of_texts() -> None:
    asked = constrain_request(make_request(tool_choice="look"))
    assert asked.request.system is not None
    assert "write_file" not in asked.request.system
    assert '"text"' not in asked.request.system


def test_limits_where_the_request_has_none() -> None:
    asked = constrain_request(make_request()).request
    assert (asked.max_tokens, asked.temperature) == (MAX_TOKENS, 0.0)
    asked = constrain_request(make_request(max_tokens=40, temperature=0.7)).request
    assert (asked.max_tokens, asked.temperature) == (40, 0.7)
    assert not fits(constrain_request(make_request(max_tokens=40)).schema, {"text": "x" * 41})


def test_every_text_and_list_has_an_end() -> None:
    schema = {
        "type": "object",
        "properties": {
            "type": {"type": "string"},
            "list": {"type": "array", "items": {"type": "string", "maxLength": 9999}},
            "either": {"anyOf": [{"type": "string", "maxLength": 3}, {"type": "null"}]},
            "word": {"enum": ["a", "b"], "type": "string"},
            "part": {"type": "string", "pattern": "b+"},
            "all": {"type": "string", "pattern": "^b+$"},
            "any": True,
            "file": {"$ref": "#/$defs/File"},
        },
        "$defs": {"File": {"type": "object", "properties": {"f": {"$ref": "#/$defs/File"}}}},
    }
    limited, definitions = limit_schema(schema, 50, "t.")
    text = {"type": "string", "maxLength": 50}
    assert limited == {
        "type": "object",
        "properties": {
            "type": text,
            "list": {"type": "array", "items": text, "maxItems": MAX_ITEMS},
            "either": {"anyOf": [{"type": "string", "maxLength": 3}, {"type": "null"}]},
            "word": {"enum": ["a", "b"], "type": "string"},
            "part": text,
            "all": {"type": "string", "pattern": "^b+$"},
            "any": True,
            "file": {"$ref": "#/$defs/t.File"},
        },
        "additionalProperties": False,
    }
    assert definitions == {
        "t.File": {
            "type": "object",
            "properties": {"f": {"$ref": "#/$defs/t.File"}},
            "additionalProperties": False,
        }
    }


def test_tools_that_call_different_things_the_same() -> None:
    def tool(name: str, kind: str) -> ToolSpec:
        schema = {
            "type": "object",
            "properties": {"x": {"$ref": "#/$defs/X"}},
            "required": ["x"],
            "$defs": {"X": {"type": kind}},
        }
        return ToolSpec(name=name, description="", input_schema=schema)

    schema = constrain_request(
        make_request(tools=(tool("a", "integer"), tool("b", "boolean")))
    ).schema
    assert fits(schema, {"tool": "a", "arguments": {"x": 1}})
    assert fits(schema, {"tool": "b", "arguments": {"x": True}})
    assert not fits(schema, {"tool": "b", "arguments": {"x": 1}})
