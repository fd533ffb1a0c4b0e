"""An agent of OpenAI's Agents SDK, as its author would write it: nothing here knows the debugger."""

import asyncio
import sys
from pathlib import Path

from agents import (
    Agent as SdkAgent,
)
from agents import (
    OpenAIResponsesModel,
    Runner,
    function_tool,
    set_trace_processors,
    set_tracing_disabled,
)
from agents.mcp import MCPServerStdio
from openai import AsyncOpenAI

SERVER = Path(__file__).parents[1] / "servers" / "tools.py"

set_tracing_disabled(True)


@function_tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@function_tool
def search(text: str) -> str:
    """Search for a text."""
    return f"found {text}"


@function_tool(timeout=1.0)
async def slow() -> str:
    """Work for a while."""
    await asyncio.sleep(0.1)
    return "worked"


class Agent:
    def __init__(self, url):
        self._url = url

    def _agent(self):
        model = OpenAIResponsesModel("m", AsyncOpenAI(base_url=self._url, api_key="any"))
        helper = SdkAgent(name="helper", model=model, tools=[add])
        expert = SdkAgent(name="expert", model=model, handoff_description="Knows more.")
        delegate = helper.as_tool(tool_name="delegate", tool_description="Let a helper answer.")
        tools = [add, search, slow, delegate]
        return SdkAgent(name="main", model=model, tools=tools, handoffs=[expert])

    def sync(self, text):
        return Runner.run_sync(self._agent(), text).final_output

    def traced(self, text):
        set_trace_processors([])
        set_tracing_disabled(False)
        try:
            return self.sync(text)
        finally:
            set_tracing_disabled(True)

    async def asynchronous(self, text):
        return (await Runner.run(self._agent(), text)).final_output

    def side_by_side(self, text):
        async def run():
            model = OpenAIResponsesModel("m", AsyncOpenAI(base_url=self._url, api_key="any"))
            agents = [SdkAgent(name=name, model=model, tools=[add]) for name in ("left", "right")]
            await asyncio.gather(*(Runner.run(agent, text) for agent in agents))

        asyncio.run(run())

    def over_mcp(self, text):
        async def run():
            started = {"command": sys.executable, "args": [str(SERVER)]}
            async with MCPServerStdio(started) as server:
                model = OpenAIResponsesModel("m", AsyncOpenAI(base_url=self._url, api_key="any"))
                agent = SdkAgent(name="main", model=model, mcp_servers=[server])
                return (await Runner.run(agent, text)).final_output

        return asyncio.run(run())

    def stream(self, text):
        async def read():
            result = Runner.run_streamed(self._agent(), text)
            async for _ in result.stream_events():
                pass
            return result.final_output

        return asyncio.run(read())
