"""Tools of LangChain and LangGraph: `BaseTool.run` and `arun`, which each call of a tool passes; and
agents: graphs to which their author gave a name.

Arguments that the graph injects (state, store, runtime) aren't the model's: no person sees them.
"""

from __future__ import annotations

from functools import partial
from types import ModuleType
from typing import Any, Final

from ...protocol.data_model import AgentLabel
from ...sdk.run_events import add_label_source
from ...sdk.scopes import skip_numbering
from ..agent_scope import call_agent
from ..current_run import find_run
from ..patches import Patches
from ..tool_call import TracedToolCall

#: The name of a graph that its author didn't name.
_UNNAMED: Final = "LangGraph"


def install(library: ModuleType, patches: Patches) -> None:
    """Let the tools halt.

    Args:
        library: `langchain_core.tools.base`.
        patches: Records the wrapped methods.
    """
    patches.wrap(library.BaseTool, "run", partial(_run, False))
    patches.wrap(library.BaseTool, "arun", partial(_run, True))


def install_agents(library: ModuleType, patches: Patches) -> None:
    """Attribute events to the agent that runs, and to the node of its graph.

    Args:
        library: `langgraph.pregel`.
        patches: Records the wrapped methods.
    """
    for name in ("stream", "astream"):  # `invoke` and `ainvoke` pass them
        patches.wrap(library.Pregel, name, _stream_graph)
    add_label_source(_find_node)
    try:
        from langgraph._internal import _queue
    except ImportError:  # another version: in its streams nodes are numbered as they come
        return
    for queue in (_queue.SyncQueue, _queue.AsyncQueue):  # a stream waits for its next chunk
        skip_numbering(queue.wait)


def _stream_graph(stream: Any, graph: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    from langgraph.graph.state import CompiledStateGraph

    # A workflow, which is a function of its own, isn't one: its name is the function's.
    is_agent = isinstance(graph, CompiledStateGraph) and graph.name != _UNNAMED
    return call_agent(graph.name if is_agent else None, stream, args, kwargs)


def _find_node() -> AgentLabel | None:
    """The node of the graph that the calling code is in."""
    from langgraph.config import get_config

    try:
        node = get_config().get("metadata", {}).get("langgraph_node")
    except RuntimeError:  # it is in none
        return None
    return AgentLabel(name="", node=node) if isinstance(node, str) else None


def _run(is_async: bool, run: Any, tool: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    stepper = find_run()
    if stepper is None:
        return run(*args, **kwargs)
    given, rest = (args[0], args[1:]) if args else (kwargs["tool_input"], ())
    options = {name: value for name, value in kwargs.items() if name != "tool_input"}
    shown, hidden = _split_args(tool, given)

    def call(edited: Any) -> Any:
        made = given if edited is shown else _join_args(edited, hidden)
        return run(made, *rest, **options)

    return TracedToolCall(
        name=tool.name,
        args=shown,
        call=call,
        is_async=is_async,
        check_args=partial(_check_args, tool),
        show_result=_show_result,
        make_result=partial(_make_result, tool, options.get("tool_call_id")),
        make_denial=partial(_make_denial, tool, options.get("tool_call_id")),
        call_id=options.get("tool_call_id"),
    ).run(stepper)


def _split_args(tool: Any, given: Any) -> tuple[Any, dict[str, Any]]:
    """The arguments that the model wrote, and those that the graph added."""
    if not isinstance(given, dict):
        return given, {}
    known = tool.args
    hidden = {name: value for name, value in given.items() if name not in known}
    return (given, {}) if not hidden else ({k: given[k] for k in given if k in known}, hidden)


def _join_args(edited: Any, hidden: dict[str, Any]) -> Any:
    return {**edited, **hidden} if isinstance(edited, dict) else edited


def _check_args(tool: Any, edited: Any) -> Any:
    schema = tool.tool_call_schema
    if isinstance(edited, dict) and hasattr(schema, "model_validate"):
        schema.model_validate(edited)  # its error is a ValueError that names the argument
    return edited


def _show_result(result: Any) -> Any:
    return result.content if _is_tool_message(result) else result


def _make_result(tool: Any, call_id: str | None, original: Any, edited: Any) -> Any:
    if _is_tool_message(original):
        return original.model_copy(update={"content": edited})
    if original is None and call_id is not None:
        return _make_message(tool, call_id, edited, "success")
    return edited


def _make_denial(tool: Any, call_id: str | None, reason: str) -> Any:
    return reason if call_id is None else _make_message(tool, call_id, reason, "error")


def _make_message(tool: Any, call_id: str, content: Any, status: Any) -> Any:
    from langchain_core.messages import ToolMessage

    text = content if isinstance(content, str | list) else str(content)
    return ToolMessage(content=text, name=tool.name, tool_call_id=call_id, status=status)


def _is_tool_message(value: Any) -> bool:
    from langchain_core.messages import ToolMessage

    return isinstance(value, ToolMessage)
