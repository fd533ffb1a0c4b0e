"""A loop around an MCP server, as its author would write it: nothing here knows the debugger."""

import asyncio
import json
import sys
from pathlib import Path

from mcp import Client, StdioServerParameters
from openai import AsyncOpenAI

SERVER = Path(__file__).parents[1] / "servers" / "tools.py"


class Agent:
    def __init__(self, url):
        self._url = url

    async def asynchronous(self, text):
        return await self._run(text, self._ask)

    def sync(self, text):
        return asyncio.run(self._run(text, self._ask))

    def stream(self, text):
        return asyncio.run(self._run(text, self._stream))

    async def _run(self, text, ask):
        model = AsyncOpenAI(base_url=self._url, api_key="any")
        messages = [{"role": "user", "content": text}]
        parameters = StdioServerParameters(command=sys.executable, args=[str(SERVER)])
        async with Client(parameters) as server:
            tools = [self._describe(tool) for tool in (await server.list_tools()).tools]
            while True:
                message = await ask(model, messages, tools)
                messages.append(message.model_dump(exclude_none=True))
                if not message.tool_calls:
                    return message.content
                results = [self._call(server, call) for call in message.tool_calls]
                messages += await asyncio.gather(*results)

    async def _ask(self, model, messages, tools):
        answer = await model.chat.completions.create(model="m", messages=messages, tools=tools)
        return answer.choices[0].message

    async def _stream(self, model, messages, tools):
        asked = model.chat.completions.stream(model="m", messages=messages, tools=tools)
        async with asked as stream:
            return (await stream.get_final_completion()).choices[0].message

    async def _call(self, server, call):
        arguments = json.loads(call.function.arguments)
        # The server may start slowly: the limit is the tool's.
        result = await server.call_tool(call.function.name, arguments, read_timeout_seconds=1)
        text = "".join(block.text for block in result.content)
        return {"role": "tool", "tool_call_id": call.id, "content": text}

    def _describe(self, tool):
        function = {"name": tool.name, "parameters": tool.input_schema}
        return {"type": "function", "function": {**function, "description": tool.description}}
