"""Tools and managed agents of smolagents, whether a model calls them by JSON or its code does.

Code has a thread that copies no context, and fails where it took 30 seconds. Under the debugger it has
the agent's, so that its calls are inside of the agent's events, and a person's pauses don't count.
"""

from __future__ import annotations

import time
from functools import partial
from types import ModuleType
from typing import Any, Final

from ..agent_scope import call_agent
from ..current_run import find_run
from ..patches import Patches
from ..tool_call import TracedToolCall

#: An argument that tool-calling agents add to the tool's own arguments; calls from code lack it.
_SANITIZE: Final = "sanitize_inputs_outputs"


def install(library: ModuleType, patches: Patches) -> None:
    """Let tools and managed agents halt.

    Args:
        library: `smolagents.agents`.
        patches: Records the wrapped methods.
    """
    from smolagents.tools import PipelineTool

    patches.wrap(library.Tool, "__call__", _call_tool)
    patches.wrap(PipelineTool, "__call__", _call_tool)
    patches.wrap(library.MultiStepAgent, "__call__", _call_agent)
    patches.wrap(library.MultiStepAgent, "run", _run_agent)
    patches.wrap(library.LocalPythonExecutor, "__call__", _run_code)


def _call_tool(call: Any, tool: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    stepper = find_run()
    if stepper is None or (_SANITIZE in kwargs and _is_final_answer(tool)):
        return call(*args, **kwargs)
    given = dict(kwargs)
    options = {_SANITIZE: given.pop(_SANITIZE, False)}
    shown = _name_args(tool, args, given)

    def call_edited(edited: Any) -> Any:
        return call(*args, **kwargs) if edited is shown else call(**edited, **options)

    return TracedToolCall(
        name=tool.name,
        args=shown,
        call=call_edited,
        is_async=False,
        check_args=partial(_check_args, tool),
        show_result=_show_result,
    ).run(stepper)


def _is_final_answer(tool: Any) -> bool:
    """Whether a tool only gives back its argument, which stands in the model's answer."""
    from smolagents import FinalAnswerTool

    return type(tool) is FinalAnswerTool


def _name_args(tool: Any, args: tuple[Any, ...], given: dict[str, Any]) -> Any:
    """The arguments by their names, as the tool itself reads them."""
    is_one = len(args) == 1 and not given and isinstance(args[0], dict)
    if is_one and args[0].keys() <= tool.inputs.keys():
        return args[0]
    return {**dict(zip(tool.inputs, args, strict=False)), **given}


def _check_args(tool: Any, edited: Any) -> Any:
    from smolagents.tools import validate_tool_arguments

    if not isinstance(edited, dict):
        raise ValueError("The arguments of a tool are a JSON object.")
    if hasattr(tool, "inputs"):  # an agent that no other manages has none
        validate_tool_arguments(tool, edited)
    return edited


def _show_result(result: Any) -> Any:
    from smolagents.agent_types import AgentText

    return result.to_string() if isinstance(result, AgentText) else result


def _call_agent(call: Any, agent: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    stepper = find_run()
    if stepper is None:
        return call(*args, **kwargs)
    shown = {"task": args[0], **kwargs} if args else kwargs
    return TracedToolCall(
        name=agent.name or type(agent).__name__,
        args=shown,
        call=lambda edited: call(*args, **kwargs) if edited is shown else call(**edited),
        is_async=False,
        check_args=partial(_check_args, agent),
    ).run(stepper)


def _run_agent(run: Any, agent: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return call_agent(getattr(agent, "name", None), run, args, kwargs)


def _run_code(run: Any, executor: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run a model's code. Also by itself smolagents waits for its end, however long that is."""
    stepper = find_run()
    limit_s = executor.timeout_seconds
    if stepper is None or limit_s is None:
        return run(*args, **kwargs)
    link = stepper._current_session().link
    began, executor.timeout_seconds = time.monotonic() - link.halted_s, None
    try:
        made = run(*args, **kwargs)
    finally:
        executor.timeout_seconds = limit_s
    if time.monotonic() - link.halted_s - began > limit_s:
        from smolagents.local_python_executor import ExecutionTimeoutError

        raise ExecutionTimeoutError(f"The code took longer than its limit of {limit_s} seconds")
    return made
