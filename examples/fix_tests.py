"""A coding agent that makes the failing tests of a small project pass, under the debugger.

    python examples/fix_tests.py --offline

Without --offline it asks the endpoint of OPENAI_BASE_URL and OPENAI_API_KEY for the model of
OPENAI_MODEL. Lines that are there for the debugger say `dbg`; the rest is an agent like any other.
"""

import argparse
import inspect
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from openai import OpenAI

from agentstepper_nb import AgentStepper
from agentstepper_nb.models.scripted import ScriptedServer, load_script

SAMPLE = Path(__file__).with_name("fix_tests_project")
ROLE = "You are a careful programmer. Use the tools, one at a time, and say when you are done."
TASK = "Make the failing tests of this project pass."
MAX_TURNS = 20


def list_files(folder: Path) -> str:
    """List the files of the project."""
    files = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    return "\n".join(sorted(str(path) for path in files if not path.parts[0].startswith(".")))


def read_file(folder: Path, path: str) -> str:
    """Read a file of the project."""
    return inside(folder, path).read_text()


def write_file(folder: Path, path: str, content: str) -> str:
    """Write a file of the project, whole."""
    size = inside(folder, path).write_text(content)
    return f"wrote {size} characters to {path}"


def run_tests(folder: Path) -> str:
    """Run the tests of the project with pytest."""
    options = ["-q", "-rN", "--tb=short", "--color=no", "-p", "no:cacheprovider"]
    command = [sys.executable, "-m", "pytest", *options]
    quiet = {"PYTHONDONTWRITEBYTECODE": "1", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "COLUMNS": "70"}
    done = subprocess.run(
        command, cwd=folder, env=os.environ | quiet, capture_output=True, text=True, timeout=120
    )
    output = re.sub(r" in [\d.]+s", "", done.stdout + done.stderr)  # the same every time
    return f"exit code {done.returncode}\n{output}"


def inside(folder: Path, path: str) -> Path:
    full = (folder / path).resolve()
    if not full.is_relative_to(folder.resolve()):
        raise ValueError(f"{path} lies outside the project")
    return full


def schema(tool: Any) -> dict[str, Any]:
    names = list(inspect.signature(tool).parameters)[1:]
    properties = {name: {"type": "string"} for name in names}
    parameters = {"type": "object", "properties": properties, "required": names}
    function = {"name": tool.__name__, "description": tool.__doc__, "parameters": parameters}
    return {"type": "function", "function": function}


TOOLS: dict[str, Any] = {
    tool.__name__: tool for tool in (list_files, read_file, write_file, run_tests)
}


def fix_tests(dbg: AgentStepper, folder: Path, client: OpenAI, model: str) -> bool:
    """Let the model work on a folder until it says it is done; True if the tests pass then."""
    tools = [schema(tool) for tool in TOOLS.values()]
    messages: list[Any] = [{"role": "system", "content": ROLE}, {"role": "user", "content": TASK}]
    for _ in range(MAX_TURNS):
        with dbg.llm({"model": model, "messages": messages, "tools": tools}) as query:
            completion = client.chat.completions.create(**query.prompt)
            query.response = completion.choices[0].message.model_dump(exclude_none=True)
        # Going on from the prompt and the answer as they were edited keeps the edits.
        messages = [*query.prompt["messages"], query.response]
        calls = query.response.get("tool_calls") or []
        for call in calls:
            result = use_tool(dbg, folder, call["function"])
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})
        if not calls:
            break
    passed = run_tests(folder).startswith("exit code 0")
    dbg.post_debug_message("The tests pass." if passed else "The tests fail.")
    return passed


def use_tool(dbg: AgentStepper, folder: Path, call: dict[str, str]) -> str:
    """Run a tool as the model asks; a mistake is told to the model, which can then do better."""
    try:
        with dbg.tool(call["name"], json.loads(call["arguments"])) as tool:
            tool.result = TOOLS[tool.name](folder, **tool.args)
    except Exception as error:
        return f"error: {error!r}"
    dbg.commit_agent_changes()
    return str(tool.result)


def prepare(folder: Path) -> Path:
    """Copy the failing sample project to a folder."""
    ignore = shutil.ignore_patterns("__pycache__")
    return Path(shutil.copytree(SAMPLE, folder, ignore=ignore, dirs_exist_ok=True))


def debug(folder: Path, client: OpenAI) -> bool:
    """Run the agent under the debugger that is found."""
    with client, AgentStepper("fix-tests", agent_workspace_path=str(folder)) as dbg:
        return fix_tests(dbg, folder, client, os.environ.get("OPENAI_MODEL", "gpt-5-mini"))


def main(folder: Path | None = None, *, offline: bool = False) -> bool:
    """Run the agent on a folder, or on a fresh copy of the sample; offline by a scripted model."""
    if not offline and "OPENAI_BASE_URL" not in os.environ:
        raise SystemExit("Set OPENAI_BASE_URL and OPENAI_API_KEY, or pass --offline.")
    folder = folder or prepare(Path(tempfile.mkdtemp(prefix="fix-tests-")))
    if not offline:
        return debug(folder, OpenAI())
    with ScriptedServer(load_script("fix_tests")) as server:
        return debug(folder, OpenAI(base_url=server.base_url, api_key="offline"))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--offline", action="store_true")
    sys.exit(0 if main(**vars(parser.parse_args())) else 1)
