"""Tools of Google's ADK: `run_async` of each class of tools, since each has its own; and agents.

A class that is made later is wrapped when the first tool of it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from types import ModuleType
from typing import Any, Final

from ..agent_scope import call_agent
from ..current_run import find_run, is_run_expected
from ..patches import Patches
from ..tool_call import TracedToolCall

_RUN: Final = "run_async"


def install(library: ModuleType, patches: Patches) -> None:
    """Let the tools halt.

    Args:
        library: `google.adk.tools.base_tool`.
        patches: Records the wrapped methods.
    """
    base = library.BaseTool

    def init(init: Any, tool: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        _wrap(type(tool), patches)
        init(*args, **kwargs)

    patches.wrap(base, "__init__", init)
    for kind in _list_subclasses(base):
        _wrap(kind, patches)


def install_agents(library: ModuleType, patches: Patches) -> None:
    """Attribute events to the agent that runs.

    Args:
        library: `google.adk.agents.base_agent`.
        patches: Records the wrapped methods.
    """
    for name in (_RUN, "run_live"):
        patches.wrap(library.BaseAgent, name, _run_agent)


def _run_agent(run: Any, agent: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return call_agent(getattr(agent, "name", None), run, args, kwargs)


def _list_subclasses(base: Any) -> Iterator[type]:
    for kind in base.__subclasses__():
        yield kind
        yield from _list_subclasses(kind)


def _wrap(kind: type, patches: Patches) -> None:
    owner = _find_owner(kind)
    patches.wrap(owner, _RUN, partial(_run_tool, owner))


def _find_owner(kind: type) -> type:
    """The class in the method resolution order that defines the method for tool calls."""
    return next(each for each in kind.__mro__ if _RUN in vars(each))


def _run_tool(
    owner: type, run: Any, tool: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    if not is_run_expected():
        return run(*args, **kwargs)
    is_inner = _find_owner(type(tool)) is not owner  # a subclass calls it, in the same call
    stepper = None if is_inner else find_run()
    if stepper is None:
        return run(*args, **kwargs)
    options = {name: value for name, value in kwargs.items() if name != "args"}
    return TracedToolCall(
        name=tool.name,
        args=kwargs["args"],
        call=lambda edited: run(args=edited, **options),
        is_async=True,
        check_args=_check_args,
        make_denial=_make_denial,
        call_id=getattr(kwargs.get("tool_context"), "function_call_id", None),
    ).run(stepper)


def _check_args(edited: Any) -> Any:
    if not isinstance(edited, dict):
        raise ValueError("The arguments of a tool are a JSON object.")
    return edited


def _make_denial(reason: str) -> dict[str, str]:
    """A denial in the form in which ADK's own tools report that they could not be called."""
    return {"error": reason}
