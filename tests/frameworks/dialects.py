"""How the agents of frameworks and their model speak, where it isn't by an API's own tool calls."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from dataclasses import dataclass

from agentstepper_nb.llm_wire.chat_completions import ChatCompletionRequest
from agentstepper_nb.models.scripted import ScriptedCall, ScriptedReply, say


@dataclass(frozen=True)
class Dialect:
    """A way to speak.

    Args:
        find_results: What the tools gave just now; none where the user speaks.
        find_asked: What the user says.
        write: A reply, as the framework reads it.
        tools: The tools that no request names.
    """

    find_results: Callable[[ChatCompletionRequest], list[str]]
    find_asked: Callable[[str], str] = str
    write: Callable[[ScriptedReply], ScriptedReply] = lambda reply: reply
    tools: tuple[str, ...] = ()


def find_dialect(request: ChatCompletionRequest) -> Dialect:
    """The dialect of the framework that sends a request."""
    names = {tool["function"]["name"] for tool in request.tools or ()}
    if "final_answer" in names:
        return SMOLAGENTS
    if "bash" in names:
        return MINI_SWE_AGENT
    return SMOLAGENTS_CODE if "</code>" in request.messages[0].text else API


def _find_results(request: ChatCompletionRequest) -> list[str]:
    results: list[str] = []
    for message in reversed(request.messages):
        if message.role != "tool":
            break
        results.insert(0, _read_result(message.text))
    return results


def _read_result(text: str) -> str:
    """What a tool gave: without what says that it failed, and out of what a framework puts around it."""
    text = text.removeprefix("[failed]\n")
    try:
        given = json.loads(text)
    except ValueError:
        return text
    match given:
        case {"result": result} | {"error": result}:
            return str(result)
    return text


# ---- CrewAI: what is asked is a part of a task ------------------------------------------------------


def _find_crew_task(text: str) -> str:
    task = text.strip().removeprefix("Current Task: ")
    return task.partition("\n\nThis is the expected criteria")[0]


API = Dialect(_find_results, _find_crew_task)

# ---- smolagents: results are a message of the user's, and the answer is a tool call ------------------

_OBSERVATION = "Observation:\n"


def _find_observations(request: ChatCompletionRequest) -> list[str]:
    text = request.messages[-1].text
    text = text.partition("Last output from code snippet:")[0].replace("Execution logs:\n", "")
    return text.removeprefix(_OBSERVATION).splitlines() if text.startswith(_OBSERVATION) else []


def _find_task(text: str) -> str:
    return text.removeprefix("New task:\n")


def _write_final_answer(reply: ScriptedReply) -> ScriptedReply:
    if reply.calls:
        return reply
    return say(None, ScriptedCall("final_answer", {"answer": reply.text}))


def _write_code(reply: ScriptedReply) -> ScriptedReply:
    lines = [f"print({_write_call(call)})" for call in reply.calls]
    code = "\n".join(lines) if lines else f"final_answer({reply.text!r})"
    return say(f"Let me see.\n<code>\n{code}\n</code>")


def _write_call(call: ScriptedCall) -> str:
    assert not isinstance(call.arguments, str)
    return f"{call.tool}({', '.join(f'{k}={v!r}' for k, v in call.arguments.items())})"


SMOLAGENTS = Dialect(_find_observations, _find_task, _write_final_answer)
SMOLAGENTS_CODE = Dialect(
    _find_observations, _find_task, _write_code, ("add", "search", "slow", "delegate")
)

# ---- mini-swe-agent: the one tool is bash, and the answer is a command ------------------------------

_SUBMIT = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
_COMMANDS = {
    "add": "a=2 b=3; echo $((a + b))",
    "search": "echo found boats",
    "slow": "sleep 0.1; echo worked",
}


def _find_outputs(request: ChatCompletionRequest) -> list[str]:
    results = _find_results(request)
    return [text.partition("<output>\n")[2].partition("</output>")[0].strip() for text in results]


def _write_command(reply: ScriptedReply) -> ScriptedReply:
    commands = [_COMMANDS[call.tool] for call in reply.calls]
    commands = commands or [f"echo {_SUBMIT}; echo {shlex.quote(reply.text or '')}"]
    return say(None, *(ScriptedCall("bash", {"command": command}) for command in commands))


MINI_SWE_AGENT = Dialect(_find_outputs, write=_write_command, tools=tuple(_COMMANDS))
