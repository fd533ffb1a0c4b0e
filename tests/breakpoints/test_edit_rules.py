"""Edit rules in Python, at a Core that agents find; and as a diff of an agent's own code."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentstepper_nb import AgentStepper, EditRule, add_edit_rule, list_edit_rules
from agentstepper_nb.errors import CommandError, ProtocolError
from agentstepper_nb.hub.standalone import AgentStepperCore
from agentstepper_nb.protocol.data_model import EventKind, EventSide
from agentstepper_nb.protocol.edit_rules import ReplaceText, SetValue

AGENT = '''"""An agent."""

tools = []


def tool(function):
    tools.append(function)
    return function


@tool
def search(text: str, limit: int = 10, options: dict | None = None) -> str:
    """Search."""
    return f"{text} {limit} {options}"


class Shell:
    @staticmethod
    @tool
    async def run(command: str) -> str:
        return f"ran {command}"
'''


@pytest.fixture(scope="module")
def running() -> Iterator[AgentStepperCore]:
    with AgentStepperCore(client_port=0, ui_port=0) as core:
        yield core


@pytest.fixture(autouse=True)
def core(running: AgentStepperCore, monkeypatch: pytest.MonkeyPatch) -> Iterator[AgentStepperCore]:
    """A Core that this process finds, without a rule in the end."""
    monkeypatch.setenv("AGENTSTEPPER_URL", f"ws://127.0.0.1:{running.client_port}")
    yield running
    for rule in list_edit_rules():
        rule.delete()


def test_a_rule_is_set_listed_tried_switched_off_and_deleted() -> None:
    rule = add_edit_rule(EditRule("before tool search", "/Argument/limit", 5))
    assert list_edit_rules() == [rule]
    assert "before tool search" in repr(list_edit_rules())
    assert "before tool search" in list_edit_rules()._repr_html_()
    with AgentStepper("agent", stop_on_entry=False) as agent:
        assert agent._timeline(30) is not None
    trial = rule.dry_run()
    assert trial.total == 0
    assert "agent" in repr(trial)
    rule.disable()
    assert not list_edit_rules()[0].enabled
    rule.enable()
    rule.delete()
    assert repr(list_edit_rules()) == "No edit rules are set."
    with pytest.raises(CommandError) as gone:
        rule.delete()
    assert gone.value.code == "unknown_edit_rule"


def test_words_and_changes_become_the_rule() -> None:
    made = EditRule("after llm gpt-* by reader once for fix_*", "", pattern="a+", replacement="b")
    assert (made.rule.kind, made.rule.side) == (EventKind.LLM_QUERY, EventSide.END)
    assert (made.rule.name, made.rule.agent) == ("gpt-*", "reader")
    assert (made.rule.program, made.rule.once) == ("fix_*", True)
    assert made.rule.change == ReplaceText(pattern="a+", replacement="b")
    assert EditRule("before tool a", "/Argument/x", None).rule.change == SetValue(value="null")
    assert str(made) == "after llm gpt-* by reader once the whole: 'a+' → 'b'"


@pytest.mark.parametrize(
    ("arguments", "options", "says"),
    [
        (("before tool a", "/x"), {}, "either value= or pattern="),
        (("before tool a", "/x", 1), {"pattern": "b"}, "either value= or pattern="),
        (("tool a", "/x", 1), {}, "needs a side and a kind"),
        (("before tool a where depth > 1", "/x", 1), {}, "name a place"),
        (("before tool a", "x", 1), {}, "isn't valid"),
    ],
    ids=range(5),
)
def test_what_isnt_understood_is_refused(
    arguments: tuple[Any, ...], options: dict[str, str], says: str
) -> None:
    with pytest.raises(ProtocolError, match=says):
        EditRule(*arguments, **options)


def test_the_core_judges_paths_and_patterns() -> None:
    with pytest.raises(ProtocolError, match="begins with /Argument"):
        add_edit_rule(EditRule("before tool a", "/Tool", "b"))
    assert list_edit_rules() == []


# ---- as a diff --------------------------------------------------------------------------------------


def patched(rule: EditRule, folder: Path, code: str = AGENT) -> dict[str, Any]:
    """The agent's code after the rule's diff was applied by git."""
    file = folder / "agent.py"
    file.write_text(code)
    diff = rule.make_diff(file)
    apply = ["git", "apply", "--unsafe-paths", "-"]
    subprocess.run(apply, input=diff.encode(), cwd=folder, check=True)
    names: dict[str, Any] = {}
    exec(compile(file.read_text(), "agent.py", "exec"), names)
    return names


def test_the_diff_of_an_argument_has_the_same_effect(tmp_path: Path) -> None:
    agent = patched(EditRule("before tool search", "/Argument/limit", 5), tmp_path)
    assert agent["search"]("a", limit=9) == "a 5 None"
    assert agent["search"].__doc__ == "Search."
    deep = EditRule("before tool search", "/Argument/options/depth", 1)
    agent = patched(deep, tmp_path)
    assert agent["search"]("a", 2, {"depth": 9}) == "a 2 {'depth': 1}"
    assert agent["search"]("a", 2, {}) == "a 2 {}"
    text = EditRule("before tool search", "/Argument/text", pattern="(a)b", replacement=r"\1")
    assert patched(text, tmp_path)["search"]("abab") == "aa 10 None"


def test_the_diff_of_a_result_stands_below_what_traces_the_tool(tmp_path: Path) -> None:
    agent = patched(EditRule("after tool search", "", pattern="a", replacement="b"), tmp_path)
    assert agent["tools"][0]("a") == "b 10 None"
    agent = patched(EditRule("after tool run", "", "done"), tmp_path)
    assert asyncio.run(agent["Shell"].run("ls")) == "done"


def test_the_diff_of_a_result_is_complete_where_the_tool_has_no_decorator(tmp_path: Path) -> None:
    code = "import os\n\n\ndef search(text):\n    return text\n"
    agent = patched(EditRule("after tool search", "", "done"), tmp_path, code)
    assert agent["search"]("a") == "done"


@pytest.mark.parametrize("between", ["\f", '"\u2028"'])
def test_the_diff_counts_lines_as_python_does(tmp_path: Path, between: str) -> None:
    code = f"import os\n{between}\n\ndef search(text):\n    return text\n"
    agent = patched(EditRule("before tool search", "/Argument/text", "b"), tmp_path, code)
    assert agent["search"]("a") == "b"


def test_what_the_file_hasnt_is_named(tmp_path: Path) -> None:
    file = tmp_path / "agent.py"
    file.write_text(AGENT)
    with pytest.raises(LookupError, match=r"agent\.py defines no function find"):
        EditRule("before tool find", "/Argument/x", 1).make_diff(file)
    with pytest.raises(LookupError, match="Choose one of text, limit, options"):
        EditRule("before tool search", "/Argument/x", 1).make_diff(file)
    with pytest.raises(ValueError, match="rule's code"):
        EditRule("before llm", "/heat", 1).make_diff(file)
