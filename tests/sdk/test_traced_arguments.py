"""What a person sees and edits of a traced call: arguments by name, and what isn't whole."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentstepper_nb import AgentStepper, ProtocolError, ToolDeniedError
from agentstepper_nb.protocol.data_model import EventOutcome
from tests.sdk.scripted_core import STEP, ScriptedAnswers, ScriptedCore, make_edit_answer
from tests.sdk.traced_values import (
    FrameworkObject,
    answer_with_edits,
    make_opaque_mark,
    read_halt_point_data,
)


def test_arguments_are_shown_by_name(dbg: AgentStepper, core: ScriptedCore) -> None:
    @dbg.traced_tool
    def tool(a: int, /, b: int, *rest: int, c: int = 0, **more: Any) -> None:
        """Do."""

    tool(1, 2, 3, 4, c=5, d=6)
    tool(1, b=2)
    dbg.close()
    first, _, second, _ = read_halt_point_data(core.wait_for_peer())
    assert first == {
        "Tool": "tool",
        "Argument": {"a": 1, "b": 2, "rest": [3, 4], "c": 5, "more": {"d": 6}},
    }
    assert second == {"Tool": "tool", "Argument": {"a": 1, "b": 2}}
    assert (tool.__name__, tool.__doc__) == ("tool", "Do.")


def test_edited_arguments_arrive(dbg: AgentStepper, core: ScriptedCore) -> None:
    @dbg.traced_tool
    def tool(a: int, /, b: int = 0, *rest: int, c: int = 0, **more: Any) -> Any:
        return [a, b, rest, c, more]

    core.policy = ScriptedAnswers(
        make_edit_answer(
            '{"Tool":"tool","Argument":{"a":9,"b":8,"rest":[7,6],"c":5,"more":{"d":4}}}'
        ),
        STEP,
        make_edit_answer('{"Tool":"tool","Argument":{"a":9,"c":1}}'),
    )
    assert tool(1) == [9, 8, (7, 6), 5, {"d": 4}]
    assert tool(1, 2, 3) == [9, 0, (), 1, {}]


def test_objects_are_passed_through_and_shown(dbg: AgentStepper, core: ScriptedCore) -> None:
    thing, things, numbers = FrameworkObject(), [FrameworkObject(), {"x": FrameworkObject()}], [1]
    got: list[Any] = []

    @dbg.traced_tool
    def tool(thing: Any, things: Any, numbers: Any, flag: bool) -> Any:
        got[:] = [thing, things, numbers, flag]
        return thing

    assert tool(thing, things, numbers, False) is thing
    assert got[0] is thing
    assert got[1] is things
    assert got[2] is numbers

    text = json.dumps(
        {
            "Tool": "tool",
            "Argument": {
                "thing": make_opaque_mark("<a thing>", 1),
                "things": [make_opaque_mark("<a thing>", 2), "new"],
                "numbers": [1],
                "flag": True,
            },
        }
    )
    core.policy = ScriptedAnswers(
        make_edit_answer(text),
        make_edit_answer(json.dumps({"was": make_opaque_mark("<a thing>", 1)})),
    )
    assert tool(thing, things, numbers, False) == {"was": thing}
    assert got == [thing, [things[0], "new"], numbers, True]
    assert got[2] is numbers, "what wasn't edited is the same object"
    dbg.close()
    begin, end, *_ = read_halt_point_data(core.wait_for_peer())
    assert begin["Argument"]["things"] == [
        make_opaque_mark("<a thing>", 2),
        {"x": make_opaque_mark("<a thing>", 3)},
    ]
    assert end == make_opaque_mark("<a thing>", 1)


def test_to_json_comes_before_the_mark(core: ScriptedCore) -> None:
    def to_json(value: Any) -> Any:
        if isinstance(value, FrameworkObject):
            if value is other:
                raise TypeError
            return {"thing": {1}}
        if isinstance(value, set):
            return sorted(value)
        raise TypeError

    thing, other = FrameworkObject(), FrameworkObject()
    with AgentStepper("T", "127.0.0.1", core.port, to_json=to_json) as dbg:

        @dbg.traced_tool
        def tool(thing: Any, other: Any) -> Any:
            return thing

        answer_with_edits(core, '{"Tool":"tool","Argument":{"thing":{"thing":[1]}}}')
        with pytest.raises(TypeError, match="other"):
            tool(thing, other)
        assert tool(thing, other) is thing
    begin, _, _, end = read_halt_point_data(core.wait_for_peer())
    assert begin["Argument"]["thing"] == end == {"thing": [1]}
    assert begin["Argument"]["other"]["$ref"] == 1


def test_what_the_person_saw_redacted_is_not_an_edit(core: ScriptedCore) -> None:
    def redact(word: str, value: Any) -> Any:
        if word == "tool_call":
            return {**value, "Argument": {**value["Argument"], "password": "***"}}
        return value

    with AgentStepper("T", "127.0.0.1", core.port, redact=redact) as dbg:

        @dbg.traced_tool
        def login(user: str, password: str) -> str:
            return f"{user}:{password}"

        answer_with_edits(core, '{"Tool":"login","Argument":{"user":"eve","password":"***"}}')
        assert login("bob", "secret") == "eve:secret"


def test_a_call_that_does_not_fit_fails_as_ever(dbg: AgentStepper, core: ScriptedCore) -> None:
    @dbg.traced_tool
    def tool(a: int) -> int:
        return a

    with pytest.raises(TypeError, match="unexpected keyword argument 'b'"):
        tool(b=1)
    core.policy = ScriptedAnswers(make_edit_answer('{"Tool":"tool","Argument":{"a":1,"zz":1}}'))
    with pytest.raises(TypeError, match="zz"):
        tool(1)


def test_another_tool_is_not_ours_to_call(dbg: AgentStepper, core: ScriptedCore) -> None:
    called: list[int] = []

    @dbg.traced_tool
    def remove(a: int) -> None:
        called.append(a)

    core.policy = ScriptedAnswers(make_edit_answer('{"Tool":"list","Argument":{"a":1}}'))
    with pytest.raises(ToolDeniedError, match="replaced the tool remove by list"):
        remove(1)
    core.policy = ScriptedAnswers(make_edit_answer('{"Tool":"remove","Argument":[1]}'))
    with pytest.raises(ProtocolError, match="one field for each argument"):
        remove(1)
    assert called == []
    dbg.close()
    peer = core.wait_for_peer()
    peer.wait_until_gone()
    assert [p.outcome for p in peer.halt_points[1:]] == [
        None,
        EventOutcome.ERROR,
        None,
        EventOutcome.ERROR,
    ]


@pytest.mark.slow
def test_values_too_large_for_a_message_are_shown_in_part(
    dbg: AgentStepper, core: ScriptedCore
) -> None:
    large = "x" * (65 * 1024 * 1024)

    @dbg.traced_tool
    def tool(small: str, large: str) -> str:
        return large

    assert tool("s", large) is large
    dbg.close()
    begin, end = read_halt_point_data(core.wait_for_peer())
    assert begin["Argument"]["small"] == "s"
    assert begin["Argument"]["large"]["$repr"].endswith("…")
    assert end["$repr"].startswith("'xxx")
