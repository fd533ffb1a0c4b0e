"""The script that ships with the package, with the coding agent's tools."""

from __future__ import annotations

import json

import pytest

from agentstepper_nb.coding.tools import make_default_tools
from agentstepper_nb.coding.tools.file_edits import EditFileArgs
from agentstepper_nb.llm_wire import chat_completions
from agentstepper_nb.llm_wire.conversation import (
    AssistantMessage,
    ChatMessage,
    ModelRequest,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)
from agentstepper_nb.models.scripted import ScriptedReply
from agentstepper_nb.models.scripted.scripts.fix_tests import (
    GUESSED_LINE,
    RIGHT_LINE,
    WRONG_LINE,
    script,
)

RED = '{"ok":false,"data":{"exit_code":1,"output":"1 failed"},"error":"It ended with exit code 1."}'
GREEN = '{"exit_code":0,"output":"3 passed"}'


def reply(prompt: str, *results: tuple[str, str]) -> ScriptedReply:
    """What the script says after these tools gave these results."""
    messages: list[ChatMessage] = [UserMessage(content=prompt)]
    for number, (tool, result) in enumerate(results):
        call = ToolCall(call_id=str(number), name=tool, args_json="{}")
        messages.append(AssistantMessage(tool_calls=(call,)))
        messages.append(ToolResultMessage(call_id=str(number), content=result))
    asked = ModelRequest(model="m", messages=tuple(messages), tools=make_default_tools().specs())
    request = chat_completions.decode_request(chat_completions.encode_model_request(asked))
    return script.rule_for(request).reply_to(request)


@pytest.mark.parametrize(
    ("prompt", "line"), [("Fix the tests.", GUESSED_LINE), ("A price has whole cents.", RIGHT_LINE)]
)
def test_it_edits_the_line(prompt: str, line: str) -> None:
    (edit,) = reply(prompt, ("run_command", RED), ("read_file", "{}")).calls
    assert edit.tool == "edit_file"
    written = json.loads(edit.arguments_json)
    assert written == {"path": "cart.py", "old": WRONG_LINE, "new": line}
    assert set(written) <= set(EditFileArgs.__struct_fields__)


def test_it_runs_the_tests_before_and_after() -> None:
    (first,) = reply("Fix the tests.").calls
    so_far = [("run_command", RED), ("read_file", "{}"), ("edit_file", "{}")]
    (again,) = reply("Fix the tests.", *so_far).calls
    assert first == again
    assert (first.tool, first.arguments) == ("run_command", {"command": "python -m pytest -q"})
    assert reply("Fix the tests.", *so_far, ("run_command", GREEN)) == ScriptedReply(
        "All tests pass."
    )
    assert "still fail" in (reply("Fix the tests.", *so_far, ("run_command", RED)).text or "")


def test_it_names_the_files() -> None:
    listed = '{"path":".","entries":["a.py","b.py"]}'
    assert reply("only list the files", ("list_files", listed)).text == (
        "There are 2 files: a.py, b.py."
    )
