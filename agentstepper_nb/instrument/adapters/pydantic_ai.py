"""Tools and agents of pydantic-ai, by a capability that each new agent has: the framework's own way."""

from __future__ import annotations

from functools import partial
from types import ModuleType
from typing import Any, NoReturn

from ..agent_scope import call_agent
from ..current_run import find_run
from ..patches import Patches
from ..tool_call import TracedToolCall


def install(library: ModuleType, patches: Patches) -> None:
    """Let the tools of agents that are made from now on halt.

    Args:
        library: `pydantic_ai.agent`.
        patches: Records the wrapped methods.
    """
    capability = _make_capability()

    def init(init: Any, agent: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        capabilities = [*(kwargs.pop("capabilities", None) or ()), capability]
        init(*args, **kwargs, capabilities=capabilities)

    patches.wrap(library.Agent, "__init__", init)


def _make_capability() -> Any:
    from pydantic_ai.capabilities import AbstractCapability

    class Debugger(AbstractCapability[Any]):
        """Halts around tools and output functions, and names the agents of a run's events.

        By an output function, an agent hands over to another agent.
        """

        async def wrap_run(self, ctx: Any, *, handler: Any) -> Any:
            return await call_agent(_find_name(ctx), handler, (), {})

        async def wrap_tool_execute(
            self, ctx: Any, *, call: Any, tool_def: Any, args: Any, handler: Any
        ) -> Any:
            stepper = find_run()
            if stepper is None:
                return await handler(args)
            return await TracedToolCall(
                name=call.tool_name,
                args=args,
                call=handler,
                is_async=True,
                call_id=call.tool_call_id,
            ).run(stepper)

        async def wrap_output_process(
            self, ctx: Any, *, output_context: Any, output: Any, handler: Any
        ) -> Any:
            call: Any = getattr(output_context, "tool_call", None)
            has_function = getattr(output_context, "has_function", False)
            is_whole = not getattr(ctx, "partial_output", False)  # and no part of a stream
            stepper = find_run() if call is not None and has_function and is_whole else None
            if stepper is None:
                return await handler(output)
            return await TracedToolCall(
                name=call.tool_name,
                args=output,
                call=handler,
                is_async=True,
                check_args=partial(_convert, output),
                make_result=_convert,
                make_denial=_raise_denial,
                call_id=call.tool_call_id,
            ).run(stepper)

    return Debugger()


def _find_name(ctx: Any) -> Any:
    """The name of the agent that a context is of."""
    return getattr(getattr(ctx, "agent", None), "name", None)


def _convert(original: Any, edited: Any) -> Any:
    """An edit as a value of the original's type."""
    validate = getattr(type(original), "model_validate", None)
    return edited if validate is None else validate(edited)


def _raise_denial(reason: str) -> NoReturn:
    """Deny by the exception that asks the model for another answer: its text isn't the run's output."""
    from pydantic_ai.exceptions import ModelRetry

    raise ModelRetry(reason)
