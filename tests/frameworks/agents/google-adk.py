"""An agent of Google's ADK, as its author would write it: nothing here knows the debugger."""

import asyncio

from google.adk.agents import LlmAgent, ParallelAgent
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.models import Gemini
from google.adk.models.lite_llm import LiteLlm
from google.adk.runners import InMemoryRunner
from google.adk.tools.agent_tool import AgentTool
from google.genai import types


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def search(text: str) -> str:
    """Search for a text."""
    return f"found {text}"


async def slow() -> str:
    """Work for a while."""
    await asyncio.sleep(0.1)
    return "worked"


class Agent:
    def __init__(self, url):
        self._url = url

    def _agent(self):
        model = LiteLlm(model="openai/m", api_base=self._url, api_key="any")
        helper = LlmAgent(
            name="delegate", description="Let a helper answer.", model=model, tools=[add]
        )
        return LlmAgent(name="main", model=model, tools=[add, search, slow, AgentTool(helper)])

    def sync(self, text):
        return asyncio.run(self._run(text))

    async def asynchronous(self, text):
        return await self._run(text)

    def stream(self, text):
        return asyncio.run(self._run(text, RunConfig(streaming_mode=StreamingMode.SSE)))

    def side_by_side(self, text):
        model = LiteLlm(model="openai/m", api_base=self._url, api_key="any")
        agents = [LlmAgent(name=name, model=model, tools=[add]) for name in ("left", "right")]
        asyncio.run(self._run(text, agent=ParallelAgent(name="both", sub_agents=agents)))

    def handoff(self, text):
        model = LiteLlm(model="openai/m", api_base=self._url, api_key="any")
        expert = LlmAgent(
            name="expert",
            model=model,
            disallow_transfer_to_parent=True,
            disallow_transfer_to_peers=True,
        )
        agent = LlmAgent(name="main", model=model, sub_agents=[expert])
        return asyncio.run(self._run(text, agent=agent))

    def gemini(self, url):
        model = Gemini(model="gemini-2.5-flash", base_url=url, client_kwargs={"api_key": "any"})
        agent = LlmAgent(name="main", model=model, tools=[add])
        return asyncio.run(self._run("please add", agent=agent))

    async def _run(self, text, config=None, agent=None):
        runner = InMemoryRunner(agent=agent or self._agent(), app_name="app")
        session = await runner.session_service.create_session(app_name="app", user_id="user")
        message = types.Content(role="user", parts=[types.Part(text=text)])
        said = ""
        async for event in runner.run_async(
            user_id="user", session_id=session.id, new_message=message, run_config=config
        ):
            if event.is_final_response() and event.content:
                said = "".join(part.text or "" for part in event.content.parts)
        return said
