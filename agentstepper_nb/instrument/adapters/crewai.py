"""Tools of CrewAI: `run` of a tool, and `invoke` of a structured tool, which may be made of another.

One call may pass several of these, each as a layer around the next: it is one event. A layer that is
passed again is another call, as that of a sub-agent inside of a tool that both agents have.
"""

from __future__ import annotations

import json
from contextvars import ContextVar
from functools import partial
from types import ModuleType
from typing import Any, Final

from ..agent_scope import call_agent
from ..current_run import find_run
from ..patches import Patches
from ..tool_call import TracedToolCall

#: The innermost call under way: the tool's name, and the layers that it has passed.
_inside: ContextVar[tuple[str, frozenset[str]]] = ContextVar(
    "agentstepper_crewai_call", default=("", frozenset())
)
_INPUT: Final = "input"


def install(library: ModuleType, patches: Patches) -> None:
    """Let the tools halt.

    Args:
        library: `crewai.tools.base_tool`.
        patches: Records the wrapped methods.
    """
    for owner in (library.BaseTool, library.Tool):
        patches.wrap(owner, "run", partial(_call_layer, f"{owner.__name__}.run", False))
        patches.wrap(owner, "arun", partial(_call_layer, f"{owner.__name__}.arun", True))
    patches.wrap(library.CrewStructuredTool, "invoke", partial(_call_layer, "invoke", False))
    patches.wrap(library.CrewStructuredTool, "ainvoke", partial(_call_layer, "ainvoke", True))


def install_agents(library: ModuleType, patches: Patches) -> None:
    """Attribute events to the agent that runs, in a crew's task or by itself.

    Args:
        library: `crewai.agent.core`.
        patches: Records the wrapped methods.
    """
    for name in ("execute_task", "aexecute_task", "kickoff", "kickoff_async"):
        if name in vars(library.Agent):  # not each version has all
            patches.wrap(library.Agent, name, _run_agent)


def _run_agent(run: Any, agent: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return call_agent(str(getattr(agent, "role", "")).strip(), run, args, kwargs)


def _call_layer(
    layer: str, is_async: bool, call: Any, tool: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    stepper = find_run()
    if stepper is None:
        return call(*args, **kwargs)
    name, passed = _inside.get()
    is_same_call = name == tool.name and layer not in passed
    passed = passed | {layer} if is_same_call else frozenset({layer})
    enter = partial(_enter_async if is_async else _enter, (tool.name, passed), call)
    if is_same_call:
        return enter(args, kwargs)
    read, write = (_read_input, _write_input) if "invoke" in layer else (_read_args, _write_args)
    shown = read(tool, args, kwargs)
    return TracedToolCall(
        name=tool.name,
        args=shown,
        call=lambda edited: enter(
            *((args, kwargs) if edited is shown else write(edited, args, kwargs))
        ),
        is_async=is_async,
        check_args=partial(_check_args, tool),
        make_denial=_make_denial,
    ).run(stepper)


def _enter(inside: Any, call: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    token = _inside.set(inside)
    try:
        return call(*args, **kwargs)
    finally:
        _inside.reset(token)


async def _enter_async(
    inside: Any, call: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    token = _inside.set(inside)
    try:
        return await call(*args, **kwargs)
    finally:
        _inside.reset(token)


def _read_args(tool: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return {**dict(zip(tool.args_schema.model_fields, args, strict=False)), **kwargs}


def _write_args(edited: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return (), edited


def _read_input(tool: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    given = args[0] if args else kwargs[_INPUT]
    try:
        return json.loads(given) if isinstance(given, str) else given
    except ValueError:  # the tool says so itself
        return given


def _write_input(edited: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    options = {name: value for name, value in kwargs.items() if name != _INPUT}
    return (edited, *args[1:]), options


def _check_args(tool: Any, edited: Any) -> Any:
    if not isinstance(edited, dict):
        raise ValueError("The arguments of a tool are a JSON object.")
    if tool.args_schema is not None and tool.args_schema.model_fields:
        tool.args_schema.model_validate(edited)  # its error is a ValueError that names the argument
    return edited


def _make_denial(reason: str) -> Any:
    """A failure, which CrewAI, unlike other results, doesn't keep for the next call that is the same."""
    try:
        from crewai.tools.tool_failure import ToolFailure
    except ImportError:  # before 1.15
        return reason
    return ToolFailure(message=reason)
