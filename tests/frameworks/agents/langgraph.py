"""An agent of LangGraph, as its author would write it: nothing here knows the debugger."""

import time

from langchain.agents import create_agent
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import interrupt


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool
def search(text: str) -> str:
    """Search for a text."""
    return f"found {text}"


@tool
def slow() -> str:
    """Work for a while."""
    time.sleep(0.1)
    return "worked"


@tool
def confirm(question: str) -> str:
    """Wait for a person's answer."""
    return interrupt(question)


class Agent:
    def __init__(self, url):
        model = ChatOpenAI(model="m", base_url=url, api_key="any")
        helper = create_agent(model, tools=[add], name="helper")

        @tool
        def delegate(question: str) -> str:
            """Let a helper answer."""
            state = helper.invoke({"messages": [("user", question)]})
            return state["messages"][-1].content

        self._agent = create_agent(model, tools=[add, search, slow, delegate], name="main")
        self._confirming = create_agent(model, tools=[confirm], checkpointer=InMemorySaver())

    def sync(self, text):
        state = self._agent.invoke({"messages": [("user", text)]})
        return state["messages"][-1].content

    async def asynchronous(self, text):
        state = await self._agent.ainvoke({"messages": [("user", text)]})
        return state["messages"][-1].content

    def confirming(self, text):
        config = {"configurable": {"thread_id": "1"}}
        state = self._confirming.invoke({"messages": [("user", text)]}, config)
        return state["__interrupt__"][0].value

    def stream(self, text):
        said = ""
        for chunk, _ in self._agent.stream({"messages": [("user", text)]}, stream_mode="messages"):
            if chunk.type == "AIMessageChunk":
                said += chunk.text
        return said
