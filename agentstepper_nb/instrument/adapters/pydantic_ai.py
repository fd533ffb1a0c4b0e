"""Tools and agents of pydantic-ai, by a capability that each new agent has: the framework's own way."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from ..agent_scope import call_agent
from ..current_run import find_run
from ..patches import Patches
from ..tool_call import TracedToolCall


def install(library: ModuleType, patches: Patches) -> None:
    """Let the tools of agents that are made from now on halt.

    Args:
        library: `pydantic_ai.agent`.
        patches: Where to wrap.
    """
    capability = _make_capability()

    def init(init: Any, agent: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        capabilities = [*(kwargs.pop("capabilities", None) or ()), capability]
        init(*args, **kwargs, capabilities=capabilities)

    patches.wrap(library.Agent, "__init__", init)


def _make_capability() -> Any:
    from pydantic_ai.capabilities import AbstractCapability

    class Debugger(AbstractCapability[Any]):
        """Halts before and after each tool call, and says whose a run's events are."""

        async def wrap_run(self, ctx: Any, *, handler: Any) -> Any:
            return await call_agent(getattr(ctx.agent, "name", None), handler, (), {})

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

    return Debugger()
