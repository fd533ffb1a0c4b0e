"""The scripted model of `examples/fix_tests.py`, and of `agentstepper code` in that example's project.

The model runs the tests, reads the code, writes a plausible but wrong fix, runs the tests again, and
reports the result. The tests pass if a person corrects the arguments of `write_file` (the coding agent's
`edit_file`) in the debugger, from `GUESSED_LINE` to `RIGHT_LINE`, or if the prompt mentions cents. A
prompt that says "only list the files" gets a list of files.
"""

import json
from collections.abc import Callable

from agentstepper_nb.llm_wire.chat_completions import ChatCompletionRequest
from agentstepper_nb.models.scripted import (
    RequestCondition,
    Script,
    ScriptedCall,
    ScriptedReply,
    ScriptRule,
    find_last_tool_result,
    say,
    says,
    tool_says,
    turn,
    where,
)

FILE_NAME = "cart.py"

#: The wrong line of the sample project, the model's wrong fix, and the right fix.
WRONG_LINE = "    return sum(price * quantity for price, quantity in items)"
GUESSED_LINE = "    return round(sum(price * quantity for price, quantity in items))"
RIGHT_LINE = "    return round(sum(price * quantity for price, quantity in items), 2)"


def has_tool(name: str) -> RequestCondition:
    """Match requests that offer a tool of this name."""
    return where(
        f"has {name}",
        lambda request: any(tool["function"]["name"] == name for tool in request.tools or ()),
    )


has_edit_tool = has_tool("edit_file")


def run_tests(text: str) -> Callable[[ChatCompletionRequest], ScriptedReply]:
    """Reply with a text and a call that runs the tests, by whichever tool the request offers."""
    command = ScriptedCall("run_command", {"command": "python -m pytest -q"})
    return lambda request: say(
        text, command if has_edit_tool(request) else ScriptedCall("run_tests")
    )


def write_wrong_fix(request: ChatCompletionRequest) -> ScriptedReply:
    """Reply with a wrong fix, which rounds to whole numbers."""
    return say("The sum of floats isn't rounded. I round it.", rewrite_line(request, GUESSED_LINE))


def write_right_fix(request: ChatCompletionRequest) -> ScriptedReply:
    """Reply with the right fix, which rounds to cents."""
    return say(
        "The sum of floats isn't rounded. I round it to cents.", rewrite_line(request, RIGHT_LINE)
    )


def rewrite_line(request: ChatCompletionRequest, line: str) -> ScriptedCall:
    """Replace the wrong line: with `edit_file`, or by writing the whole file with `write_file`."""
    if has_edit_tool(request):
        return ScriptedCall("edit_file", {"path": FILE_NAME, "old": WRONG_LINE, "new": line})
    code = find_last_tool_result(request, "read_file") or ""
    return ScriptedCall(
        "write_file", {"path": FILE_NAME, "content": code.replace(WRONG_LINE, line)}
    )


def reply_with_files(request: ChatCompletionRequest) -> ScriptedReply:
    """Reply with the names of the files."""
    listed = find_last_tool_result(request, "list_files") or ""
    files = json.loads(listed)["entries"] if has_edit_tool(request) else listed.split()
    return say(f"There are {len(files)} files: {', '.join(files)}.")


prompt_asks_for_list_only = says("user", r"(?i)\bonly list\b")
prompt_names_cents = says("user", r"(?i)\bcents\b")
has_listed = tool_says("list_files", "")
tests_pass = tool_says("run_tests", r"^exit code 0\b") | tool_says(
    "run_command", r'"exit_code":0\b'
)

script = Script(
    "fix_tests",
    [
        ScriptRule(prompt_asks_for_list_only & has_listed, reply_with_files),
        ScriptRule(prompt_asks_for_list_only, say("I only look.", ScriptedCall("list_files"))),
        ScriptRule(turn(0), run_tests("I run the tests, to see what fails.")),
        ScriptRule(tests_pass, say("All tests pass.")),
        ScriptRule(
            turn(1),
            say("A total is off. I read the code.", ScriptedCall("read_file", {"path": FILE_NAME})),
        ),
        ScriptRule(turn(2) & prompt_names_cents, write_right_fix),
        ScriptRule(turn(2), write_wrong_fix),
        ScriptRule(turn(3), run_tests("Let me see whether that was it.")),
        ScriptRule(turn(4), say("The tests still fail. My fix was wrong, and I stop here.")),
    ],
    description="A coding agent on a small project with a failing test.",
)
