"""Tools that say when they begin, and with what: for who shows a session while it works."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..llm_wire.conversation import ToolSpec
from .calls import Tools
from .tool import Tool, ToolContext, ToolPolicy, ToolResult

#: Called with a tool's name and arguments, as they are in force.
Began = Callable[[str, Any], None]


class Announced:
    """Tools, each of which says when it begins.

    Args:
        tools: The tools.
        began: Is told. It is called where a call is carried out: after the policy, and who was asked.
    """

    def __init__(self, tools: Tools, began: Began) -> None:
        self._tools = tools
        self._began = began

    def specs(self) -> tuple[ToolSpec, ...]:
        """See `Tools.specs`."""
        return self._tools.specs()

    def get(self, name: str) -> Tool | None:
        """See `Tools.get`."""
        tool = self._tools.get(name)
        return None if tool is None else _Announcing(tool, self._began)


class _Announcing:
    """A tool that says when it begins."""

    def __init__(self, tool: Tool, began: Began) -> None:
        self._tool = tool
        self._began = began

    @property
    def name(self) -> str:
        return self._tool.name

    @property
    def description(self) -> str:
        return self._tool.description

    @property
    def policy(self) -> ToolPolicy:
        return self._tool.policy

    @property
    def input_schema(self) -> dict[str, Any]:
        return self._tool.input_schema

    async def execute(self, args: Any, ctx: ToolContext) -> ToolResult:
        self._began(self.name, args)
        return await self._tool.execute(args, ctx)
