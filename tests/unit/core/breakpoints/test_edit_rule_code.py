"""The Python of an edit rule does in the agent what the rule did."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentstepper_nb.core.breakpoints import EditRuleEngine, RulePoint, make_rule_code
from agentstepper_nb.protocol.data_model import EventKind, EventSide
from agentstepper_nb.protocol.edit_rules import EditRuleDefinition, ReplaceText, SetValue

TOOL, QUERY = EventKind.TOOL_INVOCATION, EventKind.LLM_QUERY
BEGIN, END = EventSide.BEGIN, EventSide.END

VALUES: list[Any] = [
    {"limit": 9, "where": {"path": ["a.py", "b.py"]}, "text": "foo"},
    {"limit": 5},
    {"messages": [{"role": "user", "content": "foo"}, {"content": ["foo", {"text": "foo"}]}]},
    ["foo", {"text": "foo"}],
    "foo",
    None,
]


def load(code: str) -> Any:
    """The last function that a program defines."""
    names: dict[str, Any] = {}
    exec(compile(code, "rule.py", "exec"), names)
    return [value for key, value in names.items() if key.startswith("edit")][-1]


def apply(engine: EditRuleEngine, rule: EditRuleDefinition, value: Any) -> Any:
    """What the rule makes of a value, shown as the halt point's data is."""
    is_call = rule.kind is TOOL and rule.side is BEGIN
    data = {"Tool": "search", "Argument": value} if is_call else value
    made = engine.apply(
        RulePoint(rule.kind, rule.side, "search", None), json.dumps(data), lambda _: None
    )
    edited = data if made.edit is None else json.loads(made.edit)
    return edited["Argument"] if is_call else edited


@pytest.mark.parametrize("once", [False, True])
@pytest.mark.parametrize(
    ("kind", "side", "path", "change"),
    [
        (TOOL, BEGIN, "/Argument/limit", SetValue(value="5")),
        (TOOL, BEGIN, "/Argument/where/path/1", SetValue(value='{"a": [null, true, 1.5]}')),
        (TOOL, BEGIN, "/Argument", SetValue(value='{"limit": 1}')),
        (TOOL, BEGIN, "/Argument", ReplaceText(pattern="(f)oo", replacement=r"\1ee")),
        (TOOL, END, "", ReplaceText(pattern=r"fo+", replacement='it\'s "x"')),
        (TOOL, END, "/text", ReplaceText(pattern="foo")),
        (QUERY, BEGIN, "/messages", ReplaceText(pattern="foo", replacement="bar")),
        (QUERY, END, "", SetValue(value='"done"')),
        (EventKind.CUSTOM, BEGIN, "/0", SetValue(value="1")),
        (QUERY, END, "", ReplaceText(pattern=r"\p{L}+", replacement="x")),  # `re` has no \p
    ],
    ids=range(10),
)
def test_the_code_has_the_same_effect(
    kind: EventKind, side: EventSide, path: str, change: Any, once: bool
) -> None:
    rule = EditRuleDefinition(
        id="r", kind=kind, side=side, path=path, change=change, name="sea*", once=once
    )
    engine, function = EditRuleEngine("P", [rule]), load(make_rule_code(rule))
    changed = 0
    for value in VALUES:
        before = json.dumps(value)
        expected = apply(engine, rule, value)
        assert function(value) == expected
        assert json.dumps(value) == before, "the agent's own value was changed"
        changed += expected != value
    assert changed == 1 if once else changed >= 1


def test_the_code_says_where_it_belongs() -> None:
    rule = EditRuleDefinition(
        id="r",
        kind=TOOL,
        side=BEGIN,
        path="/Argument/limit",
        change=SetValue(value="5"),
        name="search",
        program="fix_*",
        agent="reader",
    )
    code = make_rule_code(rule)
    assert code.startswith(
        "# Edit rule: before tool search at /Argument/limit.\n"
        "# Call it before the tool is called: arguments = edit_search_arguments(arguments)\n"
        "# The rule is for agents of the program fix_* alone.\n"
        "# The rule is for the agent reader alone.\n"
    )
