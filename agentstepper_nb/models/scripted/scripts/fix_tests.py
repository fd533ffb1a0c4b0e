"""What the model says to `examples/fix_tests.py`, and to `agentstepper code` in that example's project.

It runs the tests, reads the code, writes a fix that looks right and isn't, runs the tests again,
and says honestly how it ended. A person who corrects the arguments of `write_file` (the coding agent's
`edit_file`) in the debugger, `GUESS` to `RIGHT`, sees the tests go green; so does one who tells it of
cents in the prompt. One who asks it to "only list the files" gets a list.
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

FILE = "cart.py"

#: The line of the sample project that is wrong, the model's guess, and what a person makes of it.
WRONG = "    return sum(price * quantity for price, quantity in items)"
GUESS = "    return round(sum(price * quantity for price, quantity in items))"
RIGHT = "    return round(sum(price * quantity for price, quantity in items), 2)"


def has_tool(name: str) -> RequestCondition:
    """The model is offered a tool of this name."""
    return where(
        f"has {name}",
        lambda request: any(tool["function"]["name"] == name for tool in request.tools or ()),
    )


coding = has_tool("edit_file")


def run_tests(text: str) -> Callable[[ChatCompletionRequest], ScriptedReply]:
    """Say something and run the tests, by the tool that there is."""
    command = ScriptedCall("run_command", {"command": "python -m pytest -q"})
    return lambda request: say(text, command if coding(request) else ScriptedCall("run_tests"))


def write_wrong_fix(request: ChatCompletionRequest) -> ScriptedReply:
    """Write a fix that rounds to whole numbers."""
    return say("The sum of floats isn't rounded. I round it.", rewrite_line(request, GUESS))


def write_right_fix(request: ChatCompletionRequest) -> ScriptedReply:
    """Write the right fix."""
    return say(
        "The sum of floats isn't rounded. I round it to cents.", rewrite_line(request, RIGHT)
    )


def rewrite_line(request: ChatCompletionRequest, line: str) -> ScriptedCall:
    """Change the one line: in the file, or in what was read of it, which is written anew."""
    if coding(request):
        return ScriptedCall("edit_file", {"path": FILE, "old": WRONG, "new": line})
    code = find_last_tool_result(request, "read_file") or ""
    return ScriptedCall("write_file", {"path": FILE, "content": code.replace(WRONG, line)})


def name_files(request: ChatCompletionRequest) -> ScriptedReply:
    """Say which files there are."""
    listed = find_last_tool_result(request, "list_files") or ""
    files = json.loads(listed)["entries"] if coding(request) else listed.split()
    return say(f"There are {len(files)} files: {', '.join(files)}.")


can_only_list = says("user", r"(?i)\bonly list\b")
names_files = says("user", r"(?i)\bcents\b")
has_listed = tool_says("list_files", "")
tests_pass = tool_says("run_tests", r"^exit code 0\b") | tool_says(
    "run_command", r'"exit_code":0\b'
)

script = Script(
    "fix_tests",
    [
        ScriptRule(can_only_list & has_listed, name_files),
        ScriptRule(can_only_list, say("I only look.", ScriptedCall("list_files"))),
        ScriptRule(turn(0), run_tests("I run the tests, to see what fails.")),
        ScriptRule(tests_pass, say("All tests pass.")),
        ScriptRule(
            turn(1),
            say("A total is off. I read the code.", ScriptedCall("read_file", {"path": FILE})),
        ),
        ScriptRule(turn(2) & names_files, write_right_fix),
        ScriptRule(turn(2), write_wrong_fix),
        ScriptRule(turn(3), run_tests("Let me see whether that was it.")),
        ScriptRule(turn(4), say("The tests still fail. My fix was wrong, and I stop here.")),
    ],
    about="A coding agent on a small project with a failing test.",
)
