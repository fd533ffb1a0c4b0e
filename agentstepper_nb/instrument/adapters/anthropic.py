"""Tools of Anthropic's tool runners: `call` of the functions, or the memory, given to `tool_runner`.

Only a runner calls it: who calls the function itself passes no seam.
"""

from __future__ import annotations

from functools import partial
from types import ModuleType
from typing import Any, NoReturn

from ..current_run import find_run
from ..patches import Patches
from ..tool_call import TracedToolCall


def install(library: ModuleType, patches: Patches) -> None:
    """Let the tools halt.

    Args:
        library: `anthropic.lib.tools`.
        patches: Records the wrapped methods.
    """
    for tool in (library.BetaFunctionTool, library.BetaAbstractMemoryTool):
        patches.wrap(tool, "call", partial(_call, False))
    for tool in (library.BetaAsyncFunctionTool, library.BetaAsyncAbstractMemoryTool):
        patches.wrap(tool, "call", partial(_call, True))


def _call(
    is_async: bool, call: Any, tool: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    stepper = find_run()
    if stepper is None:
        return call(*args, **kwargs)
    return TracedToolCall(
        name=tool.name,
        args=args[0] if args else kwargs["input"],
        call=call,
        is_async=is_async,
        check_args=partial(_check_args, tool),
        check_result=_check_result,
        make_denial=_raise_denial,
    ).run(stepper)


def _check_args(tool: Any, edited: Any) -> Any:
    if not isinstance(edited, dict):
        raise ValueError(f"The arguments of {tool.name} are a JSON object.")
    schema = getattr(tool, "input_schema", {})  # the memory tool's is the service's
    required = schema.get("required", ())
    missing = [name for name in required if name not in edited]
    if missing:
        raise ValueError(f"{tool.name} needs the argument {missing[0]!r}.")
    return edited


def _check_result(edited: Any) -> Any:
    if not isinstance(edited, str | list):
        raise ValueError("A tool's result is a text, or a list of content blocks.")
    return edited


def _raise_denial(reason: str) -> NoReturn:
    """Raise the error that the SDK's tool runner turns into an error result."""
    from anthropic.lib.tools import ToolError

    raise ToolError(reason)
