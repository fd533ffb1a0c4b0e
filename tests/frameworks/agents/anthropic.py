"""An agent of Anthropic's tool runner, as its author would write it: nothing here knows the debugger."""

import asyncio
import time

from anthropic import Anthropic, AsyncAnthropic, beta_async_tool, beta_tool


@beta_tool
def add(a: int, b: int) -> str:
    """Add two numbers."""
    return str(a + b)


@beta_tool
def search(text: str) -> str:
    """Search for a text."""
    return f"found {text}"


@beta_tool
def slow() -> str:
    """Work for a while."""
    time.sleep(0.1)
    return "worked"


@beta_async_tool(name="add")
async def async_add(a: int, b: int) -> str:
    """Add two numbers."""
    return str(a + b)


@beta_async_tool(name="search")
async def async_search(text: str) -> str:
    """Search for a text."""
    return f"found {text}"


@beta_async_tool(name="slow")
async def async_slow() -> str:
    """Work for a while."""
    await asyncio.sleep(0.1)
    return "worked"


class Agent:
    def __init__(self, url):
        self._url = url.removesuffix("/v1")

    def _run(self, text, tools, **options):
        client = Anthropic(base_url=self._url, api_key="any")
        messages = [{"role": "user", "content": text}]
        return client.beta.messages.tool_runner(
            model="m", max_tokens=1000, tools=tools, messages=messages, **options
        )

    def _run_async(self, text, tools):
        client = AsyncAnthropic(base_url=self._url, api_key="any")
        messages = [{"role": "user", "content": text}]
        return client.beta.messages.tool_runner(
            model="m", max_tokens=1000, tools=tools, messages=messages
        )

    def _tools(self):
        @beta_tool
        def delegate(question: str) -> str:
            """Let a helper answer."""
            return self._run(question, [add]).until_done().content[0].text

        return [add, search, slow, delegate]

    def sync(self, text):
        return self._run(text, self._tools()).until_done().content[0].text

    async def asynchronous(self, text):
        @beta_async_tool
        async def delegate(question: str) -> str:
            """Let a helper answer."""
            message = await self._run_async(question, [async_add]).until_done()
            return message.content[0].text

        tools = [async_add, async_search, async_slow, delegate]
        return (await self._run_async(text, tools).until_done()).content[0].text

    def stream(self, text):
        said = ""
        for stream in self._run(text, self._tools(), stream=True):
            said = "".join(stream.text_stream)
        return said
