"""Tools and handoffs of OpenAI's Agents SDK.

A tool is a value of its agent, so a copy takes its place among the tools that a run uses. The tool's own
timer runs inside the copy: the time for which a person looks at the call is none of the tool's.
"""

from __future__ import annotations

import copy
import json
from contextvars import ContextVar
from functools import partial
from types import ModuleType
from typing import Any, Final, NoReturn

from ...errors import ToolDeniedError
from ...sdk.scopes import Scope, set_scope
from ..agent_scope import open_agent
from ..current_run import find_run, is_run_expected
from ..patches import Patches
from ..tool_call import TracedToolCall

#: The attribute of a tool that has its copy: a run compares tools by identity.
_COPY: Final = "_agentstepper_copy"
#: The spans of agents that are open in this context: the token of each, and the agent's scope.
_agents: ContextVar[tuple[tuple[Any, Scope], ...]] = ContextVar(
    "agentstepper_openai_agents", default=()
)
_NO_OTHER_AGENT: Final = "The handoff has happened: its agent can't be edited. Edit the next query."


def install(library: ModuleType, patches: Patches) -> None:
    """Let tools and handoffs halt.

    Args:
        library: `agents.agent`.
        patches: Records the wrapped methods.
    """
    from agents.handoffs import Handoff

    patches.wrap(library.AgentBase, "get_all_tools", _get_all_tools)
    patches.wrap(Handoff, "__init__", _init_handoff)


def install_agents(library: ModuleType, patches: Patches) -> None:
    """Attribute events to the agent that runs: a run opens a span for each agent that takes over.

    Args:
        library: `agents.tracing.scope`.
        patches: Records the wrapped methods.
    """
    patches.wrap(library.Scope, "set_current_span", _enter_span)
    patches.wrap(library.Scope, "reset_current_span", _leave_span)


def _enter_span(enter: Any, owner: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    token = enter(*args, **kwargs)
    span = args[0] if args else kwargs.get("span")
    data = getattr(span, "span_data", None)
    is_agent = getattr(data, "type", None) == "agent"
    scope = open_agent(getattr(data, "name", None)) if is_agent else None
    if scope is not None:
        _agents.set((*_agents.get(), (token, scope)))
        set_scope(scope)
    return token


def _leave_span(leave: Any, owner: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    token = args[0] if args else kwargs.get("token")
    for index, (entered, scope) in enumerate(_agents.get()):
        if entered is token and scope.parent is not None:
            scope.is_closed = True
            set_scope(scope.parent)
            _agents.set(_agents.get()[:index])
            break
    return leave(*args, **kwargs)


async def _get_all_tools(
    get_all_tools: Any, agent: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> list[Any]:
    tools = await get_all_tools(*args, **kwargs)
    return [_trace_tool(tool) for tool in tools] if is_run_expected() else tools


def _trace_tool(tool: Any) -> Any:
    """The copy of a function tool that halts; another tool, which the service runs, stays unchanged."""
    from agents import FunctionTool

    if not isinstance(tool, FunctionTool):
        return tool
    known = vars(tool).get(_COPY)
    if known is not None:
        return known
    traced = copy.copy(tool)
    traced.on_invoke_tool = partial(_invoke_tool, tool)
    traced.timeout_seconds = None
    vars(traced)[_COPY] = traced
    vars(tool)[_COPY] = traced
    return traced


async def _invoke_tool(tool: Any, context: Any, arguments: str) -> Any:
    from agents.tool import invoke_function_tool

    shown = _decode(arguments)

    async def call(edited: Any) -> Any:
        text = arguments if edited is shown else json.dumps(edited)
        return await invoke_function_tool(function_tool=tool, context=context, arguments=text)

    stepper = find_run()
    if stepper is None:
        return await call(shown)
    return await TracedToolCall(
        name=tool.name,
        args=shown,
        call=call,
        is_async=True,
        check_args=_check_args,
        call_id=getattr(context, "tool_call_id", None),
    ).run(stepper)


def _init_handoff(init: Any, handoff: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    init(*args, **kwargs)
    handoff.on_invoke_handoff = partial(_invoke_handoff, handoff, handoff.on_invoke_handoff)


async def _invoke_handoff(handoff: Any, invoke: Any, context: Any, arguments: str = "") -> Any:
    stepper = find_run()
    if stepper is None:
        return await invoke(context, arguments)
    shown = _decode(arguments)

    async def call(edited: Any) -> Any:
        return await invoke(context, arguments if edited is shown else json.dumps(edited))

    return await TracedToolCall(
        name=handoff.tool_name,
        args=shown,
        call=call,
        is_async=True,
        show_result=lambda agent: {"agent": agent.name},
        check_result=_refuse_result,
        make_denial=_raise_denial,
    ).run(stepper)


def _decode(arguments: str) -> Any:
    """The arguments as JSON; as their text where the model wrote none."""
    try:
        return json.loads(arguments or "{}")
    except ValueError:
        return arguments


def _check_args(edited: Any) -> Any:
    if not isinstance(edited, dict):
        raise ValueError("The arguments of a function tool are a JSON object.")
    return edited


def _refuse_result(edited: Any) -> Any:
    raise ValueError(_NO_OTHER_AGENT)


def _raise_denial(reason: str) -> NoReturn:
    raise ToolDeniedError(
        reason, reason
    )  # a handoff gives an agent, and has no words for the model
