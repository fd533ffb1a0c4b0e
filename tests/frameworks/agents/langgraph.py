"""An agent of LangGraph, as its author would write it: nothing here knows the debugger."""

import time

from langchain.agents import create_agent
from langchain.tools import ToolRuntime
from langchain_core.messages import ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, interrupt


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
        self._model = model = ChatOpenAI(model="m", base_url=url, api_key="any")
        helper = create_agent(model, tools=[add], name="helper")

        @tool
        def delegate(question: str) -> str:
            """Let a helper answer."""
            state = helper.invoke({"messages": [("user", question)]})
            return state["messages"][-1].content

        self._agent = create_agent(model, tools=[add, search, slow, delegate], name="main")

    def sync(self, text):
        state = self._agent.invoke({"messages": [("user", text)]})
        return state["messages"][-1].content

    async def asynchronous(self, text):
        state = await self._agent.ainvoke({"messages": [("user", text)]})
        return state["messages"][-1].content

    def confirming(self, text):
        # Its memory is its own: the rows of a process know nothing of each other.
        agent = create_agent(self._model, tools=[confirm], checkpointer=InMemorySaver())
        config = {"configurable": {"thread_id": "1"}}
        state = agent.invoke({"messages": [("user", text)]}, config)
        return state["__interrupt__"][0].value

    def side_by_side(self, text):
        graph = StateGraph(MessagesState)
        for name in ("left", "right"):
            agent = create_agent(self._model, tools=[add], name=name)
            graph.add_node(name, agent)
            graph.add_edge(START, name)
        graph.compile().invoke({"messages": [("user", text)]})

    def handoff(self, text):
        @tool
        def transfer_to_expert(runtime: ToolRuntime):
            """Let an expert go on."""
            said = ToolMessage("handed over", tool_call_id=runtime.tool_call_id)
            messages = [*runtime.state["messages"], said]
            return Command(goto="expert", graph=Command.PARENT, update={"messages": messages})

        main = create_agent(self._model, tools=[transfer_to_expert], name="main")
        graph = StateGraph(MessagesState)
        graph.add_node("main", main, destinations=("expert",))
        graph.add_node("expert", create_agent(self._model, tools=[], name="expert"))
        graph.add_edge(START, "main")
        state = graph.compile().invoke({"messages": [("user", text)]})
        return state["messages"][-1].content

    async def asynchronous_stream(self, text):
        chunks = self._agent.astream({"messages": [("user", text)]}, stream_mode="messages")
        return [chunk.text async for chunk, _ in chunks][-1]

    def stream(self, text):
        said = ""
        for chunk, _ in self._agent.stream({"messages": [("user", text)]}, stream_mode="messages"):
            if chunk.type == "AIMessageChunk":
                said += chunk.text
        return said
