"""An agent of pydantic-ai, as its author would write it: nothing here knows the debugger."""

import asyncio

from pydantic_ai import Agent as AiAgent
from pydantic_ai import CallDeferred, DeferredToolRequests, ToolOutput
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider


class Agent:
    def __init__(self, url):
        self._url = url

    def _model(self):
        return OpenAIChatModel("m", provider=OpenAIProvider(base_url=self._url, api_key="any"))

    def _agent(self):
        model = self._model()
        helper = AiAgent(model, name="helper")
        agent = AiAgent(model, name="main")

        @helper.tool_plain
        @agent.tool_plain
        def add(a: int, b: int) -> int:
            """Add two numbers."""
            return a + b

        @agent.tool_plain
        def search(text: str) -> str:
            """Search for a text."""
            return f"found {text}"

        @agent.tool_plain(timeout=1)
        async def slow() -> str:
            """Work for a while."""
            await asyncio.sleep(0.1)
            return "worked"

        @agent.tool_plain
        async def delegate(question: str) -> str:
            """Let a helper answer."""
            return (await helper.run(question)).output

        return agent

    def sync(self, text):
        return self._agent().run_sync(text).output

    async def asynchronous(self, text):
        return (await self._agent().run(text)).output

    def confirming(self, text):
        agent = AiAgent(self._model(), output_type=[str, DeferredToolRequests])

        @agent.tool_plain
        def confirm(question: str) -> str:
            """Wait for a person's answer."""
            raise CallDeferred

        return agent.run_sync(text).output.calls[0].args_as_dict()["question"]

    def side_by_side(self, text):
        def add(a: int, b: int) -> int:
            """Add two numbers."""
            return a + b

        async def run():
            model = OpenAIChatModel("m", provider=OpenAIProvider(base_url=self._url, api_key="any"))
            agents = [AiAgent(model, name=name, tools=[add]) for name in ("left", "right")]
            await asyncio.gather(*(agent.run(text) for agent in agents))

        asyncio.run(run())

    def handoff(self, text):
        model = OpenAIChatModel("m", provider=OpenAIProvider(base_url=self._url, api_key="any"))
        expert = AiAgent(model, name="expert")

        async def transfer_to_expert() -> str:
            """Let an expert go on."""
            return (await expert.run("hello")).output

        output = ToolOutput(transfer_to_expert, name="transfer_to_expert")
        return AiAgent(model, name="main", output_type=[output, str]).run_sync(text).output

    def stream(self, text):
        async def read():
            async with self._agent().run_stream(text) as result:
                return await result.get_output()

        return asyncio.run(read())
