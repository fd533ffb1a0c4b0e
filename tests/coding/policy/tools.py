"""Tools for the policy's tests: what they say of themselves counts, what they do never happens."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from agentstepper_nb.coding.policy import DefaultPolicyEngine, PolicyEvaluation
from agentstepper_nb.coding.tool import Risk, Tool, ToolContext, ToolPolicy, ToolResult


class DescribedTool:
    """A tool that says something of itself."""

    description = "For tests."

    def __init__(self, name: str, *, has_shell: bool = True, **policy: Any) -> None:
        self.name = name
        self.has_shell = has_shell
        self.policy = ToolPolicy(**policy)
        self.input_schema: dict[str, Any] = {"type": "object"}

    async def execute(self, args: Any, ctx: ToolContext) -> ToolResult:
        raise AssertionError("judging runs nothing")


RUN = DescribedTool("run_command", risk=Risk.MEDIUM)
RUN_WORDS = DescribedTool("run_command", has_shell=False, risk=Risk.MEDIUM)
READ = DescribedTool("read_file", read_only=True)
WRITE = DescribedTool("write_file")
PATCH = DescribedTool("apply_patch")
ASKING = DescribedTool("deploy", requires_approval=True)
RISKY = DescribedTool("format", risk=Risk.HIGH)


class AllRecoverable:
    """Snapshots that hold every file."""

    def is_recoverable(self, path: Path) -> bool:
        return True


def evaluate_tool(engine: DefaultPolicyEngine, tool: Tool, **args: Any) -> PolicyEvaluation:
    """What a policy says of a call."""
    return asyncio.run(engine.evaluate(tool, json.dumps(args)))
