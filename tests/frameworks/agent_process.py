"""A framework's process, and the model that its agent asks."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from queue import Queue
from threading import Thread
from typing import Any, Self

from agentstepper_nb.llm_wire.chat_completions import ChatCompletionRequest
from agentstepper_nb.models.scripted import (
    ErrorFault,
    Script,
    ScriptedCall,
    ScriptedReply,
    ScriptRule,
    always,
    say,
    says,
)
from tests.frameworks.dialects import Dialect, find_dialect
from tests.sdk.scripted_core import TIMEOUT_S

#: Nothing of a test leaves this machine, whatever a framework sends by itself.
NOTHING_SENT = {
    "CREWAI_DISABLE_TELEMETRY": "true",
    "CREWAI_DISABLE_VERSION_CHECK": "true",
    "CREWAI_TRACING_ENABLED": "false",
    "LITELLM_LOCAL_MODEL_COST_MAP": "true",
    "OTEL_SDK_DISABLED": "true",
}

HERE = Path(__file__).parent
#: `make canary` has environments of its own.
ENVIRONMENTS = Path(os.environ.get("FRAMEWORKS_FOLDER", HERE.parents[1] / ".make" / "frameworks"))

ADD = ScriptedCall("add", {"a": 2, "b": 3})
#: What the model does where a text says so.
CALLS = {
    "add": (ADD,),
    "both": (ADD, ScriptedCall("search", {"text": "boats"})),
    "work": (ScriptedCall("slow"),),
    "delegate": (ScriptedCall("delegate", {"": "add"}),),
    "expert": (ScriptedCall("transfer_to_expert"),),
    "confirm": (ScriptedCall("confirm", {"question": "Really?"}),),
    "move": (ScriptedCall("transfer_to_agent", {"agent_name": "expert"}),),
    "team": (ScriptedCall("delegate", {"": "add"}), ScriptedCall("colleague", {"": "kindly add"})),
}


def reply(request: ChatCompletionRequest) -> ScriptedReply:
    """Call what the user names; say what the tools gave."""
    dialect = find_dialect(request)
    return dialect.write(_reply(request, dialect))


def _reply(request: ChatCompletionRequest, dialect: Dialect) -> ScriptedReply:
    results = dialect.find_results(request)
    if results:
        return say(f"The tools say: {', '.join(results)}")
    spoken = [message.text for message in request.messages if message.role == "user"][-1]
    asked = dialect.find_asked(spoken)
    calls = next((calls for word, calls in CALLS.items() if word in asked), ())
    tools = {tool["function"]["name"]: tool["function"] for tool in request.tools or ()}
    if not calls or calls[0].tool not in (*tools, *dialect.tools):
        return say(f"Well: {asked}")
    if calls[0].tool == "delegate":
        calls = tuple(_delegate(call, tools) for call in calls)
    return say(None, *calls)


def _delegate(call: ScriptedCall, tools: dict[str, Any]) -> ScriptedCall:
    """A question, by whatever name the framework gives the argument, to an agent that there is."""
    name = call.tool if call.tool in tools else "delegate"
    parameters = tools[name]["parameters"] if tools else {"properties": ["task"]}
    assert isinstance(call.arguments, dict)
    return ScriptedCall(name, {next(iter(parameters["properties"])): call.arguments[""]})


SCRIPT = Script(
    "tools",
    [
        ScriptRule(says("user", "busy"), reply, ErrorFault(429)),
        ScriptRule(always, reply),
    ],
)


class AgentProcess:
    """The process of one framework, which runs its agent once a row.

    Args:
        framework: Its name: of its environment and of its agent's file.
        url: The model's address.
        port: The Core's port for agents.
    """

    def __init__(self, framework: str, url: str, port: int) -> None:
        python = ENVIRONMENTS / framework / "bin" / "python"
        assert python.exists(), f"{framework} isn't installed: run `make frameworks` first."
        self.framework = framework
        agent = HERE / "agents" / f"{framework}.py"
        self._process = subprocess.Popen(
            [python, HERE / "run_rows.py", agent, url, str(port)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | NOTHING_SENT,
        )
        self._lines: Queue[str] = Queue()
        self._thread = Thread(target=self._read)

    def __enter__(self) -> Self:
        self._thread.start()
        self.seams: list[str] = self._next()["seams"]
        return self

    def __exit__(self, *error: object) -> None:
        assert self._process.stdin is not None
        self._process.kill()  # it may halt yet, where a row failed
        self._process.stdin.close()
        self._process.wait(TIMEOUT_S)
        self._thread.join()
        assert self._process.stdout is not None
        self._process.stdout.close()

    def start(self, name: str, mode: str, text: str, **again: object) -> None:
        """Begin a row, perhaps again on its recording."""
        assert self._process.stdin is not None
        row = json.dumps({"name": name, "mode": mode, "text": text, **again})
        self._process.stdin.write(f"{row}\n")
        self._process.stdin.flush()

    def end(self) -> Any:
        """How the row ended: its output, or its error and message."""
        return self._next()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line)

    def _next(self) -> Any:
        return json.loads(self._lines.get(timeout=TIMEOUT_S))
