"""Commands of mini-swe-agent: `execute` of its agent's environment, whatever class that is of.

An agent ends by `Submitted`, which the environment raises: that is no failure. A limit of time doesn't
count the person's pauses.
"""

from __future__ import annotations

from functools import partial
from types import ModuleType
from typing import Any, Final

from ..current_run import find_run
from ..patches import Patches
from ..tool_call import TracedToolCall

#: The one tool's name, as the model knows it.
_NAME: Final = "bash"


def install(library: ModuleType, patches: Patches) -> None:
    """Let the commands of agents that are made from now on halt.

    Args:
        library: `minisweagent.agents.default`.
        patches: Records the wrapped methods.
    """
    patches.wrap(library.DefaultAgent, "__init__", _init)
    patches.wrap(library.DefaultAgent, "step", _step)


def _init(init: Any, agent: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    init(*args, **kwargs)
    execute = agent.env.execute
    if not isinstance(execute, partial) or execute.func is not _execute:  # agents may share one
        agent.env.execute = partial(_execute, execute)


def _execute(execute: Any, action: Any, *args: Any, **kwargs: Any) -> Any:
    stepper = find_run()
    if stepper is None:
        return execute(action, *args, **kwargs)

    shown = _hide_call_id(action)
    return TracedToolCall(
        name=_NAME,
        args=shown,
        call=lambda edited: execute(
            action if edited is shown else {**action, **edited}, *args, **kwargs
        ),
        is_async=False,
        call_id=action.get("tool_call_id") if isinstance(action, dict) else None,
        check_args=_check_args,
        check_result=_check_result,
        make_result=lambda original, edited: _make_output(edited),
        make_denial=_make_denial,
    ).run(stepper)


def _hide_call_id(action: Any) -> Any:
    """An action as the model wrote it."""
    if not isinstance(action, dict):
        return action
    return {name: value for name, value in action.items() if name != "tool_call_id"}


def _check_args(edited: Any) -> Any:
    if not isinstance(edited, dict) or not isinstance(edited.get("command"), str):
        raise ValueError('An action is a JSON object with a "command", which is a text.')
    return edited


def _check_result(edited: Any) -> Any:
    if not isinstance(edited, dict | str):
        raise ValueError("An output is a JSON object as it was, or a text.")
    return edited


def _make_output(edited: Any) -> dict[str, Any]:
    """An output, as templates of observations read it."""
    given = edited if isinstance(edited, dict) else {"output": edited}
    return {"output": "", "returncode": 0, "exception_info": "", **given}


def _make_denial(reason: str) -> dict[str, Any]:
    return {"output": reason, "returncode": -1, "exception_info": ""}


def _step(step: Any, agent: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Make a step, and shift the start of the agent's time limit by the pauses at halt points."""
    stepper = find_run()
    if stepper is None:
        return step(*args, **kwargs)
    link = stepper._current_session().link
    before_s = link.halted_s
    try:
        return step(*args, **kwargs)
    finally:
        if hasattr(agent, "_start_time"):
            agent._start_time += link.halted_s - before_s
