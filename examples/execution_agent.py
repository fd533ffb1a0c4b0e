"""An agent that starts a service in a container, with a tool that lies: find which, in the debugger.

    python examples/execution_agent.py

Its `start_container` has a bug that ExecutionAgent had once: the container starts, and the tool
reports failure. A process stands for the container and the model is a script, so that neither Docker
nor a key is needed. `docs/guide/overview.md` finds the bug.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from agentstepper_nb import AgentStepper

TASK = "Start the shop of this project in a container."
DOCKERFILE = 'FROM python:3.12\nCOPY . /shop\nCMD ["python", "-m", "http.server"]\n'
START = {"name": "web", "image": "shop:1", "cidfile": "run/web.cid"}

#: What the model says, one answer after the other, and the calls that it makes.
SCRIPT: list[tuple[str, str, dict[str, Any]]] = [
    (
        "The project has no Dockerfile. I write one.",
        "write_file",
        {"path": "Dockerfile", "content": DOCKERFILE},
    ),
    ("Now I start the container.", "start_container", START),
    (
        "It did not start. I ask for less and try again.",
        "start_container",
        START | {"memory": "256m"},
    ),
    ("Once more, with more memory.", "start_container", START | {"memory": "1g"}),
]
LAST_WORDS = "I could not start the container: this machine does not seem to run containers."


class Containers:
    """The containers of the agent: each is a process, and its id stands in a file."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.running: dict[str, subprocess.Popen[bytes]] = {}

    def write_file(self, path: str, content: str) -> str:
        (self.folder / path).write_text(content)
        return f"wrote {len(content)} characters to {path}"

    def start_container(self, name: str, image: str, cidfile: str, memory: str = "") -> str:
        """Start a container."""
        if name in self.running:
            return f"Error: the container name {name} is already in use."
        process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
        self.running[name] = process
        path = self.folder / cidfile
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"{image} as {name}\n")
        # Here is the bug: poll() is None while the process runs.
        if process.poll() is None:
            return f"Error: container {name} did not start."
        return f"Container {name} is running."

    def close(self) -> None:
        """Stop what runs."""
        for process in self.running.values():
            process.communicate(b"\n")


def model(turn: int) -> dict[str, Any]:
    """The script's next answer, as an API gives it."""
    if turn >= len(SCRIPT):
        return {"role": "assistant", "content": LAST_WORDS}
    text, name, args = SCRIPT[turn]
    function = {"name": name, "arguments": json.dumps(args)}
    call = {"id": f"call_{turn}", "type": "function", "function": function}
    return {"role": "assistant", "content": text, "tool_calls": [call]}


def execute(dbg: AgentStepper, tools: Containers) -> str:
    """Let the model work until it calls no tool; its last words."""
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
    """Run the agent in a folder, under the debugger that is found."""
    folder = folder or Path(tempfile.mkdtemp(prefix="execution-agent-"))
    tools = Containers(folder)
    try:
        with AgentStepper(
            "execution-agent", agent_workspace_path=str(folder), mode="continue"
        ) as dbg:
            return execute(dbg, tools)
    finally:
        tools.close()


if __name__ == "__main__":
    print(main(*map(Path, sys.argv[1:2])))
