"""A small model on this machine writes a file, step by step in the debugger with --debug.

    python examples/local_workflow.py "Create hello.py which prints hello."

A model of this size chooses wrong tools. So this program chooses, and the model fills in the arguments,
after three worked examples of the same kind: that, it does well.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing, closing
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from agentstepper_nb import AsyncAgentStepper
from agentstepper_nb.coding.orchestrator import AgentOrchestrator, TurnResult
from agentstepper_nb.coding.policy import DefaultPolicyEngine
from agentstepper_nb.coding.tools import ToolRegistry
from agentstepper_nb.coding.tools.file_edits import WriteFile
from agentstepper_nb.coding.workspace import LocalWorkspace
from agentstepper_nb.llm_wire.conversation import (
    AssistantMessage,
    ChatMessage,
    ModelRequest,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)
from agentstepper_nb.llm_wire.events import AgentEvent, ResponseCompleted, TextDelta
from agentstepper_nb.models.local import LocalProvider

TOOL: Final = WriteFile.name
SYSTEM: Final = "You write small Python programs."
EXAMPLES: Final = (("sun.py", "sunshine"), ("tree.py", "oak"), ("count.py", "three"))


def worked_examples() -> Iterator[ChatMessage]:
    """What a person may ask, and how it is done."""
    for name, word in EXAMPLES:
        arguments = json.dumps({"path": name, "content": f'print("{word}")\n'})
        call = ToolCall(call_id=name, name=TOOL, args_json=arguments)
        yield UserMessage(content=f"Create {name} which prints {word}.")
        yield AssistantMessage(tool_calls=(call,))
        yield ToolResultMessage(call_id=name, content="Done.")


class Workflow:
    """A model that has no choice: what a person asks for is written, and then it is done."""

    name: Final = "workflow"

    def __init__(self, model: LocalProvider) -> None:
        self._model = model

    async def stream(self, request: ModelRequest) -> AsyncIterator[AgentEvent]:
        """Fill in the arguments, or end."""
        if isinstance(request.messages[-1], ToolResultMessage):
            yield TextDelta("Done.")
            yield ResponseCompleted("stop")
            return
        async with aclosing(self._model.stream(replace(request, tool_choice=TOOL))) as events:
            async for event in events:
                yield event

    async def close(self) -> None:
        """End the model."""
        await self._model.close()


async def work(task: str, folder: Path, dbg: AsyncAgentStepper | None = None) -> TurnResult:
    """Let the model do a task in a folder."""
    with closing(LocalWorkspace(folder)) as workspace:
        policy = DefaultPolicyEngine(workspace=workspace)
        tools = ToolRegistry()
        tools.register(WriteFile())
        model = Workflow(LocalProvider())
        agent = AgentOrchestrator(model, "local", workspace, tools, policy, dbg=dbg, system=SYSTEM)
        try:
            return await agent.run(task, tuple(worked_examples()))
        finally:
            await model.close()


async def debug(task: str, folder: Path) -> TurnResult:
    """The same under the debugger that is found."""
    async with AsyncAgentStepper("local-workflow", agent_workspace_path=str(folder)) as dbg:
        return await work(task, folder, dbg)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("task")
    parser.add_argument("--folder", type=Path, default=Path.cwd())
    parser.add_argument("--debug", action="store_true", help="under the debugger that is found")
    options = parser.parse_args()
    result = asyncio.run((debug if options.debug else work)(options.task, options.folder))
    sys.exit(result.error)
