"""An agent of Microsoft's framework, as its author would write it: nothing here knows the debugger."""

import asyncio

from agent_framework import Agent as ChatAgent
from agent_framework import tool
from agent_framework.openai import OpenAIChatClient


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool
def search(text: str) -> str:
    """Search for a text."""
    return f"found {text}"


@tool
async def slow() -> str:
    """Work for a while."""
    await asyncio.sleep(0.1)
    return "worked"


class Agent:
    def __init__(self, url):
        self._url = url

    def _agent(self):
        client = OpenAIChatClient(model="m", base_url=self._url, api_key="any")
        helper = ChatAgent(client, name="helper", tools=[add])
        delegate = helper.as_tool(name="delegate", description="Let a helper answer.")
        return ChatAgent(client, name="main", tools=[add, search, slow, delegate])

    def sync(self, text):
        return asyncio.run(self.asynchronous(text))

    async def asynchronous(self, text):
        return (await self._agent().run(text)).text

    def side_by_side(self, text):
        async def run():
            client = OpenAIChatClient(model="m", base_url=self._url, api_key="any")
            agents = [ChatAgent(client, name=name, tools=[add]) for name in ("left", "right")]
            await asyncio.gather(*(agent.run(text) for agent in agents))

        asyncio.run(run())

    def stream(self, text):
        async def read():
            stream = self._agent().run(text, stream=True)
            async for _ in stream:
                pass
            return (await stream.get_final_response()).text

        return asyncio.run(read())
