"""What the model says to `examples/fix_tests.py`.

It runs the tests, reads the code, writes a fix that looks right and isn't, runs the tests again,
and says honestly how it ended. A person who corrects the arguments of `write_file` in the debugger
(`GUESS` to `RIGHT`) sees the tests go green; so does one who tells it of cents in the prompt. One who
asks it to "only list the files" gets a list.
"""

from agentstepper_nb.llm_wire.chat import Request
from agentstepper_nb.models.scripted import (
    Call,
    Reply,
    Rule,
    Script,
    last_tool_result,
    say,
    says,
    tool_says,
    turn,
)

FILE = "cart.py"

#: The line of the sample project that is wrong, the model's guess, and what a person makes of it.
WRONG = "    return sum(price * quantity for price, quantity in items)"
GUESS = "    return round(sum(price * quantity for price, quantity in items))"
RIGHT = "    return round(sum(price * quantity for price, quantity in items), 2)"


def guess(request: Request) -> Reply:
    """Write a fix that rounds to whole numbers."""
    return say("The sum of floats isn't rounded. I round it.", rewrite(request, GUESS))


def fix(request: Request) -> Reply:
    """Write the right fix."""
    return say("The sum of floats isn't rounded. I round it to cents.", rewrite(request, RIGHT))


def rewrite(request: Request, line: str) -> Call:
    """Write the file that was read, with the one line changed."""
    code = last_tool_result(request, "read_file") or ""
    return Call("write_file", {"path": FILE, "content": code.replace(WRONG, line)})


def name_files(request: Request) -> Reply:
    """Say which files there are."""
    files = (last_tool_result(request, "list_files") or "").split()
    return say(f"There are {len(files)} files: {', '.join(files)}.")


only_list = says("user", r"(?i)\bonly list\b")
told = says("user", r"(?i)\bcents\b")
listed = tool_says("list_files", "")
green = tool_says("run_tests", r"^exit code 0\b")

script = Script(
    "fix_tests",
    [
        Rule(only_list & listed, name_files),
        Rule(only_list, say("I only look.", Call("list_files"))),
        Rule(turn(0), say("I run the tests, to see what fails.", Call("run_tests"))),
        Rule(green, say("All tests pass.")),
        Rule(turn(1), say("A total is off. I read the code.", Call("read_file", {"path": FILE}))),
        Rule(turn(2) & told, fix),
        Rule(turn(2), guess),
        Rule(turn(3), say("Let me see whether that was it.", Call("run_tests"))),
        Rule(turn(4), say("The tests still fail. My fix was wrong, and I stop here.")),
    ],
    about="A coding agent on a small project with a failing test.",
)
