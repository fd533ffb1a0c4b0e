"""Tools of MCP servers: `call_tool` of the client, and of the session below the client.

Frameworks with tools on such servers call these methods too; their own seam has the event then.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any, Final

from ..current_run import find_run
from ..open_calls import is_inside_same_call
from ..patches import Patches
from ..tool_call import TracedToolCall

#: The fields of a result that are shown, if present; the other fields belong to the connection.
_SHOWN: Final = ("content", "structuredContent", "isError")


def install(library: ModuleType, patches: Patches) -> None:
    """Let the tools halt.

    Args:
        library: `mcp`.
        patches: Records the wrapped methods.
    """
    patches.wrap(library.ClientSession, "call_tool", _call_tool)
    if hasattr(library, "Client"):  # since version 2: it answers a server that asks for more
        patches.wrap(library.Client, "call_tool", _call_tool)


def _call_tool(call_tool: Any, session: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    stepper = find_run()
    if stepper is None:
        return call_tool(*args, **kwargs)
    name, arguments, rest, options = _split_args(*args, **kwargs)
    if is_inside_same_call(stepper.run_id, name, arguments or {}):
        return call_tool(*args, **kwargs)

    def call(edited: Any) -> Any:
        return call_tool(name, arguments if edited is shown else edited, *rest, **options)

    shown = arguments or {}
    return TracedToolCall(
        name=name,
        args=shown,
        call=call,
        is_async=True,
        check_args=_check_args,
        show_result=_show_result,
        make_result=_make_result,
        check_result=_check_result,
        make_denial=_make_denial,
    ).run(stepper)


def _split_args(
    name: str, arguments: Any = None, *rest: Any, **options: Any
) -> tuple[str, Any, tuple[Any, ...], dict[str, Any]]:
    return name, arguments, rest, options


def _check_args(edited: Any) -> Any:
    if not isinstance(edited, dict):
        raise ValueError("The arguments of an MCP tool are a JSON object.")
    return edited


def _show_result(result: Any) -> Any:
    dumped = _dump(result)
    return {name: dumped[name] for name in _SHOWN if dumped.get(name)} or dumped


def _make_result(original: Any, edited: Any) -> Any:
    """Make a result from an edited one, or from a text."""
    from mcp.types import CallToolResult

    if not isinstance(edited, dict):
        return _make_text(str(edited))
    rest = {} if original is None else _dump(original)
    hidden = {name: value for name, value in rest.items() if name not in _SHOWN}
    return CallToolResult.model_validate({**hidden, **edited})


def _dump(result: Any) -> dict[str, Any]:
    """A result as it travels."""
    dumped: dict[str, Any] = result.model_dump(mode="json", by_alias=True, exclude_none=True)
    return dumped


def _check_result(edited: Any) -> Any:
    _make_result(None, edited)
    return edited


def _make_denial(reason: str) -> Any:
    return _make_text(reason, is_error=True)


def _make_text(text: str, is_error: bool = False) -> Any:
    from mcp.types import CallToolResult

    return CallToolResult.model_validate(
        {"content": [{"type": "text", "text": text}], "isError": is_error}
    )
