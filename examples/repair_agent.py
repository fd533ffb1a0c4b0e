"""An agent that repairs a small project, with a tool that lies: find which, in the debugger.

    python examples/repair_agent.py

Its `write_fix` has a bug that RepairAgent had once: it drops an edit that is nearly the same as one
before, and says that it was applied. The model is a script, so that no key is needed.
`docs/guide/overview.md` finds the bug.
"""

import difflib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from agentstepper_nb import AgentStepper

SAMPLE = Path(__file__).with_name("fix_tests_project")
TASK = "Make the failing tests of this project pass."

_SUM = "sum(price * quantity for price, quantity in items)"
#: What the model says, one answer after the other, and the calls that it makes.
SCRIPT: list[tuple[str, str, dict[str, Any]]] = [
    ("I run the tests first, to see what fails.", "run_tests", {}),
    ("A total has too many digits. I read the code.", "read_file", {"path": "cart.py"}),
    (
        "I round the sum.",
        "write_fix",
        {"file_name": "cart.py", "line_number": 8, "new_line": f"    return round({_SUM})"},
    ),
    ("Did that help?", "run_tests", {}),
    (
        "Rounding to whole euros is wrong: it has to be to two digits.",
        "write_fix",
        {"file_name": "cart.py", "line_number": 8, "new_line": f"    return round({_SUM}, 2)"},
    ),
    ("Now the tests should pass.", "run_tests", {}),
    ("Perhaps that was by chance. I run them once more.", "run_tests", {}),
]
LAST_WORDS = "I fixed the rounding in cart.py: a total has whole cents now, and the tests pass."


class Tools:
    """The tools of the agent."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.fixes: list[str] = []

    def read_file(self, path: str) -> str:
        return (self.folder / path).read_text()

    def write_fix(self, file_name: str, line_number: int, new_line: str) -> str:
        """Replace one line of a file."""
        done = f"Fix applied to {file_name}, line {line_number}."
        # Here is the bug: what is nearly the same as an earlier fix is taken for that fix.
        if difflib.get_close_matches(new_line, self.fixes, cutoff=0.9):
            return done
        self.fixes.append(new_line)
        lines = (self.folder / file_name).read_text().splitlines()
        lines[line_number - 1] = new_line
        (self.folder / file_name).write_text("\n".join(lines) + "\n")
        return done

    def run_tests(self) -> str:
        options = ["-q", "-rN", "--tb=short", "--color=no", "-p", "no:cacheprovider"]
        quiet = {"PYTHONDONTWRITEBYTECODE": "1", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *options],
            cwd=self.folder,
            env=os.environ | quiet | {"COLUMNS": "70"},
            capture_output=True,
            text=True,
            timeout=120,
        )
        output = re.sub(r" in [\d.]+s", "", done.stdout + done.stderr)  # the same every time
        return f"exit code {done.returncode}\n{output}"


def model(turn: int) -> dict[str, Any]:
    """The script's next answer, as an API gives it."""
    if turn >= len(SCRIPT):
        return {"role": "assistant", "content": LAST_WORDS}
    text, name, args = SCRIPT[turn]
    function = {"name": name, "arguments": json.dumps(args)}
    call = {"id": f"call_{turn}", "type": "function", "function": function}
    return {"role": "assistant", "content": text, "tool_calls": [call]}


def repair(dbg: AgentStepper, folder: Path) -> str:
    """Let the model work until it calls no tool; its last words."""
    tools = Tools(folder)
    messages: list[Any] = [{"role": "user", "content": TASK}]
    for turn in range(20):
        with dbg.llm({"model": "scripted", "messages": messages}) as query:
            query.response = model(turn)
        messages = [*query.prompt["messages"], query.response]
        calls = query.response.get("tool_calls") or []
        if not calls:
            return str(query.response["content"])
        for call in calls:
            function = call["function"]
            with dbg.tool(function["name"], json.loads(function["arguments"])) as tool:
                tool.result = getattr(tools, tool.name)(**tool.args)
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": tool.result})
    return "I ran out of turns."


def main(folder: Path | None = None) -> str:
    """Run the agent on a fresh copy of the sample project, under the debugger that is found."""
    folder = folder or Path(tempfile.mkdtemp(prefix="repair-agent-"))
    shutil.copytree(
        SAMPLE, folder, ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True
    )
    with AgentStepper("repair-agent", agent_workspace_path=str(folder), mode="continue") as dbg:
        return repair(dbg, folder)


if __name__ == "__main__":
    print(main(*map(Path, sys.argv[1:2])))
