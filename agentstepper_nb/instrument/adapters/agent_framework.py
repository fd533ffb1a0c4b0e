"""Tools of Microsoft's Agent Framework: `invoke` of `FunctionTool`, as sub-agents are; and agents."""

from __future__ import annotations

from functools import partial
from types import ModuleType
from typing import Any

from ...sdk.scopes import Scope, enter_scope
from ..agent_scope import call_in_scope, open_agent
from ..current_run import find_run
from ..patches import Patches
from ..tool_call import TracedToolCall


def install(library: ModuleType, patches: Patches) -> None:
    """Let the tools halt.

    Args:
        library: `agent_framework._tools`.
        patches: Records the wrapped methods.
    """
    patches.wrap(library.FunctionTool, "invoke", _invoke)


def install_agents(library: ModuleType, patches: Patches) -> None:
    """Attribute events to the agent that runs.

    Args:
        library: `agent_framework._agents`.
        patches: Records the wrapped methods.
    """
    patches.wrap(library.Agent, "run", _run_agent)


def _run_agent(run: Any, agent: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    scope = open_agent(getattr(agent, "name", None))
    if scope is None:
        return run(*args, **kwargs)
    if not kwargs.get("stream"):
        return call_in_scope(scope, run, args, kwargs)
    with enter_scope(scope):
        stream = run(*args, **kwargs)
    if hasattr(stream, "with_pull_context_manager"):  # each step of it is the agent's
        stream.with_pull_context_manager(partial(enter_scope, scope))
        stream.with_cleanup_hook(partial(_close, scope))
    return stream


def _close(scope: Scope) -> None:
    scope.is_closed = True


def _invoke(invoke: Any, tool: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    stepper = find_run()
    given = kwargs.get("arguments")
    # Without: an author's own call, with keywords of the tool's.
    if stepper is None or given is None:
        return invoke(*args, **kwargs)
    shown = given.model_dump(mode="json") if hasattr(given, "model_dump") else dict(given)

    def call(edited: Any) -> Any:
        return invoke(**{**kwargs, "arguments": given if edited is shown else edited})

    return TracedToolCall(
        name=tool.name,
        args=shown,
        call=call,
        is_async=True,
        call_id=kwargs.get("tool_call_id"),
        check_args=partial(_check_args, tool),
        show_result=_show_result,
        make_result=_make_result,
        check_result=_check_result,
        make_denial=partial(_make_result, None),
    ).run(stepper)


def _check_args(tool: Any, edited: Any) -> Any:
    if not isinstance(edited, dict):
        raise ValueError("The arguments of a function tool are a JSON object.")
    missing = [name for name in tool.parameters().get("required", ()) if name not in edited]
    if missing:
        raise ValueError(f"{tool.name} needs the argument {missing[0]!r}.")
    return edited


def _show_result(result: Any) -> Any:
    """The text of a result that is one; else its contents as JSON, or a result that wasn't parsed."""
    if not _is_contents(result):
        return result
    if len(result) == 1 and result[0].type == "text":
        return result[0].text
    return [content.to_dict() for content in result]


def _make_result(original: Any, edited: Any) -> Any:
    from agent_framework import Content

    if original is not None and not _is_contents(original):
        return edited
    if isinstance(edited, list):
        return [Content.from_dict(each) for each in edited]
    return [Content.from_text(edited if isinstance(edited, str) else str(edited))]


def _check_result(edited: Any) -> Any:
    if isinstance(edited, list):
        _make_result(None, edited)
    return edited


def _is_contents(result: Any) -> bool:
    from agent_framework import Content

    return isinstance(result, list) and all(isinstance(each, Content) for each in result)
